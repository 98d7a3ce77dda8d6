// Command cpu-backend is tapc's own CPU back end as a plugin: it gives the same program, byte for byte.
//
// It is an example of a back end, and the proof that the protocol carries a real one.
package main

import (
	"context"
	"encoding/json"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/plugins"
)

func main() {
	plugins.Serve(plugins.Plugin{
		Name:    "cpu-backend",
		Version: "1.0.0",
		Doc:     "The CPU back end of tapc, in a process of its own.",
		Backends: []plugins.Backend{{
			Name: "c",
			Doc:  "A C11 program, and the layout of its block of constants.",
			Emit: emit,
		}},
	})
}

// layout says what the program expects in its block of constants.
type layout struct {
	Arena     int64      `json:"arena_bytes"`
	Bytes     int64      `json:"constants_bytes"`
	Constants []constant `json:"constants"`
}

type constant struct {
	Offset int64  `json:"offset"`
	Tensor string `json:"tensor"`
	File   string `json:"file,omitempty"` // with Key, unless the value stands in the graph
	Key    string `json:"key,omitempty"`
}

func emit(_ context.Context, e *plugins.Emission) error {
	src, err := cpu.Emit(e.Graph, e.Name, e.Version)
	if err != nil {
		return err
	}
	if err := e.File("program.c", false, []byte(src.C)); err != nil {
		return err
	}
	l := layout{Arena: src.Arena, Bytes: src.Bytes, Constants: []constant{}}
	for i, c := range src.Constants {
		l.Constants = append(l.Constants, constant{src.Offsets[i], e.Graph.Node(c.Tensor).Label, c.File, c.Key})
	}
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return e.File("layout.json", false, append(text, '\n'))
}

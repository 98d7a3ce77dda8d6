// Command cpu-backend is tapc's own CPU back end as a plugin: it gives the same program, byte for byte.
//
// It is an example of a back end, and the proof that the protocol carries a real one.
package main

import (
	"context"
	"encoding/json"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/plugins"
)

func main() {
	plugins.Serve(plugins.Plugin{
		Name:    "cpu-backend",
		Version: "1.0.0",
		Doc:     "The CPU back end of tapc, in a process of its own.",
		Backends: []plugins.Backend{{
			Name:    "c",
			Doc:     "A C11 program, and what it needs.",
			Devices: []schedule.DeviceType{schedule.CPU},
			Emit:    emit,
		}},
	})
}

// needs says what the program needs besides its code.
type needs struct {
	Arena     int64      `json:"arena_bytes"`
	Bytes     int64      `json:"constants_bytes"`
	Constants []constant `json:"constants"`
}

type constant struct {
	Tensor string `json:"tensor"`
	File   string `json:"file,omitempty"` // with Key, unless the value stands in the graph
	Key    string `json:"key,omitempty"`
	Offset int64  `json:"offset"`           // in the block of constants
	Packed bool   `json:"packed,omitempty"` // in panels, as a contraction reads it
}

func emit(_ context.Context, e *plugins.Emission) error {
	src, err := cpu.Emit(e.Graph, e.Name, e.Version)
	if err != nil {
		return err
	}
	if err := e.File("program.c", false, []byte(src.C)); err != nil {
		return err
	}
	n := needs{Arena: src.Arena, Bytes: src.Bytes, Constants: []constant{}}
	for _, x := range src.Pieces {
		c := src.Constants[x.Constant]
		n.Constants = append(n.Constants, constant{e.Graph.Node(c.Tensor).Label, c.File, c.Key, x.Offset, x.Packed()})
	}
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	return e.File("needs.json", false, append(text, '\n'))
}

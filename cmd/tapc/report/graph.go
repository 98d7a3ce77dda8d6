package report

import (
	"bytes"
	"io"

	"tensortapestry.org/tapc/cmd/tapc/masked"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/ir"
)

// Graph is a graph file: an ONNX model, or a graph that can be masked and then written again.
type Graph struct {
	Model []byte
	mask  func() masked.Uses
	write func(io.Writer) error
}

// OfGraph is a graph of one of tapc's forms, which write writes.
func OfGraph(g *ir.Graph, write func(io.Writer) error) *Graph {
	return &Graph{mask: func() masked.Uses { return masked.Graph(g) }, write: write}
}

// OfAmanda is an Amanda graph, written as JSON or YAML.
func OfAmanda(g *amanda.Graph, asJSON bool) *Graph {
	write := func(w io.Writer) error { return amanda.Write(w, g) }
	if asJSON {
		write = func(w io.Writer) error { return amanda.WriteJSON(w, g) }
	}
	return &Graph{mask: func() masked.Uses { return masked.Amanda(g.Ops) }, write: write}
}

func (g *Graph) bytes() ([]byte, error) {
	var b bytes.Buffer
	err := g.write(&b)
	return b.Bytes(), err
}

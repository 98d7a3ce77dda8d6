// Package feed makes values for the inputs of graphs that are evaluated or run. Read next: backends/reference.
package feed

import (
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Inputs gives a tensor for each input of a graph, by name; data makes the bytes of n elements of the number-th input.
func Inputs(g *ir.Graph, data func(number int, x tensorops.Named, d scalar.DType, n int64) []byte) (map[string]tensorfile.Tensor, error) {
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		return nil, err
	}
	out := map[string]tensorfile.Tensor{}
	for i, x := range p.Inputs {
		t := tensorops.TensorOf(g, x.Tensor)
		n, err := t.Range.Size()
		if err != nil {
			return nil, err
		}
		out[x.Name] = tensorfile.Tensor{DType: t.Type(), Shape: t.Range.Shape(), Data: data(i, x, t.Type(), n)}
	}
	return out, nil
}

// Elements encodes n elements of a type, each of which value gives.
func Elements(d scalar.DType, n int64, value func(i int64) scalar.Value) []byte {
	out := make([]byte, n*int64(d.Size()))
	for i := range n {
		value(i).Encode(out[i*int64(d.Size()):])
	}
	return out
}

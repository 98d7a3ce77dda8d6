package main

import (
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/tools/examples/draft"
)

// graphs is the one list of generated graph files.
var graphs = map[string]func(name string) ([]byte, error){
	"matmul.loom.json":        matmul,
	"linear-relu.loom.json":   func(name string) ([]byte, error) { return linearRelu(name) },
	"linear-relu-4.loom.json": func(name string) ([]byte, error) { return linearRelu(name, 2, 2) },
}

// matmul is the example of the Polyhedral Type Signatures document: L = J K, where J begins at [-10, 0].
func matmul(name string) ([]byte, error) {
	g := draft.New(name)
	j := g.Tensor("J", "float32", "[-10:0, 0:5]")
	k := g.Tensor("K", "float32", "[0:5, 0:12]")
	l := g.Tensor("L", "float32", "[0:10, 0:12]")
	g.Operation("matmul", "op:matmul", nil, map[string]ir.Selection{"X": j, "Y": k}, "Z", l, true)
	return g.Bytes()
}

// linearRelu is the Tapestry paper's running example, z = ReLU(x A + b), with x away from the origin. With counts, both
// operations are cut into a grid of applications.
func linearRelu(name string, counts ...int64) ([]byte, error) {
	g := draft.New(name)
	x := g.Tensor("x", "float32", "[-40:60, 20:32]")
	a := g.Tensor("A", "float32", "[0:12, 0:32]")
	b := g.Tensor("b", "float32", "[0:32]")
	y := g.Tensor("y", "float32", "[0:100, 0:32]")
	z := g.Tensor("z", "float32", "[0:100, 0:32]")
	ops := []*ir.Node{
		g.Operation("linear", "op:linear", nil, map[string]ir.Selection{"x": x, "A": a, "b": b}, "result", y, true),
		g.Operation("relu", "op:relu", nil, map[string]ir.Selection{"tensor": y}, "result", z, true),
	}
	for _, op := range ops {
		if len(counts) > 0 {
			g.Shard(op, counts...)
		}
	}
	return g.Bytes()
}

package main

import "tensortapestry.org/tapc/tools/examples/loomdoc"

// graphs is the one list of generated graph files.
var graphs = map[string]func() ([]byte, error){
	"matmul.loom.json":        func() ([]byte, error) { return loomdoc.Marshal(matmul()) },
	"linear-relu.loom.json":   func() ([]byte, error) { return loomdoc.Marshal(linearRelu("linear-relu", nil)) },
	"linear-relu-4.loom.json": func() ([]byte, error) { return loomdoc.Marshal(linearRelu("linear-relu-4", quarters)) },
}

// quarters cuts an index of even extents into 2 x 2 equal blocks.
func quarters(index loomdoc.Range) []loomdoc.Range { return index.Blocks(2, 2) }

// named begins the graph of one example file.
func named(name string) *loomdoc.Graph {
	return loomdoc.New("http://tensortapestry.org/tapc/examples/" + name + ".loom.json")
}

// matmul is the example of the Polyhedral Type Signatures document: L = J K,
// where J begins at [-10, 0], so that X's projection has that offset.
func matmul() loomdoc.Document {
	g := named("matmul")
	j := g.Tensor("J", "float32", loomdoc.Span(-10, 0, 0, 5))
	k := g.Tensor("K", "float32", loomdoc.Span(0, 5, 0, 12))
	l := g.Tensor("L", "float32", loomdoc.Span(0, 10, 0, 12))
	g.Operation(loomdoc.Matmul("matmul", j, k, l))
	return g.Document()
}

// linearRelu is the Tapestry paper's running example, z = ReLU(x A + b), with x
// away from the origin. With a cut, each operation gets one application for each
// block of its index.
func linearRelu(name string, cut func(loomdoc.Range) []loomdoc.Range) loomdoc.Document {
	g := named(name)
	x := g.Tensor("x", "float32", loomdoc.Span(-40, 60, 20, 32))
	a := g.Tensor("A", "float32", loomdoc.Span(0, 12, 0, 32))
	b := g.Tensor("b", "float32", loomdoc.Span(0, 32))
	y := g.Tensor("y", "float32", loomdoc.Span(0, 100, 0, 32))
	z := g.Tensor("z", "float32", loomdoc.Span(0, 100, 0, 32))
	ops := []loomdoc.Op{
		loomdoc.Linear("linear", x, a, b, y),
		loomdoc.Cellwise("relu", "op:relu", "tensor", []loomdoc.Tensor{y}, z),
	}
	for _, op := range ops {
		g.Operation(op)
		if cut != nil {
			g.Shard(op, cut(*op.Index))
		}
	}
	return g.Document()
}

package main

import (
	"encoding/json"
	"fmt"

	"tensortapestry.org/tapc/tools/digits/glyph"
	"tensortapestry.org/tapc/tools/examples/loomdoc"
)

// classifier renders the graph: three linear layers with ReLU between them on
// constants from weights.safetensors, then exp, sum and div for the softmax.
func classifier() ([]byte, error) {
	g := loomdoc.New("http://tensortapestry.org/tapc/examples/classifier/classifier.loom.json")
	x := g.Tensor("image", "float32", loomdoc.Span(0, 1, 0, glyph.Pixels))
	x = layer(g, 1, x, hidden)
	x = layer(g, 2, x, hidden)
	x = layer(g, 3, x, classes)
	softmax(g, x)
	return loomdoc.Marshal(g.Document())
}

// layer adds the n-th layer after x and returns its output, which is the ReLU's
// except for the last.
func layer(g *loomdoc.Graph, n int, x loomdoc.Tensor, width int) loomdoc.Tensor {
	in := x.Range.Shape()[1]
	w := constant(g, fmt.Sprintf("W%d", n), loomdoc.Span(0, in, 0, width))
	b := constant(g, fmt.Sprintf("b%d", n), loomdoc.Span(0, width))
	row := loomdoc.Span(0, 1, 0, width)
	label := fmt.Sprintf("z%d", n)
	if width == classes {
		label = "logits"
	}
	z := g.Tensor(label, "float32", row)
	g.Operation(loomdoc.Linear(fmt.Sprintf("linear%d", n), x, w, b, z))
	if width == classes {
		return z
	}
	h := g.Tensor(fmt.Sprintf("h%d", n), "float32", row)
	g.Operation(loomdoc.Cellwise(fmt.Sprintf("relu%d", n), "op:relu", "tensor", []loomdoc.Tensor{z}, h))
	return h
}

// constant adds a tensor and the source operation that reads it from the weights.
func constant(g *loomdoc.Graph, key string, r loomdoc.Range) loomdoc.Tensor {
	t := g.Tensor(key, "float32", r)
	g.Operation(loomdoc.Op{
		Label: "load_" + key, Kernel: "op:constant",
		Params: map[string]json.RawMessage{
			"file": json.RawMessage(`"weights.safetensors"`),
			"key":  json.RawMessage(`"` + key + `"`),
		},
		Out: loomdoc.Operands{"result": {t}},
	})
	return t
}

// softmax adds probabilities = exp(logits) / sum(exp(logits)).
func softmax(g *loomdoc.Graph, logits loomdoc.Tensor) {
	e := g.Tensor("exponentials", "float32", logits.Range)
	s := g.Tensor("total", "float32", loomdoc.Span(0, 1, 0, 1))
	p := g.Tensor("probabilities", "float32", logits.Range)
	g.Operation(loomdoc.Op{
		Label: "exp", Kernel: "op:exp",
		In: loomdoc.Operands{"tensor": {logits}}, Out: loomdoc.Operands{"result": {e}},
	})
	g.Operation(loomdoc.Op{
		Label: "sum", Kernel: "op:sum",
		Params: map[string]json.RawMessage{"dims": json.RawMessage("[1]"), "keepdims": json.RawMessage("true")},
		In:     loomdoc.Operands{"tensor": {e}}, Out: loomdoc.Operands{"result": {s}},
	})
	g.Operation(loomdoc.Op{
		Label: "div", Kernel: "op:div",
		In: loomdoc.Operands{"a": {e}, "b": {s}}, Out: loomdoc.Operands{"result": {p}},
	})
}

package main

import (
	"fmt"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/tools/digits/glyph"
	"tensortapestry.org/tapc/tools/examples/draft"
)

// classifier renders the graph: three linear layers with ReLU between them on constants from weights.safetensors, then exp,
// sum and div for the softmax.
func classifier() ([]byte, error) {
	g := draft.New("classifier/classifier.loom.json")
	x := g.Tensor("image", "float32", fmt.Sprintf("[0:1, 0:%d]", glyph.Pixels))
	x = layer(g, 1, x, hidden)
	x = layer(g, 2, x, hidden)
	x = layer(g, 3, x, classes)
	softmax(g, x)
	return g.Bytes()
}

// layer adds the n-th layer after x and returns its output, which is the ReLU's except for the last.
func layer(g *draft.Graph, n int, x ir.Selection, width int) ir.Selection {
	w := constant(g, fmt.Sprintf("W%d", n), fmt.Sprintf("[0:%d, 0:%d]", x.Range().Shape()[1], width))
	b := constant(g, fmt.Sprintf("b%d", n), fmt.Sprintf("[0:%d]", width))
	row := fmt.Sprintf("[0:1, 0:%d]", width)
	label := fmt.Sprintf("z%d", n)
	if width == classes {
		label = "logits"
	}
	z := g.Tensor(label, "float32", row)
	g.Operation(fmt.Sprintf("linear%d", n), "op:linear", nil, map[string]ir.Selection{"x": x, "A": w, "b": b}, "result", z, true)
	if width == classes {
		return z
	}
	h := g.Tensor(fmt.Sprintf("h%d", n), "float32", row)
	g.Operation(fmt.Sprintf("relu%d", n), "op:relu", nil, map[string]ir.Selection{"tensor": z}, "result", h, true)
	return h
}

// constant adds a tensor and the source operation that reads it from the weights.
func constant(g *draft.Graph, key, box string) ir.Selection {
	t := g.Tensor(key, "float32", box)
	params := ir.Attrs{}.With("file", ir.StringAttr("weights.safetensors")).With("key", ir.StringAttr(key))
	g.Operation("load_"+key, "op:constant", params, nil, "result", t, false)
	return t
}

// softmax adds probabilities = exp(logits) / sum(exp(logits)).
func softmax(g *draft.Graph, logits ir.Selection) {
	e := g.Tensor("exponentials", "float32", logits.Range().Text())
	s := g.Tensor("total", "float32", "[0:1, 0:1]")
	p := g.Tensor("probabilities", "float32", logits.Range().Text())
	g.Operation("exp", "op:exp", nil, map[string]ir.Selection{"tensor": logits}, "result", e, false)
	dims := ir.Attrs{}.With("dims", ir.IntsAttr(1)).With("keepdims", ir.BoolAttr(true))
	g.Operation("sum", "op:sum", dims, map[string]ir.Selection{"tensor": e}, "result", s, false)
	g.Operation("div", "op:div", nil, map[string]ir.Selection{"a": e, "b": s}, "result", p, false)
}

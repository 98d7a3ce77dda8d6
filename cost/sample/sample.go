// Package sample writes small graphs in the text form, of one operation or a few: what machines are measured by, and what prices are compared
// with. It compiles and runs nothing. Read next: cost/calibrate.
package sample

import (
	"fmt"
	"strings"
)

// Graph is a graph that is being written.
type Graph struct {
	Name string
	text strings.Builder
	n    int
}

// Value is a tensor of a graph.
type Value struct {
	Name, DType string
	Shape       []int64
}

// New begins a graph.
func New(name string) *Graph {
	g := &Graph{Name: name}
	g.text.WriteString("tapc 1\n")
	return g
}

// Text is the graph as a file.
func (g *Graph) Text() string { return g.text.String() }

// Tensor adds a tensor: an input, until an operation gives it.
func (g *Graph) Tensor(dtype string, shape ...int64) Value {
	g.n++
	v := Value{fmt.Sprintf("%%v%d", g.n), dtype, shape}
	fmt.Fprintf(&g.text, "%s = tensor %s [", v.Name, dtype)
	for i, n := range shape {
		if i > 0 {
			g.text.WriteString(", ")
		}
		fmt.Fprintf(&g.text, "0:%d", n)
	}
	g.text.WriteString("]\n")
	return v
}

// Float adds a tensor of float32.
func (g *Graph) Float(shape ...int64) Value { return g.Tensor("float32", shape...) }

// Apply adds an operation that gives to: ports are as in the text form, with values for verbs; parameters are "" or "{dims: [1]}".
func (g *Graph) Apply(kernel, result string, to Value, parameters, ports string, of ...Value) Value {
	names := make([]any, len(of))
	for i, v := range of {
		names[i] = v.Name
	}
	if parameters != "" {
		parameters += " "
	}
	fmt.Fprintf(&g.text, "operation op:%s %s(%s) -> (%s: %s)\n", kernel, parameters, fmt.Sprintf(ports, names...), result, to.Name)
	return to
}

// Each applies an operation cell by cell.
func (g *Graph) Each(kernel string, x Value) Value {
	return g.Apply(kernel, "result", g.Tensor(x.DType, x.Shape...), "", "tensor: %s", x)
}

// Both applies add or mul to two values, of which the second broadcasts.
func (g *Graph) Both(kernel string, x, y Value) Value {
	return g.Apply(kernel, "result", g.Tensor(x.DType, x.Shape...), "", "tensors: [%s, %s]", x, y)
}

// Product multiplies matrices.
func (g *Graph) Product(x, y Value) Value {
	shape := append(append([]int64{}, x.Shape[:len(x.Shape)-1]...), y.Shape[len(y.Shape)-1])
	return g.Apply("matmul", "Z", g.Tensor(x.DType, shape...), "", "X: %s, Y: %s", x, y)
}

// Linear is a product with a bias.
func (g *Graph) Linear(x Value, columns int64) Value {
	last := x.Shape[len(x.Shape)-1]
	a, b := g.Tensor(x.DType, last, columns), g.Tensor(x.DType, columns)
	shape := append(append([]int64{}, x.Shape[:len(x.Shape)-1]...), columns)
	return g.Apply("linear", "result", g.Tensor(x.DType, shape...), "", "x: %s, A: %s, b: %s", x, a, b)
}

// Conv is a convolution of images with filters, padded so that a stride of 1 leaves the size.
func (g *Graph) Conv(x Value, filters, window, stride, groups int64) Value {
	w := g.Float(filters, x.Shape[1]/groups, window, window)
	pad := window / 2
	size := func(n int64) int64 { return (n+2*pad-window)/stride + 1 }
	y := g.Float(x.Shape[0], filters, size(x.Shape[2]), size(x.Shape[3]))
	return g.Apply("conv", "Y", y, fmt.Sprintf("{pads: [%d, %d], pads_end: [%d, %d], strides: [%d, %d], groups: %d}", pad, pad, pad, pad, stride, stride, groups), "X: %s, W: %s", x, w)
}

// Pool applies max_pool or average_pool with a window that moves by its size.
func (g *Graph) Pool(kernel string, x Value, window int64) Value {
	y := g.Float(x.Shape[0], x.Shape[1], x.Shape[2]/window, x.Shape[3]/window)
	return g.Apply(kernel, "Y", y, fmt.Sprintf("{kernel: [%d, %d], strides: [%d, %d]}", window, window, window, window), "X: %s", x)
}

// Attention is that of queries, keys and values.
func (g *Graph) Attention(heads, rows, depth int64) Value {
	q, k, v := g.Float(1, heads, rows, depth), g.Float(1, heads, rows, depth), g.Float(1, heads, rows, depth)
	return g.Apply("attention", "Y", g.Float(1, heads, rows, depth), "", "Q: %s, K: %s, V: %s", q, k, v)
}

// Norm is a layer norm of rows.
func (g *Graph) Norm(x Value) Value {
	n := x.Shape[len(x.Shape)-1]
	s, b := g.Tensor(x.DType, n), g.Tensor(x.DType, n)
	return g.Apply("layer_norm", "Y", g.Tensor(x.DType, x.Shape...), "", "X: %s, scale: %s, bias: %s", x, s, b)
}

// Reduce reduces one dimension of a matrix.
func (g *Graph) Reduce(kernel string, x Value, dim int64) Value {
	return g.Apply(kernel, "result", g.Tensor(x.DType, x.Shape[1-dim]), fmt.Sprintf("{dims: [%d]}", dim), "tensor: %s", x)
}

package gen

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// textShapes are the shapes that are written as text only, each by a function that makes n operations, give or take a few.
// Between them they hang together in every way that has made a pass slow: long, wide, with many inputs or outputs of one
// operation, with many applications of one.
var textShapes = map[string]func(t *texter, n int){
	"elementwise": elementwise,
	"fan":         fan,
	"concat":      func(t *texter, n int) { t.joined("concat", n, n) },
	"concat-of":   concatOf,
	"stack":       stack,
	"interleave":  interleave,
	"sum":         func(t *texter, n int) { t.joined("add", n, 1) },
	"sum-of":      sumOf,
	"split":       split,
	"products":    products,
	"layers":      layers,
	"residual":    residual,
	"tree":        tree,
	"shards":      shards,
}

// TextShapes gives the names of the shapes that WriteText writes.
func TextShapes() []string { return slices.Sorted(maps.Keys(textShapes)) }

// WriteText writes a graph of about n operations in the text form, always the same for the same shape and n.
func WriteText(w io.Writer, shape string, n int) error {
	write, ok := textShapes[shape]
	if !ok || n < 1 {
		return fmt.Errorf("expected one of %s and at least one operation, found %q and %d", strings.Join(TextShapes(), ", "), shape, n)
	}
	t := &texter{w: bufio.NewWriterSize(w, 1<<16)}
	fmt.Fprintln(t.w, "tapc 1")
	write(t, n)
	return t.w.Flush()
}

// texter writes nodes as text. Tensors and operations are numbered in order of appearance; a writing error is kept by w.
type texter struct {
	w    *bufio.Writer
	next int
}

// tensor writes a float32 tensor and gives its name.
func (t *texter) tensor(shape ...int) string {
	name := fmt.Sprintf("%%%d", t.next)
	t.next++
	extents := make([]string, len(shape))
	for i, n := range shape {
		extents[i] = fmt.Sprintf("0:%d", n)
	}
	fmt.Fprintf(t.w, "%s = tensor float32 [%s]\n", name, strings.Join(extents, ", "))
	return name
}

// op writes an operation and its one result, and gives that.
func (t *texter) op(kernel, in string, shape ...int) string {
	out := t.tensor(shape...)
	fmt.Fprintf(t.w, "operation op:%s (%s) -> (result: %s)\n", kernel, in, out)
	return out
}

func (t *texter) unary(kernel, x string, shape ...int) string {
	return t.op(kernel, "tensor: "+x, shape...)
}

func (t *texter) add(shape []int, xs ...string) string {
	return t.op("add", "tensors: ["+strings.Join(xs, ", ")+"]", shape...)
}

// several gives n tensors that make gives, by number.
func several(n int, make func(i int) string) []string {
	out := []string{}
	for i := range n {
		out = append(out, make(i))
	}
	return out
}

// elementwise is one chain in which every value is read once, with one other operand now and then.
func elementwise(t *texter, n int) {
	x, b := t.tensor(64, 16), t.tensor(64, 16)
	for i := range n {
		if i%2 == 0 {
			x = t.unary("tanh", x, 64, 16)
		} else {
			x = t.add([]int{64, 16}, x, b)
		}
	}
}

// fan is one tensor that n operations read, and one operation that reads what these give.
func fan(t *texter, n int) {
	x := t.tensor(16, 16)
	t.add([]int{16, 16}, several(n, func(i int) string {
		return t.unary("exp", t.op(fmt.Sprintf("leaky_relu {slope: %d.5}", i), "tensor: "+x, 16, 16), 16, 16)
	})...)
}

// joined is one operation that reads n inputs; length is that of its result.
func (t *texter) joined(kernel string, n, length int) {
	ins := several(n, func(int) string { return t.tensor(1, 16) })
	t.op(kernel, "tensors: ["+strings.Join(ins, ", ")+"]", length, 16)
}

// stack puts n inputs one behind the other along a new dimension behind theirs.
func stack(t *texter, n int) {
	ins := several(n, func(int) string { return t.tensor(3) })
	t.op("stack {axis: 1}", "tensors: ["+strings.Join(ins, ", ")+"]", 3, n)
}

// interleave shuffles n inputs.
func interleave(t *texter, n int) {
	ins := several(n, func(int) string { return t.tensor(3, 4) })
	t.op("interleave", "tensors: ["+strings.Join(ins, ", ")+"]", 3*n, 4)
}

// concatOf joins what n operations give, and goes on with that.
func concatOf(t *texter, n int) {
	parts := several(n, func(int) string { return t.unary("exp", t.tensor(2, 16), 2, 16) })
	t.unary("tanh", t.op("concat", "tensors: ["+strings.Join(parts, ", ")+"]", 2*n, 16), 2*n, 16)
}

// sumOf adds up what n operations give, and goes on with that.
func sumOf(t *texter, n int) {
	parts := several(n, func(int) string { return t.unary("exp", t.tensor(2, 16), 2, 16) })
	t.unary("tanh", t.add([]int{2, 16}, parts...), 2, 16)
}

// split cuts a tensor into n parts, each of which something is done with.
func split(t *texter, n int) {
	x := t.tensor(n, 16)
	parts := several(n, func(int) string { return t.tensor(1, 16) })
	fmt.Fprintf(t.w, "operation op:split {sizes: [%s]} (tensor: %s) -> (parts: [%s])\n",
		strings.Join(several(n, func(int) string { return "1" }), ", "), x, strings.Join(parts, ", "))
	for _, p := range parts {
		t.unary("tanh", p, 1, 16)
	}
}

func (t *texter) product(x, y string, m, n int) string {
	return t.op("matmul", "X: "+x+", Y: "+y, m, n)
}

// products are n products that have nothing to do with each other.
func products(t *texter, n int) {
	for range n {
		t.product(t.tensor(4, 6), t.tensor(6, 8), 4, 8)
	}
}

// layers is a chain of products, each with a bias and a ReLU: n operations in all.
func layers(t *texter, n int) {
	x, w, b := t.tensor(4, 16), t.tensor(16, 16), t.tensor(16)
	for range (n + 2) / 3 {
		x = t.unary("relu", t.add([]int{4, 16}, t.product(x, w, 4, 16), b), 4, 16)
	}
}

// residual is a chain of n / 3 blocks, each of which adds something to what it reads.
func residual(t *texter, n int) {
	x, w := t.tensor(8, 16), t.tensor(8, 16)
	for range (n + 2) / 3 {
		x = t.add([]int{8, 16}, x, t.unary("tanh", t.op("mul", "tensors: ["+x+", "+w+"]", 8, 16), 8, 16))
	}
}

// tree adds n + 1 tensors up by twos.
func tree(t *texter, n int) {
	level := several(n+1, func(int) string { return t.tensor(4, 16) })
	for len(level) > 1 {
		level = append(level[2:], t.add([]int{4, 16}, level[0], level[1]))
	}
}

// shards is two operations in n / 2 applications each.
func shards(t *texter, n int) {
	n = max(1, n/2)
	x := t.tensor(n, 16)
	for _, kernel := range []string{"exp", "tanh"} {
		y := t.tensor(n, 16)
		fmt.Fprintf(t.w, "%%%s = operation op:%s (tensor: %s) -> (result: %s)\n", kernel, kernel, x, y)
		for i := range n {
			fmt.Fprintf(t.w, "application %%%s (tensor: %s[%d:%d, 0:16]) -> (result: %s[%d:%d, 0:16])\n", kernel, x, i, i+1, y, i, i+1)
		}
		x = y
	}
}

package graphs

import (
	"fmt"
	"strconv"
	"strings"
)

// Small is a graph that is small enough to go through all its plans. Space says what is searched of it, as tapc plan --space has it.
type Small struct {
	Name, Space string
	lines       string
	Devices     int64
	Objectives  int // the first of time, memory and sent
}

// Text gives the graph, in which extents of 16 and more are multiplied by a scale: its lines are tensors, such as "x 8 16", and operations.
func (s Small) Text(scale int) string {
	w := &writer{}
	w.line("tapc 1")
	for _, l := range strings.Split(strings.TrimSpace(s.lines), "\n") {
		l = strings.TrimSpace(l)
		if words := strings.Fields(l); !strings.Contains(l, "=") {
			var box []string
			for _, word := range words[1:] {
				n, _ := strconv.Atoi(word)
				if n >= 16 {
					n *= scale
				}
				box = append(box, fmt.Sprint("0:", n))
			}
			w.line("%%%s = tensor float32 [%s]", words[0], strings.Join(box, ", "))
			continue
		}
		name, rest, _ := strings.Cut(l, "=")
		w.line("%%%s = operation%s", strings.TrimSpace(name), rest)
	}
	return w.String()
}

var (
	mlp = `x 64 32
		w1 32 128
		h 64 128
		a 64 128
		w2 128 32
		y 64 32
		up = op:matmul (X: %x, Y: %w1) -> (Z: %h)
		act = op:gelu (tensor: %h) -> (result: %a)
		down = op:matmul (X: %a, Y: %w2) -> (Z: %y)`
	product = `x 64 96
		w 96 48
		y 64 48
		product = op:matmul (X: %x, Y: %w) -> (Z: %y)`
	linear = `x 100 20
		w 20 30
		b 30
		y 100 30
		z 100 30
		lin = op:linear (W: %w, X: %x, b: %b) -> (Z: %y)
		act = op:relu (tensor: %y) -> (result: %z)`
	attentionHead = `q 32 16
		k 16 32
		v 32 16
		s 32 32
		p 32 32
		o 32 16
		scores = op:matmul (X: %q, Y: %k) -> (Z: %s)
		weights = op:softmax (tensor: %s) -> (result: %p)
		mixed = op:matmul (X: %p, Y: %v) -> (Z: %o)`
	convolutions = `x 2 4 16 16
		f 8 4 3 3
		h 2 8 16 16
		g 4 8 3 3
		y 2 4 16 16
		first = op:conv {pads: [1, 1]} (W: %f, X: %x) -> (Y: %h)
		second = op:conv {pads: [1, 1]} (W: %g, X: %h) -> (Y: %y)`
	softmax = `x 16 64
		y 16 64
		weights = op:softmax (tensor: %x) -> (result: %y)`
	residual = `x 32 64
		n 32 64
		s 64
		w 64 64
		m 32 64
		y 32 64
		norm = op:rms_norm (X: %x, scale: %s) -> (Y: %n)
		inner = op:matmul (X: %n, Y: %w) -> (Z: %m)
		sum = op:add (tensors: [%x, %m]) -> (result: %y)`
	mask = `a 64 1
		b 1 64
		x 64 4
		w 4 64
		v 64 4
		u 4 64
		outer 64 64
		mask 64 64
		s 64 64
		m 64 64
		p 64 64
		h 64 4
		t 64 64
		y 64 64
		cross = op:mul (tensors: [%a, %b]) -> (result: %outer)
		make = op:tanh (tensor: %outer) -> (result: %mask)
		score = op:matmul (X: %x, Y: %w) -> (Z: %s)
		first = op:add (tensors: [%s, %mask]) -> (result: %m)
		gate = op:mul (tensors: [%s, %m]) -> (result: %p)
		mix = op:matmul (X: %p, Y: %v) -> (Z: %h)
		again = op:matmul (X: %h, Y: %u) -> (Z: %t)
		second = op:add (tensors: [%t, %mask]) -> (result: %y)`
	chain = `x 4 32
		w1 32 32
		w2 32 32
		w3 32 32
		w4 32 32
		a 4 32
		b 4 32
		c 4 32
		y 4 32
		one = op:matmul (X: %x, Y: %w1) -> (Z: %a)
		two = op:matmul (X: %a, Y: %w2) -> (Z: %b)
		three = op:matmul (X: %b, Y: %w3) -> (Z: %c)
		four = op:matmul (X: %c, Y: %w4) -> (Z: %y)`
)

// Smalls are the graphs of the table of docs/search.md.
var Smalls = []Small{
	{"product, 2 devices", "tensors,leaves,reduced", product, 2, 3},
	{"product, 4 devices", "tensors,leaves,reduced", product, 4, 3},
	{"linear and ReLU, 2 devices", "tensors,leaves,reduced", linear, 2, 3},
	{"linear and ReLU, 4 devices", "leaves,reduced", linear, 4, 2},
	{"MLP, 2 devices", "tensors,leaves,reduced", mlp, 2, 2},
	{"MLP, 2 devices, 3 objectives", "tensors,leaves,reduced", mlp, 2, 3},
	{"MLP, 4 devices", "tensors,reduced", mlp, 4, 2},
	{"attention head, 2 devices", "tensors,leaves,reduced", attentionHead, 2, 3},
	{"attention head, 4 devices", "tensors,reduced", attentionHead, 4, 2},
	{"two convolutions, 2 devices", "tensors,leaves,reduced", convolutions, 2, 2},
	{"two convolutions, 4 devices", "none", convolutions, 4, 3},
	{"softmax, 4 devices", "tensors,leaves", softmax, 4, 3},
	{"normalized product with a sum, 2 devices", "tensors,reduced", residual, 2, 3},
	{"normalized product with a sum, 4 devices", "reduced", residual, 4, 2},
	{"shared mask, recomputed or not, 2 devices", "reduced,recompute", mask, 2, 2},
	{"four products in stages, 4 devices", "leaves,reduced,stages", chain, 4, 3},
}

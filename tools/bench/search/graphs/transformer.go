// Package graphs has the graphs that plans are searched for in measurements and tests: transformers of any size, and graphs that are small enough to go
// through all their plans.
package graphs

import (
	"fmt"
	"strings"
)

// Transformer is the shape of a transformer's layers.
type Transformer struct {
	Type                                string // of elements
	Layers, Batch, Tokens, Width, Inner int
	Heads, KeyHeads, Depth              int
	Gated                               bool // the inner layer has a second product, as Llama's
}

// Llama8B is shaped as Llama 3's 8-billion-parameter model, without its vocabulary.
func Llama8B(layers, batch, tokens int) Transformer {
	return Transformer{"bfloat16", layers, batch, tokens, 4096, 14336, 32, 8, 128, true}
}

// Llama70B is shaped as the one of 70 billion.
func Llama70B(layers, batch, tokens int) Transformer {
	return Transformer{"bfloat16", layers, batch, tokens, 8192, 28672, 64, 8, 128, true}
}

// Text gives the graph: layers of normalization, attention, normalization and two or three products, each with a sum around.
func (t Transformer) Text() string {
	w := &writer{}
	w.line("tapc 1")
	x := w.tensor("x0", t.Type, t.Batch, t.Tokens, t.Width)
	for l := range t.Layers {
		x = t.layer(w, l, x)
	}
	return w.String()
}

func (t Transformer) layer(w *writer, l int, x string) string {
	name := func(s string) string { return fmt.Sprintf("%s_%d", s, l) }
	tensor := func(s string, shape ...int) string { return w.tensor(name(s), t.Type, shape...) }
	b, s, d, h, k, e, f := t.Batch, t.Tokens, t.Width, t.Heads, t.KeyHeads, t.Depth, t.Inner
	einsum := func(op, equation, a, b, to string) {
		w.line("%%%s = operation op:einsum {equation: %q} (tensors: [%s, %s]) -> (result: %s)", name(op), equation, a, b, to)
	}
	norm := func(op, x string) string {
		y := tensor(op, b, s, d)
		w.line("%%%s = operation op:rms_norm (X: %s, scale: %s) -> (Y: %s)", name(op+"_norm"), x, tensor(op+"_scale", d), y)
		return y
	}
	sum := func(op, x, y string) string {
		z := tensor(op, b, s, d)
		w.line("%%%s = operation op:add (tensors: [%s, %s]) -> (result: %s)", name(op+"_add"), x, y, z)
		return z
	}
	a := norm("attn_in", x)
	q, key, v := tensor("q", b, h, s, e), tensor("k", b, k, s, e), tensor("v", b, k, s, e)
	einsum("q_proj", "bsd,dhe->bhse", a, tensor("wq", d, h, e), q)
	einsum("k_proj", "bsd,dke->bkse", a, tensor("wk", d, k, e), key)
	einsum("v_proj", "bsd,dke->bkse", a, tensor("wv", d, k, e), v)
	o, p := tensor("o", b, h, s, e), tensor("attn_out", b, s, d)
	w.line("%%%s = operation op:attention {causal: true} (K: %s, Q: %s, V: %s) -> (Y: %s)", name("attention"), key, q, v, o)
	einsum("o_proj", "bhse,hed->bsd", o, tensor("wo", h, e, d), p)
	x = sum("mid", x, p)
	m := norm("mlp_in", x)
	up, act, down := tensor("up", b, s, f), tensor("act", b, s, f), tensor("down", b, s, d)
	einsum("up_proj", "bsd,df->bsf", m, tensor("w1", d, f), up)
	if t.Gated {
		gate, silu := tensor("gate", b, s, f), tensor("silu", b, s, f)
		einsum("gate_proj", "bsd,df->bsf", m, tensor("w3", d, f), gate)
		w.line("%%%s = operation op:silu (tensor: %s) -> (result: %s)", name("activation"), gate, silu)
		w.line("%%%s = operation op:mul (tensors: [%s, %s]) -> (result: %s)", name("gating"), silu, up, act)
	} else {
		w.line("%%%s = operation op:gelu (tensor: %s) -> (result: %s)", name("activation"), up, act)
	}
	einsum("down_proj", "bsf,fd->bsd", act, tensor("w2", f, d), down)
	return sum("out", x, down)
}

// writer writes the text form. Tensors come before operations that use them.
type writer struct{ strings.Builder }

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

func (w *writer) tensor(name, dtype string, shape ...int) string {
	var box []string
	for _, n := range shape {
		box = append(box, fmt.Sprintf("0:%d", n))
	}
	w.line("%%%s = tensor %s [%s]", name, dtype, strings.Join(box, ", "))
	return "%" + name
}

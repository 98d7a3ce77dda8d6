package expand

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/rewrite"
)

// keepsZero are kernels cell by cell that give 0 where all that they read is 0, of every element type, and the type of what they read. A test computes each.
var keepsZero = []string{"abs", "add", "asin", "asinh", "atan", "ceil", "erf", "floor", "max", "min", "mul", "relu", "sin", "sinh", "sqrt", "sub", "tan", "tanh"}

// movable says whether cells that a pad with some parameters adds are the same before and behind a kernel cell by cell: copies of cells, or zeros that it keeps.
func movable(kernel string, pad ir.Attrs) bool {
	if mode, ok := pad.Get("mode"); ok && mode.Str != "constant" {
		return true
	}
	value, given := pad.Get("value")
	zero := !given || value.Kind == ir.AttrInt && value.Int == 0 || value.Kind == ir.AttrFloat && math.Float64bits(value.Num) == 0
	return zero && slices.Contains(keepsZero, kernel)
}

var cellsOfPad = rewrite.Rule{Name: "cells-of-pad", Source: "Go", Depth: 2,
	Text: "An operation cell by cell, all of whose operands are padded alike, becomes the padded operation on what is padded: if the pad repeats cells, or adds zeros " +
		"of which the operation makes zeros.",
	Because: "a cell of the result depends on the cells at its place, which the pad takes from one place of each operand, and f(0, …, 0) = 0",
	Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		result, ok := s.Result()
		if !ok || s.Decl() == nil || !rewrite.Pointwise(s.Decl()) {
			return rewrite.Result{}, false
		}
		var params ir.Attrs
		b, in, found := builder{s: s}, []rewrite.Input{}, false
		for _, port := range s.Op.Inputs.Each() {
			next := rewrite.Input{Port: port.Name}
			for _, x := range port.Sel {
				d, ok := s.Def(x)
				inner := d.Inputs.Get("tensor")
				if !ok || d.Kernel != "pad" || inner == nil || !slices.Equal(x.Range().Shape(), result.Range().Shape()) {
					return rewrite.Result{}, false
				}
				if found && (!d.Op.Params.Equal(params) || !slices.Equal(inner.Sel[0].Range().Shape(), in0(in, next).Sel.Range().Shape())) {
					return rewrite.Result{}, false
				}
				params, found = d.Op.Params, true
				next.Args = append(next.Args, at(inner.Sel[0]))
			}
			in = append(in, next)
		}
		if !found || !movable(s.Kernel(), params) {
			return rewrite.Result{}, false
		}
		return b.done(b.one("pad", params, b.op(s.Op.Kernel, s.Op.Outputs.At(0).Name, s.Op.Params, in...)))
	}}

// in0 gives the first operand of inputs, the last of which is next.
func in0(in []rewrite.Input, next rewrite.Input) rewrite.Operand {
	for _, x := range append(slices.Clone(in), next) {
		if len(x.Args) > 0 {
			return x.Args[0]
		}
	}
	return rewrite.Operand{}
}

var padOfCells = rewrite.Rule{Name: "pad-of-cells", Source: "Go", Roots: []string{"pad"}, Depth: 2,
	Text: "A pad of an operation cell by cell, whose operands all have the shape of the result, becomes the operation on padded operands: if the pad repeats cells, or " +
		"adds zeros of which the operation makes zeros.",
	Because: "a cell of the result depends on the cells at its place, which the pad takes from one place of each operand, and f(0, …, 0) = 0",
	Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		padded := s.Op.Inputs.Get("tensor")
		if padded == nil {
			return rewrite.Result{}, false
		}
		x := padded.Sel[0]
		d, ok := s.Def(x)
		if !ok || d.Op.Outputs.Len() != 1 || !movable(d.Kernel, s.Op.Params) {
			return rewrite.Result{}, false
		}
		decl, known := s.Library().Find(d.Op.Kernel)
		if !known || !rewrite.Pointwise(decl) || !alike(d, x) {
			return rewrite.Result{}, false
		}
		b, in := builder{s: s}, []rewrite.Input{}
		for _, port := range d.Inputs.Each() {
			next := rewrite.Input{Port: port.Name}
			for _, y := range port.Sel {
				next.Args = append(next.Args, b.one("pad", s.Op.Params, at(y)))
			}
			in = append(in, next)
		}
		res, ok := b.done(b.op(d.Op.Kernel, d.Op.Outputs.At(0).Name, d.Op.Params, in...))
		res.From = []ir.NodeID{d.Node.ID}
		return res, ok
	}}

// alike says whether all operands of an operation have the shape of its result, of which there is one at least.
func alike(d rewrite.Def, result ir.Selection) bool {
	n := 0
	for _, port := range d.Inputs.Each() {
		for _, y := range port.Sel {
			if n++; !slices.Equal(y.Range().Shape(), result.Range().Shape()) {
				return false
			}
		}
	}
	return n > 0
}

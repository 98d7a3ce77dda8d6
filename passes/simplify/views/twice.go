package views

import (
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/rewrite"
)

// twice makes a rule for a kernel of one tensor that is applied to what it gives itself. join gives the parameters that say the same of the
// inner one's input, for a rank.
func twice(kernel, text, because string, join func(outer, inner ir.Attrs, rank int) (ir.Attrs, bool)) rewrite.Rule {
	return rewrite.Rule{Name: kernel + "-" + kernel, Source: "Go", Roots: []string{kernel}, Text: text, Because: because,
		Match: func(s *rewrite.Site) (rewrite.Result, bool) {
			out, ok := s.Result()
			if !ok || s.Decl() == nil || s.Op.Inputs.Len() != 1 || len(s.Op.Inputs.At(0).Sel) != 1 {
				return rewrite.Result{}, false
			}
			sel := s.Op.Inputs.At(0).Sel[0]
			whole := s.Tensor(sel.Tensor).Range
			d, ok := s.Def(ir.Select(sel.Tensor, whole))
			if !ok || d.Kernel != kernel || !sel.Range().Equal(whole) || d.Inputs.Len() != 1 {
				return rewrite.Result{}, false
			}
			params, ok := join(s.Op.Params, d.Op.Params, out.Range().Rank())
			if !ok {
				return rewrite.Result{}, false
			}
			return rewrite.One(built(s, d.Inputs.At(0).Sel[0], []selector{{kernel, params, out.Range().Shape()}}), d.Node.ID), true
		}}
}

var reshapeReshape = twice("reshape", "A reshape of a reshape becomes one of its tensor.", "both leave the cells in row-major order, so the shape between says nothing",
	func(outer, _ ir.Attrs, _ int) (ir.Attrs, bool) { return outer, true })

var rollRoll = twice("roll", "Rolling what was rolled moves the cells once, by both numbers.",
	"what leaves at one end comes in at the other, so a cell moves by the sum, less any number of times the extent",
	func(outer, inner ir.Attrs, rank int) (ir.Attrs, bool) {
		shifts, ok := paired(outer, inner, "shifts", rank, 0, func(a, b int64) int64 { return a + b })
		return ir.Attrs{}.With("shifts", shifts), ok
	})

var repeatRepeat = twice("repeat", "Repeating what was repeated repeats the tensor as often as both say.", "b times a times the whole tensor are a·b times",
	func(outer, inner ir.Attrs, rank int) (ir.Attrs, bool) {
		repeats, ok := paired(outer, inner, "repeats", rank, 1, func(a, b int64) int64 { return a * b })
		return ir.Attrs{}.With("repeats", repeats), ok
	})

var padPad = twice("pad", "Padding what was padded, with the same constant value, pads once; nothing is cut off.", "there are cells of one value around cells of the same value",
	func(outer, inner ir.Attrs, rank int) (ir.Attrs, bool) {
		for _, p := range []ir.Attrs{outer, inner} {
			if m, ok := p.Get("mode"); ok && m.Str != "constant" {
				return nil, false
			}
		}
		params := slices.DeleteFunc(slices.Clone(outer), func(a ir.Attr) bool { return a.Name == "pads" || a.Name == "pads_end" })
		v, given := outer.Get("value")
		w, also := inner.Get("value")
		if given != also || given && !v.Equal(w) {
			return nil, false
		}
		pads, ok := paired(outer, inner, "pads", rank, 0, neither)
		ends, good := paired(endsOf(outer), endsOf(inner), "pads_end", rank, 0, neither)
		return params.With("pads", pads).With("pads_end", ends), ok && good
	})

// endsOf gives parameters whose pads_end are given.
func endsOf(p ir.Attrs) ir.Attrs {
	if _, ok := p.Get("pads_end"); ok {
		return p
	}
	if v, ok := p.Get("pads"); ok {
		return p.With("pads_end", v)
	}
	return p
}

// refused is given where two numbers make none.
const refused = -1 << 40

// neither adds two numbers of which none is below 0.
func neither(a, b int64) int64 {
	if a < 0 || b < 0 {
		return refused
	}
	return a + b
}

// paired makes a parameter of a number for each dimension from those of two operations; otherwise is what it is where it is not given.
func paired(outer, inner ir.Attrs, name string, rank int, otherwise int64, join func(a, b int64) int64) (ir.AttrValue, bool) {
	a, okA := Ints(outer, name, rank, otherwise)
	b, okB := Ints(inner, name, rank, otherwise)
	out := make([]int64, rank)
	const most = 1 << 31
	for i := range out {
		if !okA || !okB || max(a[i], -a[i]) > most || max(b[i], -b[i]) > most {
			return ir.AttrValue{}, false
		}
		if out[i] = join(a[i], b[i]); out[i] == refused {
			return ir.AttrValue{}, false
		}
	}
	return ir.IntsAttr(out...), rank > 0
}

// concatConcat joins what was joined already, and takes one tensor alone as it is.
var concatConcat = rewrite.Rule{
	Name: "concat-concat", Source: "Go", Roots: []string{"concat"},
	Text:    "A concat of concats along the same dimension, which nothing else reads, becomes one; a concat of one tensor is that tensor.",
	Because: "the tensors are one behind the other, in the same order",
	Match:   joinConcats,
}

func joinConcats(s *rewrite.Site) (rewrite.Result, bool) {
	out, ok := s.Result()
	if !ok || s.Decl() == nil || s.Op.Inputs.Len() != 1 || len(s.Op.Inputs.At(0).Sel) > mostJoined {
		return rewrite.Result{}, false
	}
	axis, ok := axisOf(s.Op.Params, out.Range().Rank())
	in := rewrite.Input{Port: s.Op.Inputs.At(0).Name}
	var from []ir.NodeID
	for _, sel := range s.Op.Inputs.At(0).Sel {
		list := []ir.Selection{sel}
		whole := s.Tensor(sel.Tensor).Range
		if d, found := s.Def(ir.Select(sel.Tensor, whole)); found && d.Kernel == "concat" && s.Once(sel.Tensor) && sel.Range().Equal(whole) {
			if a, same := axisOf(d.Op.Params, out.Range().Rank()); same && a == axis && len(d.Inputs.At(0).Sel) <= mostJoined {
				list, from = d.Inputs.At(0).Sel, append(from, d.Node.ID)
			}
		}
		for _, sel := range list {
			in.Args = append(in.Args, rewrite.Operand{Sel: sel})
		}
	}
	switch {
	case !ok:
	case len(in.Args) == 1:
		return rewrite.One(in.Args[0], from...), true
	case len(from) > 0:
		return rewrite.One(rewrite.Operand{New: &rewrite.Op{Kernel: s.Op.Kernel, Params: s.Op.Params, Inputs: []rewrite.Input{in},
			Outputs: []rewrite.Output{{Port: s.Op.Outputs.At(0).Name, DType: s.Tensor(out.Tensor).DType, Range: out.Range()}}}}, from...), true
	}
	return rewrite.Result{}, false
}

// mostJoined is how many tensors a concat has at most that is joined with another: each step copies the list.
const mostJoined = 16

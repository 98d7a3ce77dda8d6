package expand

import (
	"cmp"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/rewrite"
)

// undo makes the rule that finds what another one makes. guess reads, from what is at a site, which operations that may have been; one is taken if the
// other rule makes of it exactly what is there, so a guess need not be right.
func undo(name, text string, of rewrite.Rule, roots []string, guess func(r *reader, y ir.Selection) []whence) rewrite.Rule {
	return rewrite.Rule{Name: name, Source: "Go", Roots: roots, Allow: of.Allow, Depth: of.Depth, Text: text, Because: of.Because,
		Match: func(s *rewrite.Site) (rewrite.Result, bool) {
			result, ok := s.Result()
			if !ok {
				return rewrite.Result{}, false
			}
			for _, w := range guess(&reader{s: s}, result) {
				if res, ok := w.undone(s, result, of); ok {
					return res, true
				}
			}
			return rewrite.Result{}, false
		}}
}

// whence is an operation that what is at a site may have been.
type whence struct {
	kernel, out string
	params      ir.Attrs
	in          []rewrite.Input
}

// with gives it one more input.
func (w whence) with(port string, x ir.Selection) whence {
	w.in = append(slices.Clone(w.in), rewrite.Input{Port: port, Args: []rewrite.Operand{at(x)}})
	slices.SortFunc(w.in, func(a, b rewrite.Input) int { return cmp.Compare(a.Port, b.Port) })
	return w
}

// set gives it a parameter.
func (w whence) set(name string, v ir.AttrValue) whence {
	w.params = w.params.With(name, v)
	return w
}

func (w whence) undone(s *rewrite.Site, result ir.Selection, of rewrite.Rule) (rewrite.Result, bool) {
	b := builder{s: s}
	y := b.op(w.kernel, w.out, w.params, w.in...)
	op := &tensorops.Operation{Kernel: y.New.Kernel, Params: w.params, Outputs: ir.PortsOf([]ir.Port{{Name: w.out, Sel: []ir.Selection{result}}})}
	var in []ir.Port
	for _, p := range w.in {
		in = append(in, ir.Port{Name: p.Port, Sel: []ir.Selection{p.Args[0].Sel}})
	}
	op.Inputs = ir.PortsOf(in)
	back, ok := b.done(y)
	if !ok {
		return rewrite.Result{}, false
	}
	made, ok := of.Match(s.As(op))
	if !ok {
		return rewrite.Result{}, false
	}
	by, ok := s.Computes(result, made.Outputs[0])
	back.From = by
	return back, ok
}

// reader follows a graph from a site against the flow of data. Once something is not as it was asked for, it has failed, and gives nothing more.
type reader struct {
	s      *rewrite.Site
	failed bool
}

// read gives what a function reads, if that does not fail.
func (r *reader) read(list []whence, how func() whence) []whence {
	r.failed = false
	if w := how(); !r.failed {
		list = append(list, w)
	}
	return list
}

// def gives the operation of a kernel that computes a selection.
func (r *reader) def(x ir.Selection, kernel string) (d rewrite.Def) {
	ok := false
	if !r.failed {
		d, ok = r.s.Def(x)
	}
	r.failed = !ok || d.Kernel != kernel
	return d
}

// arg gives an argument of a port of the operation of a kernel that computes a selection.
func (r *reader) arg(x ir.Selection, kernel string, i int, ports ...string) (y ir.Selection) {
	d := r.def(x, kernel)
	for _, name := range ports {
		if p := d.Inputs.Get(name); !r.failed && p != nil && i < len(p.Sel) {
			return p.Sel[i]
		}
	}
	r.failed = true
	return y
}

// is says whether a selection is computed by an operation of a kernel.
func (r *reader) is(x ir.Selection, kernel string) bool {
	if r.failed {
		return false
	}
	d, ok := r.s.Def(x)
	return ok && d.Kernel == kernel
}

// number gives the value of a constant.
func (r *reader) number(x ir.Selection) ir.AttrValue {
	if r.failed {
		return ir.AttrValue{}
	}
	v, ok := r.s.Inline(x)
	r.failed = !ok || v.Kind == ir.AttrList
	return v
}

// ints gives a parameter that is a list, of the operation of a kernel that computes a selection.
func (r *reader) ints(x ir.Selection, kernel, name string) (list []int64) {
	if d := r.def(x, kernel); !r.failed {
		v, _ := d.Op.Params.Get(name)
		list, _ = v.Ints()
	}
	r.failed = r.failed || len(list) == 0
	return list
}

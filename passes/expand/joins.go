package expand

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/rewrite"
)

var partsOfConcat = rewrite.Rule{Name: "parts-of-concat", Source: "Go", Depth: 2,
	Text: "An operation that reads a concat becomes a concat of the operation on each of its tensors, if a dimension of the result goes along the axis. What " +
		"else it reads is cut likewise.",
	Because: "a part of the result is the operation on the parts of what it reads, which its kernel's declaration names",
	Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		result, ok := s.Result()
		if !ok || s.Decl() == nil || slices.Contains([]string{"concat", "slice"}, s.Kernel()) {
			return rewrite.Result{}, false
		}
		for p, port := range s.Op.Inputs.Each() {
			for e, x := range port.Sel {
				j, ok := joinOf(s, x, "concat")
				for d := 0; ok && d < result.Range().Rank(); d++ {
					if parts, ok := j.through(s, result, d, p, e); ok {
						b := builder{s: s}
						return b.done(b.many("concat", axis(d), parts...))
					}
				}
			}
		}
		return rewrite.Result{}, false
	}}

// join is a concat or an interleave that computes a selection.
type join struct {
	of    ir.Selection
	axis  int
	parts []ir.Selection
}

// joinOf reads the join of a kernel that computes a selection; false if it has too many parts, or empty ones.
func joinOf(s *rewrite.Site, x ir.Selection, kernel string) (join, bool) {
	d, ok := s.Def(x)
	if !ok || d.Kernel != kernel || d.Inputs.Get("tensors") == nil {
		return join{}, false
	}
	j := join{of: x, parts: d.Inputs.Get("tensors").Sel}
	v, _ := d.Op.Params.Get("axis")
	if j.axis = int(v.Int); j.axis < 0 {
		j.axis += x.Range().Rank()
	}
	return j, len(j.parts) > 1 && len(j.parts) <= maxParts && !slices.ContainsFunc(j.parts, func(p ir.Selection) bool { return p.Range().Empty() })
}

func axis(d int) ir.Attrs { return ir.Attrs{}.With("axis", ir.IntAttr(int64(d))) }

// through gives the site's operation on each part of a concat, which entry e of its input p is: these are the parts of the result along a dimension.
func (j join) through(s *rewrite.Site, result ir.Selection, dim, p, e int) (parts []rewrite.Operand, ok bool) {
	box, read := result.Range().Clone(), j.of.Range().Clone()
	if box.End[dim]-box.Start[dim] != read.End[j.axis]-read.Start[j.axis] {
		return nil, false
	}
	for _, part := range j.parts {
		n := part.Range().Shape()[j.axis]
		box.End[dim], read.End[j.axis] = box.Start[dim]+n, read.Start[j.axis]+n
		d, ok := s.Def(ir.Select(result.Tensor, box.Clone()))
		if !ok || !d.Inputs.At(p).Sel[e].Range().Equal(read) {
			return nil, false
		}
		in := d.Inputs.Clone()
		in.At(p).Sel[e] = part
		parts = append(parts, like(s, s.Op, in))
		box.Start[dim], read.Start[j.axis] = box.End[dim], read.End[j.axis]
	}
	return parts, true
}

// like makes an operation as another one of other inputs, whose result is what its kernel gives them.
func like(s *rewrite.Site, op *tensorops.Operation, in ir.Ports) rewrite.Operand {
	var list []rewrite.Input
	for _, p := range in.Each() {
		next := rewrite.Input{Port: p.Name}
		for _, x := range p.Sel {
			next.Args = append(next.Args, at(x))
		}
		list = append(list, next)
	}
	b := builder{s: s}
	return b.op(op.Kernel, op.Outputs.At(0).Name, op.Params, list...)
}

var partsOfInterleave = rewrite.Rule{Name: "parts-of-interleave", Source: "Go", Depth: 2,
	Text:    "An operation cell by cell on interleaved tensors, and others that all cells along the axis read alike, becomes the interleaved operations on them.",
	Because: "each cell of the result depends on the cell of the tensor that is interleaved there, and on others that do not depend on the place along the axis",
	Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		result, ok := s.Result()
		if !ok || s.Decl() == nil || !rewrite.Pointwise(s.Decl()) {
			return rewrite.Result{}, false
		}
		rank, dim, parts := result.Range().Rank(), -1, []ir.Ports(nil)
		for p, port := range s.Op.Inputs.Each() {
			for e, x := range port.Sel {
				j, ok := joinOf(s, x, "interleave")
				if !ok {
					continue
				}
				switch d := rank - x.Range().Rank() + j.axis; {
				case parts == nil:
					dim, parts = d, slices.Repeat([]ir.Ports{s.Op.Inputs}, len(j.parts))
					for i := range parts {
						parts[i] = parts[i].Clone()
					}
				case d != dim || len(j.parts) != len(parts):
					return rewrite.Result{}, false
				}
				for i := range j.parts {
					parts[i].At(p).Sel[e] = j.parts[i]
				}
			}
		}
		if parts == nil || !fixed(s.Op.Inputs, parts, rank-dim) {
			return rewrite.Result{}, false
		}
		b, list := builder{s: s}, []rewrite.Operand{}
		for _, in := range parts {
			list = append(list, like(s, s.Op, in))
		}
		return b.done(b.many("interleave", axis(dim), list...))
	}}

// fixed says whether the inputs that are the same in all parts have one cell, or no dimension, at a dimension counted from the end.
func fixed(whole ir.Ports, parts []ir.Ports, fromEnd int) bool {
	for p, port := range whole.Each() {
		for e, x := range port.Sel {
			d := x.Range().Rank() - fromEnd
			if parts[0].At(p).Sel[e].Equal(x) && d >= 0 && x.Range().Shape()[d] != 1 {
				return false
			}
		}
	}
	return true
}

var joinedResults = rewrite.Rule{Name: "joined-results", Source: "Go", Roots: []string{"concat", "interleave"}, Depth: 2,
	Text: "A concat, or interleave, of what one operation cell by cell gives of several tensors becomes the operation on these joined. What the operations share " +
		"does not depend on the place along the axis.",
	Because: "each cell of the result depends on the cells at its place of the tensors",
	Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		result, ok := s.Result()
		if !ok {
			return rewrite.Result{}, false
		}
		j, ok := joinOf(s, result, s.Kernel())
		if !ok {
			return rewrite.Result{}, false
		}
		var parts []ir.Ports
		var first rewrite.Def
		var from []ir.NodeID
		for _, x := range j.parts {
			d, ok := s.Def(x)
			if parts == nil {
				first = d
			}
			if !ok || d.Kernel != first.Kernel || !d.Op.Params.Equal(first.Op.Params) || !sameEntries(d.Inputs, first.Inputs) {
				return rewrite.Result{}, false
			}
			parts, from = append(parts, d.Inputs), append(from, d.Node.ID)
		}
		decl, known := s.Library().Find(first.Op.Kernel)
		if !known || !rewrite.Pointwise(decl) {
			return rewrite.Result{}, false
		}
		res, ok := j.outside(s, first.Op, parts)
		res.From = from
		return res, ok
	}}

// sameEntries says whether ports have the same names and so many entries.
func sameEntries(a, b ir.Ports) bool {
	return slices.EqualFunc(a.List(), b.List(), func(p, q ir.Port) bool { return p.Name == q.Name && len(p.Sel) == len(q.Sel) })
}

// outside makes the operation on joined inputs.
func (j join) outside(s *rewrite.Site, op *tensorops.Operation, parts []ir.Ports) (rewrite.Result, bool) {
	b, fromEnd := builder{s: s}, j.of.Range().Rank()-j.axis
	var in []rewrite.Input
	joins := 0
	for p, port := range parts[0].Each() {
		next := rewrite.Input{Port: port.Name}
		for e, x := range port.Sel {
			d := x.Range().Rank() - fromEnd
			shared := !slices.ContainsFunc(parts, func(q ir.Ports) bool { return !q.At(p).Sel[e].Equal(x) })
			if shared && (d < 0 || x.Range().Shape()[d] == 1) {
				next.Args = append(next.Args, at(x))
				continue
			}
			var list []rewrite.Operand
			for i, q := range parts {
				y := q.At(p).Sel[e]
				if y.Range().Rank() != x.Range().Rank() || d < 0 || y.Range().Shape()[d] != j.parts[i].Range().Shape()[j.axis] || s.Type(y) != s.Type(x) {
					return rewrite.Result{}, false
				}
				list = append(list, at(y))
			}
			joins++
			next.Args = append(next.Args, b.many(s.Kernel(), axis(d), list...))
		}
		in = append(in, next)
	}
	return b.done(b.op(op.Kernel, op.Outputs.At(0).Name, op.Params, in...))
}

package kernels

import (
	"slices"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// read gives the value of an operand at the present point: at the coordinates that its computed entries say, and fill where
// those lie outside it. A nil fill is the operand's own, or 0.
func (b *binder) read(operand int, fill *scalar.Expr) (*scalar.Expr, error) {
	o := b.in.Operands[operand]
	if fill == nil {
		fill = scalar.NewConst(scalar.Zero(o.Type))
		if o.Decl.Else != "" {
			e, err := scalar.Parse(o.Decl.Else, bodyScope{b, -1})
			if err == nil {
				fill, err = e.WithType(o.Type)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	places, err := b.places(&o)
	if err != nil {
		return nil, err
	}
	return b.readAt(operand, places, fill), nil
}

// places gives the indices of an operand's computed entries.
func (b *binder) places(o *Operand) ([]place, error) {
	var places []place
	if o.Decl.Variadic && !o.Decl.Out {
		defer func(entry int) { b.entry = entry }(b.entry)
		b.entry = o.Entry
	}
	for _, x := range o.Decl.Index {
		if x.At == "" {
			continue
		}
		name := x.Name()
		if x.Each {
			name = eachName(name, o.Entry)
		}
		for i, dim := range b.dims[name] {
			index, err := scalar.Parse(x.At, bodyScope{b, i})
			if err == nil {
				index, err = index.WithType(scalar.Int64)
			}
			if err != nil {
				return nil, err
			}
			places = append(places, place{dim, b.settle(index)})
		}
	}
	return places, nil
}

// place says that a dim stands at an index.
type place struct {
	dim   int
	index *scalar.Expr
}

// readAt gives an operand's value with some dims at computed places. Affine places become part of the access; a place that may
// lie outside is guarded, so that the read happens only inside.
func (b *binder) readAt(operand int, places []place, fill *scalar.Expr) *scalar.Expr {
	zero := fill.Op == scalar.Const && fill.Value.Same(scalar.Zero(fill.Type))
	access := b.in.Operands[operand].Access
	var guards []*scalar.Expr
	var left []place
	for _, p := range places {
		s, ok := b.affine(p.index)
		if !ok {
			left = append(left, p)
			if !zero {
				guards = append(guards, b.inside(p.index, b.in.Dims[p.dim].Extent)...)
			}
			continue
		}
		guard, possible := b.guard(s, b.in.Dims[p.dim].Extent)
		if !possible {
			return fill
		}
		guards = append(guards, guard...)
		access = substitute(access, p.dim, s)
	}
	e := scalar.NewLoad(b.view(operand, access), b.in.Operands[operand].Type)
	for _, p := range slices.Backward(left) {
		e = scalar.NewAt(p.dim, p.index, e)
	}
	return guarded(guards, e, fill)
}

func guarded(guards []*scalar.Expr, e, fill *scalar.Expr) *scalar.Expr {
	if len(guards) == 0 {
		return e
	}
	all := guards[0]
	for _, g := range guards[1:] {
		all = must(scalar.And, all, g)
	}
	return must(scalar.Where, all, e, fill)
}

// guard gives the conditions under which a sum lies from 0 to extent-1, without those that always hold; possible is false if
// it never does.
func (b *binder) guard(s sum, extent int64) (guards []*scalar.Expr, possible bool) {
	lo, hi := b.hull(s)
	if lo < 0 {
		guards = append(guards, must(scalar.Ge, s.expr(), number(0)))
	}
	if hi >= extent {
		guards = append(guards, must(scalar.Lt, s.expr(), number(extent)))
	}
	return guards, lo < extent && hi >= 0
}

// inside gives the conditions for an index that is no sum.
func (b *binder) inside(index *scalar.Expr, extent int64) []*scalar.Expr {
	return []*scalar.Expr{must(scalar.Ge, index, number(0)), must(scalar.Lt, index, number(extent))}
}

// substitute gives an access in which a dim stands at a sum.
func substitute(a zspace.AffineMap, dim int, s sum) zspace.AffineMap {
	out := a.Clone()
	for i, row := range out.Projection {
		f := row[dim]
		row[dim] = 0
		for j, x := range s.row {
			row[j] += f * x
		}
		out.Offset[i] += f * s.off
	}
	return out
}

// view gives the number of the operand that reads an operand's selection through an access, adding one if there is none.
func (b *binder) view(operand int, access zspace.AffineMap) int {
	o := b.in.Operands[operand]
	for i, p := range b.in.Operands {
		if p.Decl == o.Decl && p.Entry == o.Entry && p.Access.Equal(access) {
			return i
		}
	}
	o.Access, o.View = access, true
	b.in.Operands = append(b.in.Operands, o)
	return len(b.in.Operands) - 1
}

// direct takes an at apart whose index is a sum: what its body reads is read there.
func (b *binder) direct(e *scalar.Expr) *scalar.Expr {
	s, ok := b.affine(e.Args[1])
	if !ok || b.keepsDim(e.Args[0], e.Over[0]) {
		return e
	}
	guards, possible := b.guard(s, b.in.Dims[e.Over[0]].Extent)
	zero := scalar.NewConst(scalar.Zero(e.Type))
	if !possible {
		return zero
	}
	body := e.Args[0].Map(func(x *scalar.Expr) *scalar.Expr {
		switch {
		case x.Op == scalar.Loop && x.Ref == e.Over[0]:
			return s.expr()
		case x.Op == scalar.Load:
			access := substitute(b.in.Operands[x.Ref].Access, e.Over[0], s)
			return scalar.NewLoad(b.view(x.Ref, access), x.Type)
		}
		return x
	})
	return guarded(guards, b.settle(body), zero)
}

// keepsDim says whether an expression has a part that a dim can not be replaced in: a local value along it, or a fold.
func (b *binder) keepsDim(e *scalar.Expr, dim int) bool {
	found := false
	e.Walk(func(e *scalar.Expr) bool {
		found = found || e.Op == scalar.Local && slices.Contains(b.in.Statements[e.Ref].Over, dim) || e.Op == scalar.Reduce && slices.Contains(e.Over, dim)
		return !found
	})
	return found
}

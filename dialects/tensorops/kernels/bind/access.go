package bind

import (
	"slices"

	"tensortapestry.org/tapc/ir/affine"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

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
		s, ok := b.box.Sum(p.index)
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
		all = scalar.Must(scalar.And, all, g)
	}
	return scalar.Must(scalar.Where, all, e, fill)
}

// guard gives the conditions under which a sum lies from 0 to extent-1, without those that always hold; possible is false if
// it never does.
func (b *binder) guard(s affine.Sum, extent int64) (guards []*scalar.Expr, possible bool) {
	lo, hi := s.Hull(b.box.Range)
	if lo < 0 {
		guards = append(guards, scalar.Must(scalar.Ge, s.Expr(), scalar.Number(0)))
	}
	if hi >= extent {
		guards = append(guards, scalar.Must(scalar.Lt, s.Expr(), scalar.Number(extent)))
	}
	return guards, lo < extent && hi >= 0
}

// inside gives the conditions for an index that is no sum.
func (b *binder) inside(index *scalar.Expr, extent int64) []*scalar.Expr {
	return []*scalar.Expr{scalar.Must(scalar.Ge, index, scalar.Number(0)), scalar.Must(scalar.Lt, index, scalar.Number(extent))}
}

// substitute gives an access in which a dim stands at a sum.
func substitute(a zspace.AffineMap, dim int, s affine.Sum) zspace.AffineMap {
	out := a.Clone()
	for i, row := range out.Projection {
		f := row[dim]
		row[dim] = 0
		for j, x := range s.Factors {
			row[j] += f * x
		}
		out.Offset[i] += f * s.Constant
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
	s, ok := b.box.Sum(e.Args[1])
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
			return s.Expr()
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

// settle simplifies an expression: constants are folded, conditions on dims that hold everywhere or nowhere are decided, and
// reads at computed places become plain accesses where they can.
func (b *binder) settle(e *scalar.Expr) *scalar.Expr {
	return e.Fold().Map(func(e *scalar.Expr) *scalar.Expr {
		switch {
		case e.IsAt():
			return b.direct(e)
		case e.Op == scalar.Reduce && len(e.Over) == 0: // along no dims there is one value
			return e.Args[0]
		case e.Op == scalar.Where:
			if v, ok := b.box.Decided(e.Args[0]); ok {
				return e.Args[2-v]
			}
		case e.Type == scalar.Bool && (e.Op == scalar.And || e.Op == scalar.Or):
			return b.simpler(e)
		case e.Type == scalar.Int64 && e.Op >= scalar.Neg && e.Op < scalar.Cast:
			if s, ok := b.box.Sum(e); ok {
				return s.Expr()
			}
		}
		return e
	}).Fold()
}

// simpler drops the side of a conjunction or disjunction that is the same everywhere and decides nothing.
func (b *binder) simpler(e *scalar.Expr) *scalar.Expr {
	if v, ok := b.box.Decided(e); ok {
		return scalar.NewConst(scalar.BoolValue(v != 0))
	}
	for i, a := range e.Args {
		if _, ok := b.box.Decided(a); ok {
			return e.Args[1-i]
		}
	}
	return e
}

package reads

import (
	"tensortapestry.org/tapc/ir/affine"
	"tensortapestry.org/tapc/ir/scalar"
)

// value is what a whole number is on a path.
type value struct {
	path *path
	sum  affine.Sum
}

// maxCases bounds the paths that one expression is followed on.
const maxCases = 256

// values gives what an int64 expression, or an element of another type of whole numbers, is on paths that exclude each other; ok is false where data decides it, or it is no sum.
func (w *walker) values(e *scalar.Expr, p *path) (list []value, ok bool) {
	switch {
	case e.Op == scalar.Load && e.Type.IsInt():
		return w.loaded(e.Ref, p)
	case e.IsAt() && e.Type.IsInt():
		return w.placed(e, p)
	case e.Op == scalar.Local && e.Type.IsInt():
		return w.values(w.body.Statements[e.Ref].Value, p)
	case e.Type != scalar.Int64:
		return nil, false
	case e.Op == scalar.Cast && e.Args[0].Type.IsInt():
		return w.values(e.Args[0], p)
	case e.Op == scalar.Const:
		return []value{{p, affine.Constant(e.Value.I)}}, true
	case e.Op == scalar.Loop:
		return []value{{p, p.env[e.Ref]}}, p.known[e.Ref]
	case e.Op == scalar.Where:
		return w.chosen(e, p)
	case e.Op == scalar.Neg:
		return w.unary(e.Args[0], p, func(v value) []value { return []value{{v.path, v.sum.Times(-1)}} })
	case len(e.Args) != 2 || e.Op == scalar.Reduce:
		return nil, false
	}
	return w.unary(e.Args[0], p, func(x value) []value {
		more, good := w.unary(e.Args[1], x.path, func(y value) []value { return combined(e.Op, x.sum, y) })
		if !good {
			return nil
		}
		return more
	})
}

// unary gives the values of a function of a whole number, which gives nil where there is none.
func (w *walker) unary(e *scalar.Expr, p *path, f func(value) []value) ([]value, bool) {
	args, ok := w.values(e, p)
	if !ok {
		return nil, false
	}
	out := []value{}
	for _, v := range args {
		more := f(v)
		if more == nil {
			return nil, false
		}
		if len(out)+len(more) > maxCases {
			w.reason = TooManyCases
			return nil, false
		}
		out = append(out, more...)
	}
	return out, true
}

// chosen gives the values of a choice that conditions on dims alone decide.
func (w *walker) chosen(e *scalar.Expr, p *path) (list []value, ok bool) {
	if !w.decidable(e.Args[0], p) {
		return nil, false
	}
	list = []value{}
	for i, want := range []bool{true, false} {
		for _, q := range w.truth(e.Args[0], want, p) {
			more, ok := w.values(e.Args[1+i], q)
			if ok && len(list)+len(more) > maxCases {
				ok, w.reason = false, TooManyCases
			}
			if !ok {
				return nil, false
			}
			list = append(list, more...)
		}
	}
	return list, true
}

// combined gives the values of an operator of two.
func combined(op scalar.Op, x affine.Sum, y value) []value {
	p := y.path
	one := func(s affine.Sum) []value { return []value{{p, s}} }
	switch op {
	case scalar.Add:
		return one(x.Plus(y.sum, 1))
	case scalar.Sub:
		return one(x.Plus(y.sum, -1))
	case scalar.Mul:
		switch {
		case x.IsConstant():
			return one(y.sum.Times(x.Constant))
		case y.sum.IsConstant():
			return one(x.Times(y.sum.Constant))
		}
	case scalar.Div, scalar.Rem, scalar.Mod:
		if y.sum.IsConstant() && y.sum.Constant > 0 {
			return divided(op, x, y.sum.Constant, p)
		}
	case scalar.Min, scalar.Max:
		less := x.Plus(y.sum, -1) // x - y
		if op == scalar.Min {
			less = less.Times(-1)
		}
		return either(p, less, x, y.sum)
	}
	return nil
}

// either gives x where a sum is 0 or more, else y.
func either(p *path, at, x, y affine.Sum) []value {
	out := []value{}
	yes, no := p.clone(), p.clone()
	if yes.guard(at) {
		out = append(out, value{yes, x})
	}
	if no.guard(under(at)) {
		out = append(out, value{no, y})
	}
	return out
}

// divided gives quotients and remainders by a positive number: rounded down, and for negative numbers towards 0 but for Mod.
func divided(op scalar.Op, x affine.Sum, n int64, p *path) []value {
	rounded := func(p *path, x affine.Sum) value {
		p = p.clone()
		q := p.floor(x, n)
		if op == scalar.Div {
			return value{p, q}
		}
		return value{p, p.remainder(x, n, q)}
	}
	if op == scalar.Mod {
		return []value{rounded(p, x)}
	}
	out := []value{}
	up, down := p.clone(), p.clone()
	if up.guard(x) {
		out = append(out, rounded(up, x))
	}
	if down.guard(under(x)) {
		v := rounded(down, x.Times(-1))
		out = append(out, value{v.path, v.sum.Times(-1)})
	}
	return out
}

// decidable says whether dims alone decide a condition.
func (w *walker) decidable(e *scalar.Expr, p *path) bool {
	switch e.Op {
	case scalar.Const:
		return true
	case scalar.Local:
		return w.decidable(w.body.Statements[e.Ref].Value, p)
	case scalar.Not, scalar.And, scalar.Or:
		for _, a := range e.Args {
			if !w.decidable(a, p) {
				return false
			}
		}
		return e.Type == scalar.Bool
	case scalar.Lt, scalar.Le, scalar.Gt, scalar.Ge, scalar.Eq, scalar.Ne:
		_, ok := w.differences(e, p)
		return ok
	}
	return false
}

// truth gives the paths on which a condition may be as wanted: exactly those where dims decide it, and all where data does.
func (w *walker) truth(e *scalar.Expr, want bool, p *path) []*path {
	switch {
	case e.Type != scalar.Bool:
		return []*path{p}
	case e.Op == scalar.Const:
		if (e.Value.I != 0) != want {
			return nil
		}
	case e.Op == scalar.Not:
		return w.truth(e.Args[0], !want, p)
	case e.Op == scalar.Local:
		return w.truth(w.body.Statements[e.Ref].Value, want, p)
	case e.Op == scalar.And || e.Op == scalar.Or:
		return w.both(e, want, p)
	case e.Op >= scalar.Eq && e.Op <= scalar.Ge:
		return w.compared(e, want, p)
	}
	return []*path{p}
}

// both gives the paths of a conjunction that is true or a disjunction that is false, where both sides are as wanted; else those of
// the first, and those of the second on which the first is not as wanted.
func (w *walker) both(e *scalar.Expr, want bool, p *path) (list []*path) {
	if (e.Op == scalar.And) == want {
		for _, q := range w.truth(e.Args[0], want, p) {
			list = append(list, w.truth(e.Args[1], want, q)...)
		}
		return w.few(list, p)
	}
	list = w.truth(e.Args[0], want, p)
	for _, q := range w.truth(e.Args[0], !want, p) {
		list = append(list, w.truth(e.Args[1], want, q)...)
	}
	return w.few(list, p)
}

// few gives up following each of very many paths.
func (w *walker) few(list []*path, p *path) []*path {
	if len(list) > maxCases {
		w.reason = TooManyCases
		return []*path{w.given(p)}
	}
	return list
}

// differences gives what a comparison's first side is more than its second.
func (w *walker) differences(e *scalar.Expr, p *path) ([]value, bool) {
	return w.unary(e.Args[0], p, func(x value) []value {
		more, ok := w.unary(e.Args[1], x.path, func(y value) []value { return combined(scalar.Sub, x.sum, y) })
		if !ok {
			return nil
		}
		return more
	})
}

func (w *walker) compared(e *scalar.Expr, want bool, p *path) []*path {
	w.reason = ""
	all, ok := w.differences(e, p)
	if !ok {
		return []*path{w.given(p)}
	}
	op := e.Op
	if !want {
		op = affine.Opposite(op)
	}
	var list []*path
	for _, d := range all {
		for _, guards := range conditions(op, d.sum) {
			q := d.path.clone()
			possible := true
			for _, g := range guards {
				possible = q.guard(g) && possible
			}
			if possible {
				list = append(list, q)
			}
		}
	}
	return w.few(list, p)
}

// conditions gives when a difference compares so: one of the lists holds, all of it.
func conditions(op scalar.Op, d affine.Sum) [][]affine.Sum {
	border := func(op scalar.Op) affine.Sum { s, _ := d.Border(op); return s }
	switch op {
	case scalar.Eq:
		return [][]affine.Sum{{border(scalar.Ge), border(scalar.Le)}}
	case scalar.Ne:
		return [][]affine.Sum{{border(scalar.Lt)}, {border(scalar.Gt)}}
	}
	return [][]affine.Sum{{border(op)}}
}

// under gives the sum that is 0 or more where another is less than 0.
func under(s affine.Sum) affine.Sum {
	b, _ := s.Border(scalar.Lt)
	return b
}

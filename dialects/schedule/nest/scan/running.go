package scan

import "tensortapestry.org/tapc/ir/scalar"

// Running is how the values of a form are reduced one after the other.
type Running struct {
	Monoid scalar.Op
	Type   scalar.DType // of the running value
	Value  *scalar.Expr // in that type
	Start  scalar.Value // before anything is reduced
	Wide   bool         // the type is wider than that of the reduction, as rounding would add up in that
	Lossy  bool         // a sum of float64: what rounding takes is kept beside it (A. Neumaier, 1974)
}

// Running finds that of a form. A rank's is the rank itself.
func (f *Form) Running() *Running {
	e := f.Reduce
	r := &Running{Monoid: e.Monoid, Type: e.Type, Value: f.Value, Start: f.Initial}
	adds := e.Monoid == scalar.Add || e.Monoid == scalar.Mul
	switch {
	case f.Kind == Rank:
		return r
	case adds && e.Type == scalar.Float64:
		r.Lossy = e.Monoid == scalar.Add
	case adds && e.Type.IsFloat():
		r.Type = scalar.Float64
	case adds && e.Type == scalar.Complex64:
		r.Type = scalar.Complex128
	}
	if r.Wide = r.Type != e.Type; !r.Wide {
		if e.Type.Wide() != e.Type {
			r.Start = scalar.Identity(e.Monoid, e.Type)
		}
		return r
	}
	r.Start = scalar.Identity(e.Monoid, r.Type)
	if r.Value.Op == scalar.Mul { // a product is not rounded before it is added
		r.Value = scalar.Must(scalar.Mul, scalar.NewCast(r.Type, f.Value.Args[0]), scalar.NewCast(r.Type, f.Value.Args[1]))
	} else {
		r.Value = scalar.NewCast(r.Type, f.Value)
	}
	return r
}

// Next is the next value of a sum that is lossy, and what is lost then, of loads: of the sum (0), what is added (1), the next value (2) and what was lost (3).
func (r *Running) Next() (sum, lost *scalar.Expr) {
	load := func(i int) *scalar.Expr { return scalar.NewLoad(i, r.Type) }
	rest := func(a, b int) *scalar.Expr {
		return scalar.Must(scalar.Add, scalar.Must(scalar.Sub, load(a), load(2)), load(b))
	}
	larger := scalar.Must(scalar.Ge, scalar.Must(scalar.Abs, load(0)), scalar.Must(scalar.Abs, load(1)))
	return scalar.Must(scalar.Add, load(0), load(1)),
		scalar.Must(scalar.Add, load(3), scalar.Must(scalar.Where, larger, rest(0, 1), rest(1, 0)))
}

// Result is the value that a running value stands for, in the type that the reduction accumulates in, of loads: of the running value (0), and of what was lost (1).
func (f *Form) Result(r *Running) *scalar.Expr {
	value := scalar.NewLoad(0, r.Type)
	switch {
	case r.Lossy:
		endless := scalar.Must(scalar.Or, scalar.Must(scalar.IsNaN, value), scalar.Must(scalar.IsInf, value))
		return scalar.Must(scalar.Where, endless, value, scalar.Must(scalar.Add, value, scalar.NewLoad(1, r.Type)))
	case r.Wide:
		return scalar.NewCast(f.Reduce.Type.Wide(), value)
	}
	return value
}

// Room is the number of places that are collected before they are put in order. The first 2k cells are sorted; of what follows, those that
// do not come before the last of the best k are passed over, and others collected. When 2k are held they are sorted again, and the best kept.
// That takes n log k at worst, and little more than reading if few are collected.
func (s *Selection) Room() int64 { return min(s.Count, 2*s.First) }

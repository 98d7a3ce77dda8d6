package instance

import (
	"math"

	"tensortapestry.org/tapc/ir/scalar"
)

// Work is how many points the statements have in all, folds included: about how long a point-by-point evaluation takes. It
// saturates.
func (in *Instance) Work() int64 {
	total := 0.0
	for _, s := range in.Statements {
		total += in.points(s.Over) * (1 + in.folded(s.Value))
	}
	return int64(math.Min(total, 1<<62))
}

func (in *Instance) points(dims []int) float64 {
	n := 1.0
	for _, d := range dims {
		n *= float64(in.Dims[d].Extent)
	}
	return n
}

// folded is how many points the folds of an expression go through.
func (in *Instance) folded(e *scalar.Expr) float64 {
	n := 0.0
	for _, a := range e.Args {
		n += in.folded(a)
	}
	if e.Op != scalar.Reduce || e.IsAt() {
		return n
	}
	return in.points(e.Over) * (1 + n)
}

// Flops is how many arithmetic operations the instance does: those of the body at every point, or what the declaration's cost
// clause says. A function such as exp counts as its weight; reads, conversions, choices and arithmetic on coordinates count
// nothing. It saturates.
func (in *Instance) Flops() int64 {
	if in.Cost >= 0 {
		return in.Cost
	}
	total := 0.0
	for _, s := range in.Statements {
		total += in.points(s.Over) * in.flops(s.Value)
	}
	return int64(math.Min(total, 1<<62))
}

func (in *Instance) flops(e *scalar.Expr) float64 {
	switch {
	case e.IsAt():
		return in.flops(e.Args[0])
	case e.Op == scalar.Reduce:
		return in.points(e.Over) * (1 + in.flops(e.Args[0]))
	}
	n := Weight(e)
	for _, a := range e.Args {
		n += in.flops(a)
	}
	return n
}

// Weight is what an operator counts: about what a good implementation of it takes, in additions.
func Weight(e *scalar.Expr) float64 {
	switch {
	case e.Op <= scalar.Attr, e.Op == scalar.Where, e.Op == scalar.Cast, e.Op == scalar.Bitcast, len(e.Args) > 0 && e.Args[0].Type == scalar.Int64 && onLoops(e):
		return 0
	case e.Op.Class() == scalar.Division || e.Op.Class() == scalar.Root:
		return 4
	case e.Op.Class() == scalar.Transcendental:
		return 16
	}
	return 1
}

// onLoops says whether an expression computes with coordinates alone.
func onLoops(e *scalar.Expr) bool {
	for _, a := range e.Args {
		if a.Op == scalar.Load || a.Op == scalar.Local || !onLoops(a) {
			return false
		}
	}
	return true
}

package bind

import (
	"fmt"

	"tensortapestry.org/tapc/ir/scalar"
)

// saturate converts a value to a type: what the type does not hold becomes the nearest finite value that it does. NaN stays NaN,
// and becomes 0 in an integer.
func (s bodyNames) saturate(args []string) (*scalar.Expr, error) {
	e, ok := s.Lookup(args[0])
	to, ok2 := s.typeOf(args[1])
	if !ok || !ok2 {
		return nil, fmt.Errorf("saturate: unknown name %q or %q", args[0], args[1])
	}
	from := e.Type
	switch {
	case from == to && !to.IsFloat() || to == scalar.Bool || from == scalar.Bool || to.IsComplex() || from.IsComplex() || to.IsInt() && from.IsFloat():
		return scalar.NewCast(to, e), nil
	case to.IsFloat():
		return saturateFloat(e, to), nil
	}
	lo, hi := scalar.Lowest(to), scalar.Highest(to)
	return scalar.NewCast(to, clamp(e, clip(lo, from), clip(hi, from))), nil
}

func clamp(e *scalar.Expr, lo, hi scalar.Value) *scalar.Expr {
	return scalar.Must(scalar.Max, scalar.Must(scalar.Min, e, scalar.NewConst(hi)), scalar.NewConst(lo))
}

// saturateFloat converts to a float type by way of one that holds all numbers of both, where it is cut off.
func saturateFloat(e *scalar.Expr, to scalar.DType) *scalar.Expr {
	wide := scalar.Float32
	switch _, narrow := to.Format(); {
	case e.Type.IsInt() && !narrow: // no integer is too great
		return scalar.NewCast(to, e)
	case e.Type.IsInt() || e.Type == scalar.Float64 || to == scalar.Float64:
		wide = scalar.Float64
	}
	lo, hi := to.Limits()
	return scalar.NewCast(to, clamp(scalar.NewCast(wide, e), scalar.FloatValue(wide, lo), scalar.FloatValue(wide, hi)))
}

// clip gives an integer value in another integer type, at that type's limit if it is beyond.
func clip(v scalar.Value, to scalar.DType) scalar.Value {
	lo, hi := scalar.Lowest(to), scalar.Highest(to)
	switch {
	case v.Float() <= lo.Float():
		return lo
	case v.Float() >= hi.Float():
		return hi
	}
	return scalar.IntValue(to, v.I)
}

package reduced

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir/scalar"
)

// Partial says by which operator the results of an operation on parts of a dim combine to its results. There is none if results run along the dim, if it
// is reduced in several ways, or if the operation goes on with what it gives by anything that does not distribute over the operator.
func Partial(in *instance.Instance, dim int) (by scalar.Op, ok bool) {
	return partialBeside(in, dim, func(int) bool { return false })
}

// Beside says so of sums to which the operation adds what does not go along the dim, such as a bias: that joins the results on one part.
func Beside(in *instance.Instance, dim int) (by scalar.Op, ok bool) {
	by, ok = partialBeside(in, dim, func(i int) bool {
		return !in.Operands[i].Decl.Out && !slices.ContainsFunc(in.Operands[i].Access.Projection, func(row []int64) bool { return row[dim] != 0 })
	})
	return by, ok && by == scalar.Add
}

// Once says by which operator the results of an operation's only reduction along a dim combine. What it goes on with is computed of what they make together, once.
func Once(in *instance.Instance, dim int) (by scalar.Op, ok bool) {
	if Stored(in, dim) || in.Dims[dim].Index {
		return scalar.NoOp, false
	}
	found := 0
	for _, s := range in.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Reduce {
				found++
				if ok = slices.Contains(e.Over, dim) && !e.IsAt(); ok {
					by = e.Monoid
				}
			}
			return true
		})
	}
	return by, ok && found == 1
}

func partialBeside(in *instance.Instance, dim int, joins func(operand int) bool) (by scalar.Op, ok bool) {
	if Stored(in, dim) || in.Dims[dim].Index {
		return scalar.NoOp, false
	}
	for _, s := range in.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Reduce && slices.Contains(e.Over, dim) {
				ok = by == scalar.NoOp && !e.IsAt() || by == e.Monoid
				by = e.Monoid
			}
			return ok || by == scalar.NoOp
		})
	}
	if !ok {
		return scalar.NoOp, false
	}
	d := distribution{in: in, by: by, of: joins, dim: dim}
	return by, d.results()
}

// Distributes says whether an operation on partial results gives partial results: where the operands that are asked for are each combined of
// partial ones by an operator, and all others are the same, its results are combined by the operator of those that it gives for each.
// So it is for sums with what is linear in these operands together.
func Distributes(in *instance.Instance, by scalar.Op, of func(o *instance.Operand) bool) bool {
	d := distribution{in: in, by: by, of: func(i int) bool { return of(&in.Operands[i]) }, dim: -1}
	return d.results()
}

// Ordered says whether the order in which values are combined by an operator shows in the result.
func Ordered(by scalar.Op, d scalar.DType) bool {
	return (by == scalar.Add || by == scalar.Mul) && (d.IsFloat() || d.IsComplex())
}

// Rounded says whether values of a type are combined in a wider one and rounded once, so that partial results of the type would round more often.
func Rounded(by scalar.Op, d scalar.DType) bool {
	return d.IsFloat() && d != d.Wide() && Ordered(by, d)
}

// variance is how a value varies with partial results.
type variance int

const (
	same    variance = iota // it is the same for all of them
	partial                 // it is what the operator combines of that for each
	neither
)

// distribution follows the values of an operation. Either operands are partial, or the results of reductions along dim are.
type distribution struct {
	in  *instance.Instance
	by  scalar.Op
	of  func(operand int) bool
	dim int // -1 for none
}

// results says whether all results are partial.
func (d *distribution) results() bool {
	found := false
	for _, s := range d.in.Statements {
		if s.Store < 0 {
			continue
		}
		if found = true; d.value(s.Value) != partial {
			return false
		}
	}
	return found
}

// idempotent says whether a value combined with itself is the value, so that what is the same for all parts is partial too.
func (d *distribution) idempotent() bool {
	return d.by == scalar.Max || d.by == scalar.Min || d.by == scalar.And || d.by == scalar.Or
}

func (d *distribution) value(e *scalar.Expr) variance {
	switch e.Op {
	case scalar.Load:
		if d.of(e.Ref) {
			return partial
		}
		return same
	case scalar.Local:
		return d.value(d.in.Statements[e.Ref].Value)
	case scalar.Reduce:
		return d.reduction(e)
	}
	args := make([]variance, len(e.Args))
	for i, a := range e.Args {
		args[i] = d.value(a)
	}
	switch {
	case slices.Contains(args, neither):
		return neither
	case !slices.Contains(args, partial):
		return same
	case d.passes(e, args):
		return partial
	}
	return neither
}

// reduction is of a reduction: the operator itself may be carried out in any order.
func (d *distribution) reduction(e *scalar.Expr) variance {
	body := d.value(e.Args[0])
	if e.IsAt() {
		if d.value(e.Args[1]) != same {
			return neither
		}
		return body // it is zero outside of the loop, and every operator combines zeros to zero
	}
	switch {
	case d.dim >= 0 && slices.Contains(e.Over, d.dim):
		if body != same || e.Monoid != d.by || Rounded(d.by, e.Type) {
			return neither
		}
		return partial
	case body == partial && (e.Monoid != d.by || Rounded(d.by, e.Type)):
		return neither
	}
	return body
}

// passes says whether an operator whose arguments are partial or the same, one at least partial, gives what is partial.
func (d *distribution) passes(e *scalar.Expr, args []variance) bool {
	all := !slices.Contains(args, same)
	switch {
	case e.Op == scalar.Where:
		return args[0] == same && d.either(e.Args[1], args[1]) && d.either(e.Args[2], args[2])
	case e.Op == d.by:
		return all || d.idempotent() || d.either(e.Args[0], args[0]) && d.either(e.Args[1], args[1])
	case e.Op == scalar.Cast:
		return d.widens(e)
	case d.by != scalar.Add:
		return false
	}
	switch e.Op {
	case scalar.Neg, scalar.Conj, scalar.Real, scalar.Imag:
		return true
	case scalar.Sub, scalar.Complex:
		return d.either(e.Args[0], args[0]) && d.either(e.Args[1], args[1])
	case scalar.Mul:
		return !all
	case scalar.Div:
		return args[1] == same && !e.Type.IsInt()
	}
	return false
}

// either says whether an argument is partial or as good: what is the same for all parts, where that combines to itself.
func (d *distribution) either(e *scalar.Expr, s variance) bool {
	return s == partial || d.idempotent() || e.Op == scalar.Const && e.Value.Same(scalar.Identity(d.by, e.Type))
}

// widens says whether a conversion loses nothing, to a type of the same kind.
func (d *distribution) widens(e *scalar.Expr) bool {
	from, to := e.Args[0].Type, e.Type
	if from.IsFloat() && to.IsFloat() {
		return to.Bits() >= from.Bits()
	}
	return d.idempotent() && from.IsInt() && to.IsInt() && from.IsSigned() == to.IsSigned() && to.Bits() >= from.Bits()
}

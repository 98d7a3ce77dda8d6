package bind

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir/scalar"
)

// dimsOf gives the dims that an operand's index string runs along, ascending.
func dimsOf(in *instance.Instance, operand int) []int {
	along := make([]bool, len(in.Dims))
	for _, row := range in.Operands[operand].Access.Projection {
		for j, a := range row {
			along[j] = along[j] || a != 0
		}
	}
	return trueAt(along)
}

func trueAt(list []bool) []int {
	var out []int
	for i, ok := range list {
		if ok {
			out = append(out, i)
		}
	}
	return out
}

// free gives the dims that an expression's value depends on: those of its operands, locals and loop variables, without the
// ones it folds along.
func free(in *instance.Instance, e *scalar.Expr) []int {
	along := make([]bool, len(in.Dims))
	mark := func(dims []int) {
		for _, d := range dims {
			along[d] = true
		}
	}
	switch e.Op {
	case scalar.Load:
		mark(dimsOf(in, e.Ref))
	case scalar.Local:
		mark(in.Statements[e.Ref].Over)
	case scalar.Loop:
		along[e.Ref] = true
	case scalar.Reduce:
		mark(free(in, e.Args[0]))
		for _, d := range e.Over {
			along[d] = false
		}
		if e.IsAt() {
			mark(free(in, e.Args[1]))
		}
		return trueAt(along)
	}
	for _, a := range e.Args {
		mark(free(in, a))
	}
	return trueAt(along)
}

// markIndex finds the index dims: along them every output runs and nothing is folded, and a range of them is a box of every
// output. So of several dims that one coordinate of an output is computed from, only the one with the greatest factor counts.
func markIndex(in *instance.Instance) {
	outputs := 0
	runs := make([]int, len(in.Dims))
	folded := make([]bool, len(in.Dims))
	for _, s := range in.Statements {
		if s.Store >= 0 {
			outputs++
			for _, d := range s.Over {
				runs[d]++
			}
		}
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Reduce {
				for _, d := range e.Over {
					folded[d] = true
				}
			}
			return true
		})
	}
	for i := range in.Dims {
		in.Dims[i].Index = runs[i] == outputs && !folded[i]
	}
	for i := range in.Operands {
		if o := &in.Operands[i]; o.Decl.Out {
			for k, row := range o.Access.Projection {
				markDigits(in, row, o.Sel.Range().Start[k] == o.Sel.Range().End[k])
			}
		}
	}
	for _, s := range in.Statements { // beside a dim of no values, a dim may have no factor
		if s.Store < 0 {
			continue
		}
		for _, d := range s.Over {
			if in.Dims[d].Extent > 1 && !slices.Contains(dimsOf(in, s.Store), d) {
				in.Dims[d].Index = false
			}
		}
	}
}

// markDigits keeps the most significant of the dims that a coordinate is computed from as an index dim; none if the output is
// empty there and it has several.
func markDigits(in *instance.Instance, row []int64, empty bool) {
	first, several := -1, false
	for j, a := range row {
		switch {
		case a == 0:
		case first < 0:
			first = j
		default:
			several = true
			if a > row[first] {
				first = j
			}
		}
	}
	for j, a := range row {
		if a != 0 && several && (j != first || empty) {
			in.Dims[j].Index = false
		}
	}
}

// pick gives the entries of a list at some positions.
func pick[T any](list []T, at []int) []T {
	out := make([]T, len(at))
	for i, j := range at {
		out[i] = list[j]
	}
	return out
}

package bind

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir/scalar"
)

// dropStatements removes the local values that no output needs.
func dropStatements(in *instance.Instance) {
	needed := make([]bool, len(in.Statements))
	for i, s := range slices.Backward(in.Statements) {
		if s.Store >= 0 || needed[i] {
			needed[i] = true
			s.Value.Walk(func(e *scalar.Expr) bool {
				if e.Op == scalar.Local {
					needed[e.Ref] = true
				}
				return true
			})
		}
	}
	number, kept := renumber(needed)
	var out []instance.Statement
	for _, i := range kept {
		s := in.Statements[i]
		s.Value = renamed(s.Value, scalar.Local, number)
		out = append(out, s)
	}
	in.Statements = out
}

// renumber gives the new numbers of what is kept, and the old ones in order.
func renumber(keep []bool) (number, kept []int) {
	number = make([]int, len(keep))
	for i, k := range keep {
		number[i] = len(kept)
		if k {
			kept = append(kept, i)
		}
	}
	return number, kept
}

// renamed gives an expression with new numbers for its leaves of one kind.
func renamed(e *scalar.Expr, leaf scalar.Op, number []int) *scalar.Expr {
	return e.Map(func(e *scalar.Expr) *scalar.Expr {
		switch {
		case e.Op == leaf && number[e.Ref] != e.Ref:
			c := *e
			c.Ref = number[e.Ref]
			return &c
		case leaf == scalar.Loop && e.Op == scalar.Reduce:
			over := make([]int, len(e.Over))
			for i, d := range e.Over {
				over[i] = number[d]
			}
			return e.WithOver(over)
		}
		return e
	})
}

// dropOperands removes the operands that nothing reads but that have a view which something does: the first such view takes
// their place.
func dropOperands(in *instance.Instance) {
	keep := make([]bool, len(in.Operands))
	for _, s := range in.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Load {
				keep[e.Ref] = true
			}
			return true
		})
	}
	for i := range in.Operands {
		o := &in.Operands[i]
		switch {
		case o.View:
		case o.Decl.Out || keep[i]:
			keep[i] = true
		default:
			keep[i] = !replace(in, i, keep)
		}
	}
	sortOperands(in, keep)
}

// replace makes the first view of an operand that is kept an operand of its own right, if there is one.
func replace(in *instance.Instance, operand int, keep []bool) bool {
	o := in.Operands[operand]
	for j := operand + 1; j < len(in.Operands); j++ {
		v := &in.Operands[j]
		if v.View && keep[j] && v.Decl == o.Decl && v.Entry == o.Entry {
			v.View = false
			return true
		}
	}
	return false
}

// sortOperands keeps some operands, in the order of their declarations and selections, views behind what they view.
func sortOperands(in *instance.Instance, keep []bool) {
	var kept []int
	for i, k := range keep {
		if k {
			kept = append(kept, i)
		}
	}
	rank := func(i int) int {
		o := in.Operands[i]
		n := slices.IndexFunc(in.Decl.Operands, func(d declaration.Operand) bool { return d.Name() == o.Decl.Name() })
		if o.Decl.Out {
			n += len(in.Decl.Operands)
		}
		return n
	}
	slices.SortStableFunc(kept, func(i, j int) int {
		if r := rank(i) - rank(j); r != 0 {
			return r
		}
		return in.Operands[i].Entry - in.Operands[j].Entry
	})
	number := make([]int, len(keep))
	var out []instance.Operand
	for _, i := range kept {
		number[i] = len(out)
		out = append(out, in.Operands[i])
	}
	for i := range in.Statements {
		s := &in.Statements[i]
		s.Value = renamed(s.Value, scalar.Load, number)
		if s.Store >= 0 {
			s.Store = number[s.Store]
		}
	}
	in.Operands = out
}

// dropDims removes the dims that nothing runs along: those of operands whose coordinates are computed, and sizes that are no
// loops.
func dropDims(in *instance.Instance) {
	used := make([]bool, len(in.Dims))
	for i := range in.Operands {
		for _, d := range dimsOf(in, i) {
			used[d] = true
		}
	}
	for _, s := range in.Statements {
		for _, d := range s.Over {
			used[d] = true
		}
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Loop {
				used[e.Ref] = true
			}
			if e.Op == scalar.Reduce {
				for _, d := range e.Over {
					used[d] = true
				}
			}
			return true
		})
	}
	number, kept := renumber(used)
	var dims []instance.Dim
	for _, d := range kept {
		dims = append(dims, in.Dims[d])
	}
	in.Dims = dims
	for i := range in.Operands {
		a := &in.Operands[i].Access
		for r, row := range a.Projection {
			a.Projection[r] = pick(row, kept)
		}
	}
	for i := range in.Statements {
		s := &in.Statements[i]
		s.Value = renamed(s.Value, scalar.Loop, number)
		s.Over = mapped(s.Over, number)
	}
}

func mapped(list, number []int) []int {
	out := make([]int, len(list))
	for i, x := range list {
		out[i] = number[x]
	}
	slices.Sort(out)
	return out
}

// checkOutputs makes sure that every cell of every output is computed once.
func checkOutputs(in *instance.Instance) error {
	for i := range in.Operands {
		o := &in.Operands[i]
		if !o.Decl.Out {
			continue
		}
		box, err := in.Reads(i, in.Box())
		if err != nil {
			return err
		}
		points := int64(1)
		for _, d := range dimsOf(in, i) {
			points *= max(1, in.Dims[d].Extent)
		}
		size, err := box.Size()
		if err != nil {
			return err
		}
		if !box.Empty() && (!box.Equal(o.Sel.Range()) || size != points) || box.Empty() != o.Sel.Range().Empty() {
			return infer.Refuse(o.Where(), box.String(), o.Sel.Range().String(), "kernel %s, %s: the output's box is not what the kernel computes", in.Decl.Name, o.Decl.Name())
		}
	}
	return nil
}

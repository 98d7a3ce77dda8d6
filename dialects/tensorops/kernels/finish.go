package kernels

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// finish brings the statements into the form that schedules need, drops what nothing uses, and checks what is written.
func (b *binder) finish() error {
	if err := b.hoistFolds(); err != nil {
		return err
	}
	b.dropStatements()
	b.dropOperands()
	b.dropDims()
	b.markIndex()
	if err := b.costClause(); err != nil {
		return err
	}
	return b.checkOutputs()
}

// costClause evaluates the cost that the declaration gives, if it does.
func (b *binder) costClause() error {
	if b.decl.Cost == "" {
		return nil
	}
	s := &sizeScope{b, 0, false}
	e, err := scalar.Parse(b.decl.Cost, s)
	if err == nil {
		e, err = e.WithType(scalar.Int64)
	}
	if err != nil || s.unknown {
		return refuse("/body", "a number of operations", b.decl.Cost, "kernel %s, cost", b.decl.Name)
	}
	if e = e.Fold(); e.Op == scalar.Const {
		b.in.cost = max(0, e.Value.I)
	}
	return nil
}

// hoistFolds gives every fold along a dim that runs where the fold stands a statement of its own before: its value is the
// same for all of that dim.
func (b *binder) hoistFolds() error {
	old := b.in.Statements
	h := &hoister{binder: b, number: make([]int, len(old))}
	b.in.Statements = nil
	for i, s := range old {
		h.statement = s.Name
		s.Value = s.Value.Map(func(e *scalar.Expr) *scalar.Expr {
			if e.Op == scalar.Local {
				return scalar.NewLocal(h.number[e.Ref], e.Type)
			}
			return e
		})
		value, err := h.value(s.Value, s.Over)
		if err != nil {
			return err
		}
		s.Value = value
		h.number[i] = len(b.in.Statements)
		b.in.Statements = append(b.in.Statements, s)
	}
	return nil
}

type hoister struct {
	*binder
	number    []int  // of the statements that there were
	statement string // that is taken apart
}

// value takes the folds out of an expression that go along dims that run already.
func (h *hoister) value(e *scalar.Expr, runs []int) (*scalar.Expr, error) {
	if e.Op == scalar.Reduce && slices.ContainsFunc(e.Over, func(d int) bool { return slices.Contains(runs, d) }) {
		return h.hoist(e)
	}
	args := slices.Clone(e.Args)
	for i := range args {
		inside := runs
		if e.Op == scalar.Reduce && i == 0 {
			inside = append(slices.Clone(runs), e.Over...)
		}
		var err error
		if args[i], err = h.value(args[i], inside); err != nil {
			return nil, err
		}
	}
	c := *e
	c.Args = args
	return &c, nil
}

func (h *hoister) hoist(e *scalar.Expr) (*scalar.Expr, error) {
	over := h.free(e)
	if slices.ContainsFunc(e.Over, func(d int) bool { return slices.Contains(over, d) }) {
		return nil, refuse("/body", "an index that does not depend on its own dimension", h.in.Dims[e.Over[0]].Name, "kernel %s, %s", h.decl.Name, h.statement)
	}
	for i, s := range h.in.Statements {
		if s.Store < 0 && s.Value.Equal(e) {
			return scalar.NewLocal(i, e.Type), nil
		}
	}
	value, err := h.value(e, over)
	if err != nil {
		return nil, err
	}
	h.in.Statements = append(h.in.Statements, Statement{Name: h.statement + "_fold", Over: over, Store: -1, Value: value})
	return scalar.NewLocal(len(h.in.Statements)-1, e.Type), nil
}

// dropStatements removes the local values that no output needs.
func (b *binder) dropStatements() {
	needed := make([]bool, len(b.in.Statements))
	for i, s := range slices.Backward(b.in.Statements) {
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
	var out []Statement
	for _, i := range kept {
		s := b.in.Statements[i]
		s.Value = renamed(s.Value, scalar.Local, number)
		out = append(out, s)
	}
	b.in.Statements = out
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
func (b *binder) dropOperands() {
	keep := make([]bool, len(b.in.Operands))
	for _, s := range b.in.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Load {
				keep[e.Ref] = true
			}
			return true
		})
	}
	for i := range b.in.Operands {
		o := &b.in.Operands[i]
		switch {
		case o.View:
		case o.Decl.Out || keep[i]:
			keep[i] = true
		default:
			keep[i] = !b.replace(i, keep)
		}
	}
	b.sortOperands(keep)
}

// replace makes the first view of an operand that is kept an operand of its own right, if there is one.
func (b *binder) replace(operand int, keep []bool) bool {
	o := b.in.Operands[operand]
	for j := operand + 1; j < len(b.in.Operands); j++ {
		v := &b.in.Operands[j]
		if v.View && keep[j] && v.Decl == o.Decl && v.Entry == o.Entry {
			v.View = false
			return true
		}
	}
	return false
}

// sortOperands keeps some operands, in the order of their declarations and selections, views behind what they view.
func (b *binder) sortOperands(keep []bool) {
	var kept []int
	for i, k := range keep {
		if k {
			kept = append(kept, i)
		}
	}
	rank := func(i int) int {
		o := b.in.Operands[i]
		n := slices.IndexFunc(b.decl.Operands, func(d declaration.Operand) bool { return d.Name() == o.Decl.Name() })
		if o.Decl.Out {
			n += len(b.decl.Operands)
		}
		return n
	}
	slices.SortStableFunc(kept, func(i, j int) int {
		if r := rank(i) - rank(j); r != 0 {
			return r
		}
		return b.in.Operands[i].Entry - b.in.Operands[j].Entry
	})
	number := make([]int, len(keep))
	var out []Operand
	for _, i := range kept {
		number[i] = len(out)
		out = append(out, b.in.Operands[i])
	}
	for i := range b.in.Statements {
		s := &b.in.Statements[i]
		s.Value = renamed(s.Value, scalar.Load, number)
		if s.Store >= 0 {
			s.Store = number[s.Store]
		}
	}
	b.in.Operands = out
}

// dropDims removes the dims that nothing runs along: those of operands whose coordinates are computed, and sizes that are no
// loops.
func (b *binder) dropDims() {
	used := make([]bool, len(b.in.Dims))
	for i := range b.in.Operands {
		for _, d := range b.dimsOf(i) {
			used[d] = true
		}
	}
	for _, s := range b.in.Statements {
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
	var dims []Dim
	for _, d := range kept {
		dims = append(dims, b.in.Dims[d])
	}
	b.in.Dims = dims
	for i := range b.in.Operands {
		a := &b.in.Operands[i].Access
		for r, row := range a.Projection {
			a.Projection[r] = pickNumbers(row, kept)
		}
	}
	for i := range b.in.Statements {
		s := &b.in.Statements[i]
		s.Value = renamed(s.Value, scalar.Loop, number)
		s.Over = mapped(s.Over, number)
	}
}

func pickNumbers(row []int64, at []int) []int64 {
	out := make([]int64, len(at))
	for i, j := range at {
		out[i] = row[j]
	}
	return out
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
func (b *binder) checkOutputs() error {
	for i := range b.in.Operands {
		o := &b.in.Operands[i]
		if !o.Decl.Out {
			continue
		}
		box, err := b.in.Reads(i, b.in.Box())
		if err != nil {
			return err
		}
		points := int64(1)
		for _, d := range b.dimsOf(i) {
			points *= max(1, b.in.Dims[d].Extent)
		}
		size, err := box.Size()
		if err != nil {
			return err
		}
		if !box.Empty() && (!box.Equal(o.Sel.Range()) || size != points) || box.Empty() != o.Sel.Range().Empty() {
			return refuse(o.where(), box.String(), o.Sel.Range().String(), "kernel %s, %s: the output's box is not what the kernel computes", b.decl.Name, o.Decl.Name())
		}
	}
	return nil
}

// clipTo gives the part of a box inside another; an empty one lies at the other's border.
func clipTo(r, in zspace.Range) zspace.Range {
	out := r.Clone()
	for i := range out.Start {
		out.Start[i] = min(max(out.Start[i], in.Start[i]), in.End[i])
		out.End[i] = max(out.Start[i], min(out.End[i], in.End[i]))
	}
	return out
}

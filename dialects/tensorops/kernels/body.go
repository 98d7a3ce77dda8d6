package kernels

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir/scalar"
)

// bindBody reads the statements with the operands, attributes and types of this call. A statement for an output that the call
// leaves out is not there; one for a variadic output is there once for each selection.
func (b *binder) bindBody() error {
	for _, l := range b.decl.Lets {
		i, isOperand := b.decl.Named(l.Name)
		if !isOperand || !b.decl.Operands[i].Out {
			if err := b.let(l, -1); err != nil {
				return err
			}
			continue
		}
		for j, n := 0, len(b.in.Operands); j < n; j++ {
			if o := &b.in.Operands[j]; o.Decl == &b.decl.Operands[i] {
				b.entry = o.Entry
				if err := b.let(l, j); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// let reads one statement, stored to an operand or not.
func (b *binder) let(l declaration.Let, store int) error {
	e, err := scalar.Parse(l.Text, bodyScope{b, -1})
	if b.missing != nil {
		return b.missing
	}
	if err == nil && store >= 0 {
		e, err = e.WithType(b.in.Operands[store].Type)
	}
	if err != nil {
		return refuse("/body", "a body that is defined for these types", err.Error(), "kernel %s, %s", b.decl.Name, l.Name)
	}
	e = b.settle(e)
	if store < 0 && (e.Type == scalar.Invalid || e.Op == scalar.Const) {
		b.literals[l.Name] = e
		return nil
	}
	name := ""
	e.Walk(func(e *scalar.Expr) bool {
		if e.Op == scalar.Attr {
			name = e.Name
		}
		return true
	})
	if name != "" {
		return refuse("/body/params", quote(name), "no such parameter", "kernel %s misses a parameter", b.decl.Name)
	}
	s := Statement{Name: l.Name, Store: store, Value: e}
	if store >= 0 {
		s.Over = b.storedDims(store)
		for _, dim := range b.free(e) {
			if !slices.Contains(s.Over, dim) {
				return refuse("/body", fmt.Sprintf("a value for each cell of %s, with what else it depends on folded", l.Name),
					"one that depends on "+b.in.Dims[dim].Name, "kernel %s, %s", b.decl.Name, l.Name)
			}
		}
		if b.in.Operands[store].Decl.Variadic {
			s.Name = identifier(eachName(l.Name, b.entry))
		}
	} else {
		s.Over = b.free(e)
	}
	b.in.Statements = append(b.in.Statements, s)
	return nil
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
			if v, ok := b.decided(e.Args[0]); ok {
				return e.Args[2-v]
			}
		case e.Type == scalar.Bool && (e.Op == scalar.And || e.Op == scalar.Or):
			return b.simpler(e)
		case e.Type == scalar.Int64 && e.Op >= scalar.Neg && e.Op < scalar.Cast:
			if s, ok := b.affine(e); ok {
				return s.expr()
			}
		}
		return e
	}).Fold()
}

// simpler drops the side of a conjunction or disjunction that is the same everywhere and decides nothing.
func (b *binder) simpler(e *scalar.Expr) *scalar.Expr {
	if v, ok := b.decided(e); ok {
		return scalar.NewConst(scalar.BoolValue(v != 0))
	}
	for i, a := range e.Args {
		if _, ok := b.decided(a); ok {
			return e.Args[1-i]
		}
	}
	return e
}

// dimsOf gives the dims that an operand's index string runs along, ascending.
func (b *binder) dimsOf(operand int) []int {
	in := make([]bool, len(b.in.Dims))
	for _, row := range b.in.Operands[operand].Access.Projection {
		for j, a := range row {
			in[j] = in[j] || a != 0
		}
	}
	return trueAt(in)
}

// storedDims gives the dims that an output runs along: also those of computed entries that have one value, or none.
func (b *binder) storedDims(operand int) []int {
	in := make([]bool, len(b.in.Dims))
	for _, d := range b.dimsOf(operand) {
		in[d] = true
	}
	for _, x := range b.in.Operands[operand].Decl.Index {
		if x.At == "" {
			continue
		}
		for _, w := range declaration.Words(x.At) {
			if dims, ok := b.dims[w.Name]; ok && !w.Call {
				for _, d := range dims {
					in[d] = true
				}
			}
		}
	}
	return trueAt(in)
}

func trueAt(in []bool) []int {
	var out []int
	for i, ok := range in {
		if ok {
			out = append(out, i)
		}
	}
	return out
}

// free gives the dims that an expression's value depends on: those of its operands, locals and loop variables, without the
// ones it folds along.
func (b *binder) free(e *scalar.Expr) []int {
	in := make([]bool, len(b.in.Dims))
	mark := func(dims []int) {
		for _, d := range dims {
			in[d] = true
		}
	}
	switch e.Op {
	case scalar.Load:
		mark(b.dimsOf(e.Ref))
	case scalar.Local:
		mark(b.in.Statements[e.Ref].Over)
	case scalar.Loop:
		in[e.Ref] = true
	case scalar.Reduce:
		mark(b.free(e.Args[0]))
		for _, d := range e.Over {
			in[d] = false
		}
		if e.IsAt() {
			mark(b.free(e.Args[1]))
		}
		return trueAt(in)
	}
	for _, a := range e.Args {
		mark(b.free(a))
	}
	return trueAt(in)
}

// markIndex finds the index dims: along them every output runs and nothing is folded, and a range of them is a box of every
// output. So of several dims that one coordinate of an output is computed from, only the one with the greatest factor counts.
func (b *binder) markIndex() {
	outputs := 0
	runs := make([]int, len(b.in.Dims))
	folded := make([]bool, len(b.in.Dims))
	for _, s := range b.in.Statements {
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
	for i := range b.in.Dims {
		b.in.Dims[i].Index = runs[i] == outputs && !folded[i]
	}
	for i := range b.in.Operands {
		if o := &b.in.Operands[i]; o.Decl.Out {
			for k, row := range o.Access.Projection {
				b.markDigits(row, o.Sel.Range().Start[k] == o.Sel.Range().End[k])
			}
		}
	}
	for _, s := range b.in.Statements { // beside a dim of no values, a dim may have no factor
		if s.Store < 0 {
			continue
		}
		for _, d := range s.Over {
			if b.in.Dims[d].Extent > 1 && !slices.Contains(b.dimsOf(s.Store), d) {
				b.in.Dims[d].Index = false
			}
		}
	}
}

// markDigits keeps the most significant of the dims that a coordinate is computed from as an index dim; none if the output is
// empty there and it has several.
func (b *binder) markDigits(row []int64, empty bool) {
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
			b.in.Dims[j].Index = false
		}
	}
}

// variadic gives the numbers of the operands that are the selections of a declared one.
func (b *binder) variadic(name string) []int {
	var list []int
	for i, o := range b.in.Operands {
		if !o.View && slices.Contains(o.Decl.Names, name) {
			list = append(list, i)
		}
	}
	return list
}

package bind

import (
	"fmt"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir/scalar"
)

// body reads the statements with the operands, attributes and types of this call. A statement for an output that the call
// leaves out is not there; one for a variadic output is there once for each selection.
func (b *binder) body() error {
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
	e, err := scalar.Parse(l.Text, bodyNames{b, -1})
	if b.missing != nil {
		return b.missing
	}
	if err == nil && store >= 0 {
		e, err = e.WithType(b.in.Operands[store].Type)
	}
	if err != nil {
		return infer.Refuse("/body", "a body that is defined for these types", err.Error(), "kernel %s, %s", b.decl.Name, l.Name)
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
		return infer.Refuse("/body/params", strconv.Quote(name), "no such parameter", "kernel %s misses a parameter", b.decl.Name)
	}
	s := instance.Statement{Name: l.Name, Store: store, Value: e}
	if store >= 0 {
		s.Over = b.storedDims(store)
		for _, dim := range free(b.in, e) {
			if !slices.Contains(s.Over, dim) {
				return infer.Refuse("/body", fmt.Sprintf("a value for each cell of %s, with what else it depends on folded", l.Name),
					"one that depends on "+b.in.Dims[dim].Name, "kernel %s, %s", b.decl.Name, l.Name)
			}
		}
		if b.in.Operands[store].Decl.Variadic {
			s.Name = identifier(infer.EachName(l.Name, b.entry))
		}
	} else {
		s.Over = free(b.in, e)
	}
	b.in.Statements = append(b.in.Statements, s)
	return nil
}

// storedDims gives the dims that an output runs along: also those of computed entries that have one value, or none.
func (b *binder) storedDims(operand int) []int {
	in := make([]bool, len(b.in.Dims))
	for _, d := range dimsOf(b.in, operand) {
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

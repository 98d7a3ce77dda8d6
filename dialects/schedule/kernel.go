package schedule

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

func (l *Loop) fields(f ir.Fields) {
	f.String(ir.Field{Num: 1, Name: "name", Style: ir.Positional}, &l.Name)
	f.Int(ir.Field{Num: 2, Name: "start", Style: ir.Positional}, &l.Start)
	f.Int(ir.Field{Num: 3, Name: "end", Style: ir.Positional}, &l.End)
	f.List(ir.Field{Num: 4, Name: "levels"}, len(l.Levels), func(n int) { l.Levels = make([]Level, n) },
		func(i int, f ir.Fields) {
			ir.Enum(f, ir.Field{Num: 1, Name: "bind", Style: ir.Positional}, bindings, &l.Levels[i].Bind)
			f.Int(ir.Field{Num: 2, Name: "tile", Style: ir.Positional}, &l.Levels[i].Tile)
		})
	f.Ints(ir.Field{Num: 5, Name: "of", Optional: true}, &l.Of)
}

func (o *Operand) fields(f ir.Fields) {
	f.String(ir.Field{Num: 1, Name: "name", Style: ir.Positional}, &o.Name)
	ir.Enum(f, ir.Field{Num: 2, Name: "mode", Style: ir.Positional}, modes, &o.Mode)
	f.String(ir.Field{Num: 3, Name: "dtype", Style: ir.Positional}, &o.DType)
	f.Ref(ir.Field{Num: 4, Name: "buffer", Style: ir.Positional}, &o.Buffer)
	f.Affine(ir.Field{Num: 5, Name: "access", Style: ir.Positional}, &o.Access)
}

// Type is the element type, scalar.Invalid if unknown.
func (o *Operand) Type() scalar.DType {
	d, err := scalar.ParseDType(o.DType)
	if err != nil {
		return scalar.Invalid
	}
	return d
}

// Follows says whether an operand moves along a loop.
func (o *Operand) Follows(loop int) bool {
	return slices.ContainsFunc(o.Access.Projection, func(row []int64) bool { return row[loop] != 0 })
}

func (s *Statement) fields(f ir.Fields, k *Kernel, i int) {
	f.String(ir.Field{Num: 1, Name: "name", Style: ir.Positional}, &s.Name)
	f.Ints(ir.Field{Num: 2, Name: "over", Style: ir.Positional}, &s.Over)
	f.Int(ir.Field{Num: 3, Name: "store", Style: ir.Positional}, &s.Store)
	before := ""
	if s.Value != nil {
		before = s.Value.Format(k)
	}
	text := before
	f.String(ir.Field{Num: 4, Name: "value", Style: ir.Positional}, &text)
	if text == before {
		return
	}
	value, err := k.Parse(i, text)
	if err == nil && value.Type == scalar.Invalid {
		err = fmt.Errorf("%q, whose type is not known; write it as dtype(%s)", text, text)
	}
	if err != nil {
		f.Fail(ir.Field{Name: "value"}, "an expression", err.Error())
		return
	}
	s.Value = value
}

// OperandName gives the name of an operand in expressions.
func (k *Kernel) OperandName(ref int) string {
	return nameAt(len(k.Operands), ref, func() string { return k.Operands[ref].Name })
}

// LocalName gives the name of a statement in expressions.
func (k *Kernel) LocalName(ref int) string {
	return nameAt(len(k.Statements), ref, func() string { return k.Statements[ref].Name })
}

// LoopName gives the name of a loop in expressions.
func (k *Kernel) LoopName(ref int) string {
	return nameAt(len(k.Loops), ref, func() string { return k.Loops[ref].Name })
}

func nameAt(n, ref int, name func() string) string {
	if ref < 0 || ref >= n {
		return fmt.Sprintf("out_of_range_%d", ref)
	}
	return name()
}

// Parse reads the value of statement number at: names are those of operands, loops and statements before it.
func (k *Kernel) Parse(at int, text string) (*scalar.Expr, error) {
	return scalar.Parse(text, scope{k, at})
}

// scope resolves the names in the value of statement number at.
type scope struct {
	k  *Kernel
	at int
}

func (s scope) Lookup(name string) (*scalar.Expr, bool) {
	for i := range s.k.Operands {
		if s.k.Operands[i].Name == name {
			return scalar.NewLoad(i, s.k.Operands[i].Type()), true
		}
	}
	for i := range s.k.Statements[:s.at] {
		if st := &s.k.Statements[i]; st.Name == name && st.Value != nil {
			return scalar.NewLocal(i, st.Value.Type), true
		}
	}
	if axes, ok := s.Axes(name); ok {
		return scalar.NewLoop(axes[0]), true
	}
	return nil, false
}

func (s scope) Axes(name string) ([]int, bool) {
	i := slices.IndexFunc(s.k.Loops, func(l Loop) bool { return l.Name == name })
	return []int{i}, i >= 0
}

// Space is the box that the kernel's loops run over.
func (k *Kernel) Space() zspace.Range {
	r := zspace.Range{Start: make(zspace.Point, len(k.Loops)), End: make(zspace.Point, len(k.Loops))}
	for i, l := range k.Loops {
		r.Start[i], r.End[i] = l.Start, l.End
	}
	return r
}

// Visit calls f for each part of the values of a kernel, with how often it is computed: at all points of its statement and of the reductions that it is
// in. A reduction counts as often as what it reduces.
func (k *Kernel) Visit(f func(e *scalar.Expr, times float64)) {
	var visit func(e *scalar.Expr, times float64)
	visit = func(e *scalar.Expr, times float64) {
		if e.Op == scalar.Reduce && !e.IsAt() {
			for _, l := range e.Over {
				times *= float64(k.Loops[l].Extent())
			}
		}
		f(e, times)
		for _, a := range e.Args {
			visit(a, times)
		}
	}
	for _, s := range k.Statements {
		times := 1.0
		for _, l := range s.Over {
			times *= float64(k.Loops[l].Extent())
		}
		visit(s.Value, times)
	}
}

// Parallel gives the loops that some stored statement runs over: those that no result is folded along.
func (k *Kernel) Parallel() []int {
	in := make([]bool, len(k.Loops))
	for _, s := range k.Statements {
		if s.Store >= 0 {
			for _, l := range s.Over {
				in[l] = true
			}
		}
	}
	var out []int
	for i, p := range in {
		if p {
			out = append(out, i)
		}
	}
	return out
}

// Free gives the loops that every stored result runs along and that nothing is folded along: their order of execution does
// not matter.
func (k *Kernel) Free() []int {
	folded := make([]bool, len(k.Loops))
	for _, s := range k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Reduce {
				for _, l := range e.Over {
					folded[l] = true
				}
			}
			return true
		})
	}
	var out []int
	for l := range k.Loops {
		all := !folded[l]
		for _, s := range k.Statements {
			all = all && (s.Store < 0 || slices.Contains(s.Over, int64(l)))
		}
		if all {
			out = append(out, l)
		}
	}
	return out
}

package kernels

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// bindBody reads the statements with the operands, attributes and types of this call, and finds the dims each runs over.
func (b *binder) bindBody() error {
	for _, l := range b.decl.Lets {
		e, err := scalar.Parse(l.Text, bodyScope{b})
		if b.missing != nil {
			return b.missing
		}
		if err != nil {
			return refuse("/body", "a body that is defined for these types", err.Error(), "kernel %s, %s", b.decl.Name, l.Name)
		}
		e = e.Fold()
		s := Statement{Name: l.Name, Store: b.outputNamed(l.Name), Value: e}
		if s.Store >= 0 {
			if s.Value, err = e.WithType(b.in.Operands[s.Store].Type); err != nil {
				return refuse("/body", "the type of the output", err.Error(), "kernel %s, %s", b.decl.Name, l.Name)
			}
			s.Over = b.dimsOf(s.Store)
		} else {
			s.Over = b.free(e)
		}
		b.in.Statements = append(b.in.Statements, s)
	}
	b.markIndex()
	return nil
}

func (b *binder) outputNamed(name string) int {
	return slices.IndexFunc(b.in.Operands, func(o Operand) bool { return o.Decl.Out && o.Decl.Name() == name })
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
	}
	for _, a := range e.Args {
		mark(b.free(a))
	}
	if e.Op == scalar.Reduce {
		for _, d := range e.Over {
			in[d] = false
		}
	}
	return trueAt(in)
}

// markIndex finds the index dims: along them every output runs and nothing is folded.
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
}

// bodyScope resolves the names in a body for one call.
type bodyScope struct{ *binder }

// Lookup finds an earlier statement, an operand, an attribute or a dimension.
func (s bodyScope) Lookup(name string) (*scalar.Expr, bool) {
	for i, st := range s.in.Statements {
		if st.Name == name {
			return scalar.NewLocal(i, st.Value.Type), true
		}
	}
	if i, ok := s.decl.operand(name); ok {
		return s.load(&s.decl.Operands[i])
	}
	if a, ok := s.decl.attr(name); ok {
		return s.attr(a)
	}
	if dims, ok := s.dims[name]; ok && len(dims) == 1 {
		return scalar.NewLoop(dims[0]), true
	}
	return nil, false
}

// load reads an operand. One that is not given reads as zero: the body asks given() before it uses it, and that branch folds
// away.
func (s bodyScope) load(o *OperandDecl) (*scalar.Expr, bool) {
	i := slices.IndexFunc(s.in.Operands, func(x Operand) bool { return x.Decl == o })
	if i >= 0 {
		return scalar.NewLoad(i, s.in.Operands[i].Type), !o.Variadic
	}
	t, ok := s.types[o.Type]
	if !ok {
		t, _ = scalar.ParseDType(o.Type)
	}
	return scalar.NewConst(scalar.Zero(t)), true
}

func (s bodyScope) attr(a *AttrDecl) (*scalar.Expr, bool) {
	v, given := s.attrs[a.Name]
	switch {
	case a.Type == BoolAttr:
		return scalar.NewConst(scalar.BoolValue(v.Int != 0)), true
	case a.Type != NumberAttr && a.Type != IntAttr:
		return nil, false
	case !given && s.allGiven():
		s.missing = refuse("/body/params", quote(a.Name), "no such parameter", "kernel %s misses a parameter", s.decl.Name)
	}
	f, _ := v.Number()
	return &scalar.Expr{Op: scalar.Const, Value: scalar.Value{F: f}}, true
}

// allGiven says whether every optional operand is there: an attribute without a default is then needed.
func (s bodyScope) allGiven() bool {
	for i := range s.decl.Operands {
		o := &s.decl.Operands[i]
		if o.Optional && !slices.ContainsFunc(s.in.Operands, func(x Operand) bool { return x.Decl == o }) {
			return false
		}
	}
	return true
}

// Axes gives the dims of a dimension, of a group or of an axes attribute.
func (s bodyScope) Axes(name string) ([]int, bool) {
	if a, ok := s.decl.attr(name); ok && a.Type == AxesAttr {
		var dims []int
		for _, i := range s.axes(name) {
			dims = append(dims, s.dims[a.Of][i])
		}
		return dims, true
	}
	dims, ok := s.dims[name]
	return dims, ok
}

// Call resolves given(operand), is(attribute, word) and fold(operator, operand) and convert(operand, like).
func (s bodyScope) Call(name string, args []string) (*scalar.Expr, bool, error) {
	switch {
	case name == "given" && len(args) == 1:
		i, ok := s.decl.operand(args[0])
		if !ok {
			return nil, true, fmt.Errorf("given: unknown operand %q", args[0])
		}
		o := &s.decl.Operands[i]
		found := slices.ContainsFunc(s.in.Operands, func(x Operand) bool { return x.Decl == o })
		return scalar.NewConst(scalar.BoolValue(found)), true, nil
	case name == "is" && len(args) == 2:
		v, ok := s.attrs[args[0]]
		if !ok {
			return nil, true, fmt.Errorf("is: unknown attribute %q", args[0])
		}
		return scalar.NewConst(scalar.BoolValue(v.Kind == ir.AttrString && v.Str == args[1])), true, nil
	case name == "convert" && len(args) == 2:
		e, err := s.convert(args[0], args[1])
		return e, true, err
	case name == "fold" && len(args) == 2:
		e, err := s.fold(args[0], args[1])
		return e, true, err
	}
	return nil, false, nil
}

// convert casts an operand to the type of another.
func (s bodyScope) convert(from, like string) (*scalar.Expr, error) {
	e, ok := s.Lookup(from)
	i, ok2 := s.decl.operand(like)
	if !ok || !ok2 {
		return nil, fmt.Errorf("convert: unknown operand %q or %q", from, like)
	}
	return scalar.NewCast(s.types[s.decl.Operands[i].Type], e), nil
}

// fold joins the selections of a variadic operand, first to last.
func (s bodyScope) fold(op, operand string) (*scalar.Expr, error) {
	var acc *scalar.Expr
	for i, o := range s.in.Operands {
		if !slices.Contains(o.Decl.Names, operand) {
			continue
		}
		e := scalar.NewLoad(i, o.Type)
		if acc == nil {
			acc = e
			continue
		}
		var err error
		if acc, err = scalar.NewNamed(op, acc, e); err != nil {
			return nil, err
		}
	}
	if acc == nil {
		return nil, fmt.Errorf("fold: no selections of %q", operand)
	}
	return acc, nil
}

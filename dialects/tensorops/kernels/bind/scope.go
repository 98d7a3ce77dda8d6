package bind

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// bodyNames resolves the names in a body for one call. at is the number of the dimension that names of groups stand for, or -1
// where they stand for no single one.
type bodyNames struct {
	b  *binder
	at int
}

// Element gives the scope for dimension number i of a group.
func (s bodyNames) Element(group string, i int) scalar.Scope {
	if s.b.decl.IsDim(group) && !s.b.decl.IsGroup(group) {
		return s
	}
	return bodyNames{s.b, i}
}

// TypeNamed finds a type variable.
func (s bodyNames) TypeNamed(name string) (scalar.DType, bool) {
	d, ok := s.b.args.Types[name]
	return d, ok && d != scalar.Invalid
}

// Lookup finds an earlier statement, an operand, an attribute or a dimension.
func (s bodyNames) Lookup(name string) (*scalar.Expr, bool) {
	if e, ok := s.b.literals[name]; ok {
		return e, true
	}
	for i, st := range s.b.in.Statements {
		if st.Name == name && st.Store < 0 {
			return scalar.NewLocal(i, st.Value.Type), true
		}
	}
	if i, ok := s.b.decl.Named(name); ok {
		return s.load(&s.b.decl.Operands[i])
	}
	if a, ok := s.b.decl.Attr(name); ok {
		return s.attr(a)
	}
	if _, ok := s.b.dims[name]; !ok {
		name = infer.EachName(name, s.b.entry)
	}
	dims, ok := s.b.dims[name]
	switch {
	case !ok:
		return nil, false
	case s.b.decl.IsGroup(name):
		if len(dims) == 0 {
			return scalar.Number(0), true
		}
		if s.at < 0 || s.at >= len(dims) {
			return nil, false
		}
		return scalar.NewLoop(dims[s.at]), true
	}
	return scalar.NewLoop(dims[0]), true
}

// load reads an operand. One that is not given reads as zero: the body asks given() before it uses it, and that branch folds
// away.
func (s bodyNames) load(o *declaration.Operand) (*scalar.Expr, bool) {
	i := slices.IndexFunc(s.b.in.Operands, func(x instance.Operand) bool { return x.Decl == o && !x.View })
	if i < 0 {
		t, known := s.b.args.TypeOf(o)
		return scalar.NewConst(scalar.Zero(t)), known
	}
	e, err := s.b.read(i, nil)
	if err != nil && s.b.missing == nil {
		s.b.missing = infer.Refuse(s.b.in.Operands[i].Where(), "coordinates", err.Error(), "kernel %s, %s", s.b.decl.Name, o.Name())
	}
	return e, err == nil && !o.Variadic
}

// attr gives a parameter as a number without a type. One that is not given stays as it is; if the body, as it applies, needs
// it, that is an error.
func (s bodyNames) attr(a *declaration.Attr) (*scalar.Expr, bool) {
	v, given := s.b.args.Params[a.Name]
	list, _ := v.Ints()
	switch {
	case a.Type == declaration.BoolAttr && given:
		return scalar.NewConst(scalar.BoolValue(v.Int != 0)), true
	case a.Type == declaration.IntsAttr && given && s.at >= 0 && s.at < len(list):
		return literal(float64(list[s.at])), true
	case a.Type == declaration.IntsAttr && given && len(list) == 0:
		return literal(0), true
	case a.Type != declaration.NumberAttr && a.Type != declaration.IntAttr && a.Type != declaration.BoolAttr && a.Type != declaration.IntsAttr:
		return nil, false
	case !given:
		return &scalar.Expr{Op: scalar.Attr, Name: a.Name}, true
	case a.Type == declaration.IntsAttr:
		return nil, false
	}
	f, _ := v.Number()
	return literal(f), true
}

// Axes gives the dims of a dimension, of a group or of an axes attribute.
func (s bodyNames) Axes(name string) ([]int, bool) {
	if a, ok := s.b.decl.Attr(name); ok && a.Type == declaration.AxesAttr {
		return pick(s.b.dims[a.Of], s.b.args.Axes(name)), s.b.args.Params[name].Kind == ir.AttrList
	}
	dims, ok := s.b.dims[name]
	return dims, ok
}

// typeOf gives the element type of an operand or the one that a type variable stands for.
func (s bodyNames) typeOf(name string) (scalar.DType, bool) {
	if d, ok := s.b.args.Types[name]; ok {
		return d, true
	}
	if i, ok := s.b.decl.Named(name); ok {
		name = s.b.decl.Operands[i].Type
		if d, ok := s.b.args.Types[name]; ok {
			return d, true
		}
	}
	d, err := scalar.ParseDType(name)
	return d, err == nil
}

// read gives the value of an operand at the present point: at the coordinates that its computed entries say, and fill where
// those lie outside it. A nil fill is the operand's own, or 0.
func (b *binder) read(operand int, fill *scalar.Expr) (*scalar.Expr, error) {
	o := b.in.Operands[operand]
	if fill == nil {
		fill = scalar.NewConst(scalar.Zero(o.Type))
		if o.Decl.Else != "" {
			e, err := scalar.Parse(o.Decl.Else, bodyNames{b, -1})
			if err == nil {
				fill, err = e.WithType(o.Type)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	places, err := b.places(&o)
	if err != nil {
		return nil, err
	}
	return b.readAt(operand, places, fill), nil
}

// places gives the indices of an operand's computed entries.
func (b *binder) places(o *instance.Operand) ([]place, error) {
	var places []place
	if o.Decl.Variadic && !o.Decl.Out {
		defer func(entry int) { b.entry = entry }(b.entry)
		b.entry = o.Entry
	}
	for _, x := range o.Decl.Index {
		if x.At == "" {
			continue
		}
		name := x.Name()
		if x.Each {
			name = infer.EachName(name, o.Entry)
		}
		for i, dim := range b.dims[name] {
			index, err := scalar.Parse(x.At, bodyNames{b, i})
			if err == nil {
				index, err = index.WithType(scalar.Int64)
			}
			if err != nil {
				return nil, err
			}
			places = append(places, place{dim, b.settle(index)})
		}
	}
	return places, nil
}

func literal(f float64) *scalar.Expr {
	return &scalar.Expr{Op: scalar.Const, Value: scalar.Value{F: f}}
}

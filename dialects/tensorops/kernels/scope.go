package kernels

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// bodyScope resolves the names in a body for one call. at is the number of the dimension that names of groups stand for, or -1
// where they stand for no single one.
type bodyScope struct {
	*binder
	at int
}

// Element gives the scope for dimension number i of a group.
func (s bodyScope) Element(group string, i int) scalar.Scope {
	if s.decl.IsDim(group) && !s.decl.IsGroup(group) {
		return s
	}
	return bodyScope{s.binder, i}
}

// TypeNamed finds a type variable.
func (s bodyScope) TypeNamed(name string) (scalar.DType, bool) {
	d, ok := s.types[name]
	return d, ok && d != scalar.Invalid
}

// Lookup finds an earlier statement, an operand, an attribute or a dimension.
func (s bodyScope) Lookup(name string) (*scalar.Expr, bool) {
	if e, ok := s.literals[name]; ok {
		return e, true
	}
	for i, st := range s.in.Statements {
		if st.Name == name && st.Store < 0 {
			return scalar.NewLocal(i, st.Value.Type), true
		}
	}
	if i, ok := s.decl.Named(name); ok {
		return s.load(&s.decl.Operands[i])
	}
	if a, ok := s.decl.Attr(name); ok {
		return s.attr(a)
	}
	if _, ok := s.dims[name]; !ok {
		name = eachName(name, s.entry)
	}
	dims, ok := s.dims[name]
	switch {
	case !ok:
		return nil, false
	case s.decl.IsGroup(name):
		if len(dims) == 0 {
			return number(0), true
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
func (s bodyScope) load(o *declaration.Operand) (*scalar.Expr, bool) {
	i := slices.IndexFunc(s.in.Operands, func(x Operand) bool { return x.Decl == o && !x.View })
	if i < 0 {
		t, ok := s.types[o.Type]
		if !ok {
			t, _ = scalar.ParseDType(o.Type)
		}
		return scalar.NewConst(scalar.Zero(t)), t != scalar.Invalid
	}
	e, err := s.read(i, nil)
	if err != nil && s.missing == nil {
		s.missing = refuse(s.in.Operands[i].where(), "coordinates", err.Error(), "kernel %s, %s", s.decl.Name, o.Name())
	}
	return e, err == nil && !o.Variadic
}

func literal(f float64) *scalar.Expr {
	return &scalar.Expr{Op: scalar.Const, Value: scalar.Value{F: f}}
}

// attr gives a parameter as a number without a type. One that is not given stays as it is; if the body, as it applies, needs
// it, that is an error.
func (s bodyScope) attr(a *declaration.Attr) (*scalar.Expr, bool) {
	v, given := s.attrs[a.Name]
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
func (s bodyScope) Axes(name string) ([]int, bool) {
	if a, ok := s.decl.Attr(name); ok && a.Type == declaration.AxesAttr {
		return pick(s.dims[a.Of], s.axes(name)), s.attrs[name].Kind == ir.AttrList
	}
	dims, ok := s.dims[name]
	return dims, ok
}

// Call resolves the functions of bodies: see ARCHITECTURE of the language in docs/kernels.md.
func (s bodyScope) Call(name string, args []string) (*scalar.Expr, bool, error) {
	f, ok := bodyFunctions[name]
	if !ok {
		return nil, false, nil
	}
	if len(args) != f.args {
		return nil, true, fmt.Errorf("%s takes %d names, not %d", name, f.args, len(args))
	}
	e, err := f.call(s, args)
	return e, true, err
}

// bodyFunctions are the functions whose arguments are names. A table; docs/kernels.md has their meaning.
var bodyFunctions = map[string]struct {
	args int
	call func(s bodyScope, args []string) (*scalar.Expr, error)
}{
	"given":    {1, bodyScope.given},
	"is":       {2, bodyScope.is},
	"fold":     {2, bodyScope.fold},
	"size":     {1, bodyScope.sizeOf},
	"count":    {1, bodyScope.countOf},
	"linear":   {1, bodyScope.linear},
	"stride":   {1, bodyScope.stride},
	"lowest":   {1, func(s bodyScope, args []string) (*scalar.Expr, error) { return s.limit(args[0], scalar.Lowest) }},
	"highest":  {1, func(s bodyScope, args []string) (*scalar.Expr, error) { return s.limit(args[0], scalar.Highest) }},
	"saturate": {2, bodyScope.saturate},
	"offset":   {1, bodyScope.offset},
	"chain":    {1, bodyScope.chain},
	"choose":   {2, bodyScope.choose},
	"inside":   {1, bodyScope.inside},
	"among":    {1, bodyScope.among},
	"width":    {1, bodyScope.width},
	"element":  {0, func(s bodyScope, _ []string) (*scalar.Expr, error) { return literal(float64(max(0, s.at))), nil }},
	"entries": {1, func(s bodyScope, args []string) (*scalar.Expr, error) {
		return literal(float64(len(s.variadic(args[0])))), nil
	}},
}

func (s bodyScope) given(args []string) (*scalar.Expr, error) {
	i, ok := s.decl.Named(args[0])
	if !ok {
		if a, isAttr := s.decl.Attr(args[0]); isAttr {
			_, found := s.attrs[a.Name]
			return scalar.NewConst(scalar.BoolValue(found)), nil
		}
		return nil, fmt.Errorf("given: unknown operand or attribute %q", args[0])
	}
	o := &s.decl.Operands[i]
	found := slices.ContainsFunc(s.in.Operands, func(x Operand) bool { return x.Decl == o })
	return scalar.NewConst(scalar.BoolValue(found)), nil
}

func (s bodyScope) is(args []string) (*scalar.Expr, error) {
	v, ok := s.attrs[args[0]]
	if !ok {
		return nil, fmt.Errorf("is: no attribute %q", args[0])
	}
	return scalar.NewConst(scalar.BoolValue(v.Kind == ir.AttrString && v.Str == args[1])), nil
}

// typeOf gives the element type of an operand or the one that a type variable stands for.
func (s bodyScope) typeOf(name string) (scalar.DType, bool) {
	if d, ok := s.types[name]; ok {
		return d, true
	}
	if i, ok := s.decl.Named(name); ok {
		name = s.decl.Operands[i].Type
		if d, ok := s.types[name]; ok {
			return d, true
		}
	}
	d, err := scalar.ParseDType(name)
	return d, err == nil
}

// fold joins the selections of a variadic operand, first to last.
func (s bodyScope) fold(args []string) (*scalar.Expr, error) {
	var acc *scalar.Expr
	for _, i := range s.variadic(args[1]) {
		e, err := s.read(i, nil)
		if err != nil {
			return nil, err
		}
		if acc == nil {
			acc = e
		} else if acc, err = scalar.NewNamed(args[0], acc, e); err != nil {
			return nil, err
		}
	}
	if acc == nil {
		return nil, fmt.Errorf("fold: no selections of %q", args[1])
	}
	return acc, nil
}

// chain gives the value of the first selection of a variadic operand that has the coordinates, which lie in none of the others.
func (s bodyScope) chain(args []string) (*scalar.Expr, error) {
	var acc *scalar.Expr
	for _, i := range slices.Backward(s.variadic(args[0])) {
		e, err := s.read(i, acc)
		if err != nil {
			return nil, err
		}
		acc = e
	}
	if acc == nil {
		return nil, fmt.Errorf("chain: no selections of %q", args[0])
	}
	return acc, nil
}

// choose gives the value of the selection of a variadic operand whose number a dimension has.
func (s bodyScope) choose(args []string) (*scalar.Expr, error) {
	dim, ok := s.dims[args[1]]
	list := s.variadic(args[0])
	if !ok || len(dim) != 1 || len(list) == 0 {
		return nil, fmt.Errorf("choose: expected a variadic operand and a dimension, found %q and %q", args[0], args[1])
	}
	var acc *scalar.Expr
	for n, i := range slices.Backward(list) {
		e, err := s.read(i, nil)
		if err != nil {
			return nil, err
		}
		if acc == nil {
			acc = e
		} else {
			acc = must(scalar.Where, must(scalar.Lt, scalar.NewLoop(dim[0]), number(int64(n)+1)), e, acc)
		}
	}
	return acc, nil
}

// inside says whether the coordinates at which an operand is read lie inside it.
func (s bodyScope) inside(args []string) (*scalar.Expr, error) {
	list := s.variadic(args[0])
	if len(list) == 0 {
		return nil, fmt.Errorf("inside: unknown operand %q", args[0])
	}
	places, err := s.places(&s.in.Operands[list[0]])
	if err != nil {
		return nil, err
	}
	all := scalar.NewConst(scalar.BoolValue(true))
	for _, p := range places {
		for _, g := range (*binder).inside(s.binder, p.index, s.in.Dims[p.dim].Extent) {
			all = must(scalar.And, all, g)
		}
	}
	return s.settle(all), nil
}

// among says whether the present dimension is one that an axes attribute lists.
func (s bodyScope) among(args []string) (*scalar.Expr, error) {
	a, ok := s.decl.Attr(args[0])
	if !ok || a.Type != declaration.AxesAttr || s.at < 0 {
		return nil, fmt.Errorf("among: expected an axes attribute, in an expression for each dimension, found %q", args[0])
	}
	return scalar.NewConst(scalar.BoolValue(slices.Contains(s.axes(args[0]), s.at))), nil
}

func (s bodyScope) width(args []string) (*scalar.Expr, error) {
	d, ok := s.typeOf(args[0])
	if !ok {
		return nil, fmt.Errorf("width: unknown type %q", args[0])
	}
	return literal(float64(d.Bits())), nil
}

func (s bodyScope) sizeOf(args []string) (*scalar.Expr, error) {
	list, ok := s.sizes[args[0]]
	if !ok {
		list, ok = s.sizes[eachName(args[0], s.entry)]
	}
	switch {
	case !ok:
		return nil, fmt.Errorf("size: unknown dimension %q", args[0])
	case len(list) == 0:
		return literal(1), nil
	case !s.decl.IsGroup(args[0]):
		return literal(float64(list[0])), nil
	case s.at < 0 || s.at >= len(list):
		return nil, fmt.Errorf("size: %s is a group; use count", args[0])
	}
	return literal(float64(list[s.at])), nil
}

func (s bodyScope) countOf(args []string) (*scalar.Expr, error) {
	n, known, err := s.count(args[0])
	if err == nil && !known {
		err = fmt.Errorf("count: unknown dimension %q", args[0])
	}
	return literal(float64(n)), err
}

// linear is the row-major number of the present point of a group.
func (s bodyScope) linear(args []string) (*scalar.Expr, error) {
	dims, ok := s.Axes(args[0])
	if !ok {
		return nil, fmt.Errorf("linear: unknown dimension %q", args[0])
	}
	e := number(0)
	stride := int64(1)
	for _, d := range slices.Backward(dims) {
		e = must(scalar.Add, must(scalar.Mul, scalar.NewLoop(d), number(stride)), e)
		stride *= max(1, s.in.Dims[d].Extent)
	}
	return e, nil
}

// stride is how far apart in row-major order two neighbours along the present dimension of a group are.
func (s bodyScope) stride(args []string) (*scalar.Expr, error) {
	list, ok := s.sizes[args[0]]
	if !ok {
		return nil, fmt.Errorf("stride: unknown dimension %q", args[0])
	}
	n := 1.0
	for _, x := range list[min(len(list), max(0, s.at+1)):] {
		n *= float64(max(1, x))
	}
	return literal(n), nil
}

func (s bodyScope) limit(name string, of func(scalar.DType) scalar.Value) (*scalar.Expr, error) {
	d, ok := s.typeOf(name)
	if !ok {
		return nil, fmt.Errorf("unknown type %q", name)
	}
	return scalar.NewConst(of(d)), nil
}

// offset is where the present selection of a variadic operand begins along its own dimension, behind those before it.
func (s bodyScope) offset(args []string) (*scalar.Expr, error) {
	n := int64(0)
	for i := range s.entry {
		list, ok := s.sizes[eachName(args[0], i)]
		if !ok {
			return nil, fmt.Errorf("offset: unknown dimension %q", args[0])
		}
		n += list[0]
	}
	return literal(float64(n)), nil
}

// saturate converts a value to a type: what the type does not hold becomes the nearest finite value that it does. NaN stays NaN,
// and becomes 0 in an integer.
func (s bodyScope) saturate(args []string) (*scalar.Expr, error) {
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
	return must(scalar.Max, must(scalar.Min, e, scalar.NewConst(hi)), scalar.NewConst(lo))
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

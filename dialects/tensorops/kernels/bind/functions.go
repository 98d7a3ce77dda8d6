package bind

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Call resolves the functions of bodies: see ARCHITECTURE of the language in docs/kernels.md.
func (s bodyNames) Call(name string, args []string) (*scalar.Expr, bool, error) {
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
	call func(s bodyNames, args []string) (*scalar.Expr, error)
}{
	"given":    {1, bodyNames.given},
	"is":       {2, bodyNames.is},
	"fold":     {2, bodyNames.fold},
	"size":     {1, bodyNames.sizeOf},
	"count":    {1, bodyNames.countOf},
	"linear":   {1, bodyNames.linear},
	"stride":   {1, bodyNames.stride},
	"lowest":   {1, func(s bodyNames, args []string) (*scalar.Expr, error) { return s.limit(args[0], scalar.Lowest) }},
	"highest":  {1, func(s bodyNames, args []string) (*scalar.Expr, error) { return s.limit(args[0], scalar.Highest) }},
	"saturate": {2, bodyNames.saturate},
	"offset":   {1, bodyNames.offset},
	"chain":    {1, bodyNames.chain},
	"choose":   {2, bodyNames.choose},
	"inside":   {1, bodyNames.inside},
	"among":    {1, bodyNames.among},
	"width":    {1, bodyNames.width},
	"element":  {0, func(s bodyNames, _ []string) (*scalar.Expr, error) { return literal(float64(max(0, s.at))), nil }},
	"entries": {1, func(s bodyNames, args []string) (*scalar.Expr, error) {
		return literal(float64(len(s.b.args.Selections(args[0])))), nil
	}},
}

func (s bodyNames) given(args []string) (*scalar.Expr, error) {
	i, ok := s.b.decl.Named(args[0])
	if !ok {
		if a, isAttr := s.b.decl.Attr(args[0]); isAttr {
			_, found := s.b.args.Params[a.Name]
			return scalar.NewConst(scalar.BoolValue(found)), nil
		}
		return nil, fmt.Errorf("given: unknown operand or attribute %q", args[0])
	}
	o := &s.b.decl.Operands[i]
	found := slices.ContainsFunc(s.b.in.Operands, func(x instance.Operand) bool { return x.Decl == o })
	return scalar.NewConst(scalar.BoolValue(found)), nil
}

func (s bodyNames) is(args []string) (*scalar.Expr, error) {
	v, ok := s.b.args.Params[args[0]]
	if !ok {
		return nil, fmt.Errorf("is: no attribute %q", args[0])
	}
	return scalar.NewConst(scalar.BoolValue(v.Kind == ir.AttrString && v.Str == args[1])), nil
}

// fold joins the selections of a variadic operand, first to last.
func (s bodyNames) fold(args []string) (*scalar.Expr, error) {
	var acc *scalar.Expr
	for _, i := range s.b.args.Selections(args[1]) {
		e, err := s.b.read(i, nil)
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
func (s bodyNames) chain(args []string) (*scalar.Expr, error) {
	var acc *scalar.Expr
	for _, i := range slices.Backward(s.b.args.Selections(args[0])) {
		e, err := s.b.read(i, acc)
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
func (s bodyNames) choose(args []string) (*scalar.Expr, error) {
	dim, ok := s.b.dims[args[1]]
	list := s.b.args.Selections(args[0])
	if !ok || len(dim) != 1 || len(list) == 0 {
		return nil, fmt.Errorf("choose: expected a variadic operand and a dimension, found %q and %q", args[0], args[1])
	}
	var acc *scalar.Expr
	for n, i := range slices.Backward(list) {
		e, err := s.b.read(i, nil)
		if err != nil {
			return nil, err
		}
		if acc == nil {
			acc = e
		} else {
			acc = scalar.Must(scalar.Where, scalar.Must(scalar.Lt, scalar.NewLoop(dim[0]), scalar.Number(int64(n)+1)), e, acc)
		}
	}
	return acc, nil
}

// inside says whether the coordinates at which an operand is read lie inside it.
func (s bodyNames) inside(args []string) (*scalar.Expr, error) {
	list := s.b.args.Selections(args[0])
	if len(list) == 0 {
		return nil, fmt.Errorf("inside: unknown operand %q", args[0])
	}
	places, err := s.b.places(&s.b.in.Operands[list[0]])
	if err != nil {
		return nil, err
	}
	all := scalar.NewConst(scalar.BoolValue(true))
	for _, p := range places {
		for _, g := range s.b.inside(p.index, s.b.in.Dims[p.dim].Extent) {
			all = scalar.Must(scalar.And, all, g)
		}
	}
	return s.b.settle(all), nil
}

// among says whether the present dimension is one that an axes attribute lists.
func (s bodyNames) among(args []string) (*scalar.Expr, error) {
	a, ok := s.b.decl.Attr(args[0])
	if !ok || a.Type != declaration.AxesAttr || s.at < 0 {
		return nil, fmt.Errorf("among: expected an axes attribute, in an expression for each dimension, found %q", args[0])
	}
	return scalar.NewConst(scalar.BoolValue(slices.Contains(s.b.args.Axes(args[0]), s.at))), nil
}

func (s bodyNames) width(args []string) (*scalar.Expr, error) {
	d, ok := s.typeOf(args[0])
	if !ok {
		return nil, fmt.Errorf("width: unknown type %q", args[0])
	}
	return literal(float64(d.Bits())), nil
}

func (s bodyNames) sizeOf(args []string) (*scalar.Expr, error) {
	list, ok := s.b.sizes.Of[args[0]]
	if !ok {
		list, ok = s.b.sizes.Of[infer.EachName(args[0], s.b.entry)]
	}
	switch {
	case !ok:
		return nil, fmt.Errorf("size: unknown dimension %q", args[0])
	case len(list) == 0:
		return literal(1), nil
	case !s.b.decl.IsGroup(args[0]):
		return literal(float64(list[0])), nil
	case s.at < 0 || s.at >= len(list):
		return nil, fmt.Errorf("size: %s is a group; use count", args[0])
	}
	return literal(float64(list[s.at])), nil
}

func (s bodyNames) countOf(args []string) (*scalar.Expr, error) {
	n, known, err := s.b.sizes.Count(args[0])
	if err == nil && !known {
		err = fmt.Errorf("count: unknown dimension %q", args[0])
	}
	return literal(float64(n)), err
}

// linear is the row-major number of the present point of a group.
func (s bodyNames) linear(args []string) (*scalar.Expr, error) {
	dims, ok := s.Axes(args[0])
	if !ok {
		return nil, fmt.Errorf("linear: unknown dimension %q", args[0])
	}
	e := scalar.Number(0)
	stride := int64(1)
	for _, d := range slices.Backward(dims) {
		e = scalar.Must(scalar.Add, scalar.Must(scalar.Mul, scalar.NewLoop(d), scalar.Number(stride)), e)
		stride *= max(1, s.b.in.Dims[d].Extent)
	}
	return e, nil
}

// stride is how far apart in row-major order two neighbours along the present dimension of a group are.
func (s bodyNames) stride(args []string) (*scalar.Expr, error) {
	list, ok := s.b.sizes.Of[args[0]]
	if !ok {
		return nil, fmt.Errorf("stride: unknown dimension %q", args[0])
	}
	n := 1.0
	for _, x := range list[min(len(list), max(0, s.at+1)):] {
		n *= float64(max(1, x))
	}
	return literal(n), nil
}

func (s bodyNames) limit(name string, of func(scalar.DType) scalar.Value) (*scalar.Expr, error) {
	d, ok := s.typeOf(name)
	if !ok {
		return nil, fmt.Errorf("unknown type %q", name)
	}
	return scalar.NewConst(of(d)), nil
}

// offset is where the present selection of a variadic operand begins along its own dimension, behind those before it.
func (s bodyNames) offset(args []string) (*scalar.Expr, error) {
	n := int64(0)
	for i := range s.b.entry {
		list, ok := s.b.sizes.Of[infer.EachName(args[0], i)]
		if !ok {
			return nil, fmt.Errorf("offset: unknown dimension %q", args[0])
		}
		n += list[0]
	}
	return literal(float64(n)), nil
}

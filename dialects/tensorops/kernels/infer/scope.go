package infer

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir/scalar"
)

// Evaluate reads an expression of sizes and parameters, for dimension number at of the groups in it; known is false if it needs one that is
// not known. The expression's type is what the text says.
func (z *Sizes) Evaluate(text string, at int) (e *scalar.Expr, known bool, err error) {
	s := &sizeNames{z, at, false}
	e, err = scalar.Parse(text, s)
	return e, !s.unknown, err
}

// sizeNames resolves the names in a size clause, for dimension number at of its group.
type sizeNames struct {
	z       *Sizes
	at      int
	unknown bool
}

// Lookup gives sizes and parameters.
func (s *sizeNames) Lookup(name string) (*scalar.Expr, bool) {
	if a, ok := s.z.args.Kernel.Attr(name); ok {
		return s.attr(a)
	}
	n, ok := s.size(name)
	return scalar.Number(n), ok
}

func (s *sizeNames) attr(a *declaration.Attr) (*scalar.Expr, bool) {
	v, given := s.z.args.Params[a.Name]
	list, isList := v.Ints()
	switch {
	case !given:
		s.unknown = true
	case a.Type == declaration.BoolAttr:
		return scalar.NewConst(scalar.BoolValue(v.Int != 0)), true
	case a.Type == declaration.NumberAttr:
		f, _ := v.Number()
		return scalar.NewConst(scalar.FloatValue(scalar.Float64, f)), true
	case isList && s.at < len(list):
		return scalar.Number(list[s.at]), true
	case a.Type != declaration.IntAttr && a.Type != declaration.AxisAttr:
		return nil, false
	}
	return scalar.Number(v.Int), true
}

func (s *sizeNames) size(name string) (int64, bool) {
	list, ok := s.z.Of[name]
	switch {
	case !s.z.args.Kernel.IsDim(name):
		return 0, false
	case !ok:
		s.unknown = true
		return 1, true
	case len(list) == 0:
		return 1, true
	}
	return list[min(s.at, len(list)-1)], true
}

// Axes gives nothing: sizes do not fold.
func (s *sizeNames) Axes(string) ([]int, bool) { return nil, false }

// Call resolves size(NAME), count(NAME), total(NAME) over the own dimensions of a variadic operand, and is(ATTR, WORD).
func (s *sizeNames) Call(name string, args []string) (*scalar.Expr, bool, error) {
	switch {
	case name == "is" && len(args) == 2:
		return scalar.NewConst(scalar.BoolValue(s.z.args.Params[args[0]].Str == args[1])), true, nil
	case name == "size" && len(args) == 1:
		n, ok := s.size(args[0])
		if !ok {
			return nil, true, fmt.Errorf("size: unknown dimension %q", args[0])
		}
		return scalar.Number(n), true, nil
	case name == "count" && len(args) == 1:
		n, known, err := s.z.Count(args[0])
		s.unknown = s.unknown || !known
		return scalar.Number(n), true, err
	case name == "entries" && len(args) == 1:
		return scalar.Number(int64(len(s.z.args.Selections(args[0])))), true, nil
	case name == "given" && len(args) == 1:
		_, ok := s.z.args.Params[args[0]]
		return scalar.NewConst(scalar.BoolValue(ok || len(s.z.args.Selections(args[0])) > 0)), true, nil
	case name == "total" && len(args) == 1:
		n := int64(0)
		for i := 0; ; i++ {
			list, ok := s.z.Of[EachName(args[0], i)]
			if !ok {
				s.unknown = s.unknown || i == 0
				return scalar.Number(n), true, nil
			}
			n += list[0]
		}
	}
	return nil, false, nil
}

package kernels

import (
	"fmt"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// bindAttrs checks the call's parameters against the declared attributes and fills in defaults. Lists of dimensions stay as
// they are until the ranks are known.
func (b *binder) bindAttrs(params ir.Attrs) error {
	for _, p := range params {
		if !b.isAttr(p.Name) {
			return refuse("/body/params/"+p.Name, b.decl.attrNames(), quote(p.Name), "kernel %s has no such parameter", b.decl.Name)
		}
	}
	for i := range b.decl.Attrs {
		a := &b.decl.Attrs[i]
		v, given := params.Get(a.Name)
		switch {
		case given:
		case !a.HasDefault:
			continue
		case b.isAttr(a.Default):
			if v, given = b.attrs[a.Default]; !given {
				continue
			}
		default:
			v = a.fallback()
		}
		v, err := b.rawAttr(a, v)
		if err != nil {
			return err
		}
		b.attrs[a.Name] = v
		if a.Type == DTypeAttr {
			if err := b.dtypeAttr(a, v, given); err != nil {
				return err
			}
		}
	}
	return nil
}

// dtypeAttr binds a type variable to the dtype that an attribute names; a default gives way to a type that is bound already.
func (b *binder) dtypeAttr(a *AttrDecl, v ir.AttrValue, given bool) error {
	d, _ := scalar.ParseDType(v.Str)
	tv, _ := b.decl.typeVar(a.Of)
	bound, ok := b.types[a.Of]
	switch {
	case ok && given && bound != d:
		return refuse("/body/params/"+a.Name, bound.String(), d.String(), "kernel %s, parameter %s: dtypes differ", b.decl.Name, a.Name)
	case ok:
		return nil
	case !tv.Allows(d):
		return refuse("/body/params/"+a.Name, "a dtype that is "+tv.Class, d.String(), "kernel %s, parameter %s: wrong dtype", b.decl.Name, a.Name)
	}
	b.types[a.Of] = d
	return nil
}

func (d *Decl) attrNames() string {
	if len(d.Attrs) == 0 {
		return "no parameters"
	}
	text := ""
	for i, a := range d.Attrs {
		if i > 0 {
			text += ", "
		}
		text += quote(a.Name)
	}
	return text
}

// fallback is the default as a parameter value; the word "all" stands for itself until the rank is known.
func (a *AttrDecl) fallback() ir.AttrValue {
	switch a.Type {
	case BoolAttr:
		if a.Default == "true" || a.Default == "false" {
			return ir.BoolAttr(a.Default == "true")
		}
	case IntAttr, NumberAttr, IntsAttr, AxisAttr, AxesAttr:
		if n, err := strconv.ParseInt(a.Default, 10, 64); err == nil {
			return ir.IntAttr(n)
		}
		if f, err := strconv.ParseFloat(a.Default, 64); err == nil {
			return ir.FloatAttr(f)
		}
	}
	return ir.StringAttr(a.Default)
}

// rawAttr checks the kind of a parameter's value, and the limits and words, without knowing any rank.
func (b *binder) rawAttr(a *AttrDecl, v ir.AttrValue) (ir.AttrValue, error) {
	expected, ok := "", true
	switch a.Type {
	case NumberAttr:
		f, isNumber := v.Number()
		expected, ok = "a number"+a.limitsText(), isNumber && a.within(f)
	case IntAttr, AxisAttr:
		expected, ok = "an integer"+a.limitsText(), v.Kind == ir.AttrInt && a.within(float64(v.Int))
	case BoolAttr:
		expected, ok = "true or false", v.Kind == ir.AttrBool
	case WordAttr:
		expected, ok = fmt.Sprintf("one of %q", a.Words), v.Kind == ir.AttrString && slices.Contains(a.Words, v.Str)
	case TextAttr:
		expected, ok = "a text", v.Kind == ir.AttrString
	case DTypeAttr:
		_, err := scalar.ParseDType(v.Str)
		expected, ok = "a dtype", v.Kind == ir.AttrString && err == nil
	case IntsAttr:
		expected, ok = "an integer or a list of integers"+a.limitsText(), a.intsWithin(v)
	case AxesAttr:
		_, isList := v.Ints()
		expected, ok = "a list of dimensions", isList || v.Kind == ir.AttrInt || v.Kind == ir.AttrString && v.Str == "all"
	case PermAttr:
		_, isList := v.Ints()
		expected, ok = "a list of dimensions", isList || v.Kind == ir.AttrString && v.Str == "reversed"
	}
	if ok {
		return v, nil
	}
	return v, refuse("/body/params/"+a.Name, expected, describe(v), "kernel %s, parameter %s", b.decl.Name, a.Name)
}

func (a *AttrDecl) limitsText() string {
	switch {
	case a.Least != nil && a.Most != nil:
		return fmt.Sprintf(" from %d to %d", *a.Least, *a.Most)
	case a.Least != nil:
		return fmt.Sprintf(" of at least %d", *a.Least)
	case a.Most != nil:
		return fmt.Sprintf(" of at most %d", *a.Most)
	}
	return ""
}

func (a *AttrDecl) within(f float64) bool {
	return (a.Least == nil || f >= float64(*a.Least)) && (a.Most == nil || f <= float64(*a.Most))
}

func (a *AttrDecl) intsWithin(v ir.AttrValue) bool {
	list, ok := v.Ints()
	if v.Kind == ir.AttrInt {
		list, ok = []int64{v.Int}, true
	}
	return ok && !slices.ContainsFunc(list, func(i int64) bool { return !a.within(float64(i)) })
}

// placeAttrs turns lists of dimensions into positions from 0, now that the ranks are known: ascending for axes, all of them
// for a perm, one number for each dimension for ints.
func (b *binder) placeAttrs() error {
	for i := range b.decl.Attrs {
		a := &b.decl.Attrs[i]
		v, given := b.attrs[a.Name]
		if !given || a.Type != AxesAttr && a.Type != PermAttr && a.Type != IntsAttr || a.Of == "" {
			continue
		}
		rank, ok := b.ranks[a.Of]
		if !ok {
			return refuse("/body/params/"+a.Name, "an operand with *"+a.Of, describe(v), "kernel %s, parameter %s", b.decl.Name, a.Name)
		}
		list, ok := positions(a, v, rank)
		if !ok {
			return refuse("/body/params/"+a.Name, fmt.Sprintf("%s of a rank of %d", a.Type, rank), describe(v), "kernel %s, parameter %s", b.decl.Name, a.Name)
		}
		b.attrs[a.Name] = ir.IntsAttr(list...)
	}
	return nil
}

// positions reads a list of a rank: for axes and perms different positions, negative ones counted from the end.
func positions(a *AttrDecl, v ir.AttrValue, rank int) ([]int64, bool) {
	list, ok := v.Ints()
	switch {
	case v.Kind == ir.AttrString:
		return every(rank, a.Type == PermAttr), true
	case v.Kind == ir.AttrInt && a.Type == IntsAttr:
		return slices.Repeat([]int64{v.Int}, rank), true
	case v.Kind == ir.AttrInt:
		list = []int64{v.Int}
	case !ok || a.Type == IntsAttr:
		return list, ok && len(list) == rank
	}
	list = slices.Clone(list)
	seen := make([]bool, rank)
	for i, x := range list {
		if x < 0 {
			x += int64(rank)
		}
		if x < 0 || x >= int64(rank) || seen[x] {
			return nil, false
		}
		seen[x] = true
		list[i] = x
	}
	if a.Type == AxesAttr {
		slices.Sort(list)
	}
	return list, a.Type == AxesAttr || len(list) == rank
}

// every gives all positions of a rank, from the last to the first if reversed.
func every(rank int, reversed bool) []int64 {
	list := make([]int64, rank)
	for i := range list {
		list[i] = int64(i)
	}
	if reversed {
		slices.Reverse(list)
	}
	return list
}

// describe gives a parameter value for messages.
func describe(v ir.AttrValue) string {
	switch v.Kind {
	case ir.AttrInt:
		return strconv.FormatInt(v.Int, 10)
	case ir.AttrFloat:
		return strconv.FormatFloat(v.Num, 'g', -1, 64)
	case ir.AttrString:
		return quote(v.Str)
	case ir.AttrBool:
		return strconv.FormatBool(v.Int != 0)
	case ir.AttrList:
		if ints, ok := v.Ints(); ok && len(ints) < 20 {
			return fmt.Sprint(ints)
		}
	}
	return "a " + v.Kind.String()
}

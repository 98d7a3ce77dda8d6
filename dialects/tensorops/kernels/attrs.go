package kernels

import (
	"fmt"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/ir"
)

// bindAttrs checks the call's parameters against the declared attributes and fills in defaults. Axes become positions from
// 0, which needs the rank of their group; that is known from the first operand that uses the group.
func (b *binder) bindAttrs(params ir.Attrs) error {
	for _, p := range params {
		if !b.isAttr(p.Name) {
			return refuse("/body/params/"+p.Name, b.decl.attrNames(), quote(p.Name), "kernel %s has no such parameter", b.decl.Name)
		}
	}
	for i := range b.decl.Attrs {
		a := &b.decl.Attrs[i]
		v, given := params.Get(a.Name)
		if !given {
			if !a.HasDefault {
				continue
			}
			v = a.fallback()
		}
		v, err := b.attrValue(a, v)
		if err != nil {
			return err
		}
		b.attrs[a.Name] = v
	}
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
		return ir.BoolAttr(a.Default == "true")
	case IntAttr, NumberAttr:
		if n, err := strconv.ParseInt(a.Default, 10, 64); err == nil {
			return ir.IntAttr(n)
		}
		f, _ := strconv.ParseFloat(a.Default, 64)
		return ir.FloatAttr(f)
	}
	return ir.StringAttr(a.Default)
}

func (b *binder) attrValue(a *AttrDecl, v ir.AttrValue) (ir.AttrValue, error) {
	field := "/body/params/" + a.Name
	wrong := func(expected string) (ir.AttrValue, error) {
		return v, refuse(field, expected, describe(v), "kernel %s, parameter %s", b.decl.Name, a.Name)
	}
	switch a.Type {
	case NumberAttr:
		if _, ok := v.Number(); !ok {
			return wrong("a number")
		}
	case IntAttr:
		if v.Kind != ir.AttrInt {
			return wrong("an integer")
		}
	case BoolAttr:
		if v.Kind != ir.AttrBool {
			return wrong("true or false")
		}
	case WordAttr:
		if v.Kind != ir.AttrString || !slices.Contains(a.Words, v.Str) {
			return wrong(fmt.Sprintf("one of %q", a.Words))
		}
	case AxesAttr, PermAttr:
		rank, ok := b.groupRank(a.Of)
		if !ok {
			return wrong("an operand with *" + a.Of)
		}
		if list, ok := positions(a, v, rank); ok {
			return ir.IntsAttr(list...), nil
		}
		return wrong(fmt.Sprintf("%s of a rank of %d", a.Type, rank))
	}
	return v, nil
}

// groupRank finds the rank of a group from an operand that uses it as it is.
func (b *binder) groupRank(group string) (int, bool) {
	for i := range b.in.Operands {
		o := &b.in.Operands[i]
		for j, x := range o.Decl.Index {
			if x.Group != group || x.Use != Plain {
				continue
			}
			if widths, err := b.split(o); err == nil {
				return widths[j], true
			}
		}
	}
	return 0, false
}

// positions reads an axes or perm value: different positions below rank, negative ones counted from the end; a perm has all
// of them, axes come out ascending.
func positions(a *AttrDecl, v ir.AttrValue, rank int) ([]int64, bool) {
	list, ok := v.Ints()
	switch {
	case v.Kind == ir.AttrString && v.Str == "all":
		list = make([]int64, rank)
		for i := range list {
			list[i] = int64(i)
		}
	case v.Kind == ir.AttrInt && a.Type == AxesAttr:
		list = []int64{v.Int}
	case !ok:
		return nil, false
	}
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

package kernels

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// bindAttrs checks the call's parameters against the declared attributes and fills in defaults. Lists of dimensions stay as
// they are until the ranks are known.
func (b *binder) bindAttrs(params ir.Attrs) error {
	for _, p := range params {
		if !b.isAttr(p.Name) {
			return refuse("/body/params/"+p.Name, attrNames(b.decl), quote(p.Name), "kernel %s has no such parameter", b.decl.Name)
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
			v = a.Fallback()
		}
		if expected, ok := a.Accepts(v); !ok {
			return refuse("/body/params/"+a.Name, expected, declaration.ValueText(v), "kernel %s, parameter %s", b.decl.Name, a.Name)
		}
		b.attrs[a.Name] = v
		if a.Type == declaration.DTypeAttr {
			if err := b.dtypeAttr(a, v, given); err != nil {
				return err
			}
		}
	}
	return nil
}

// dtypeAttr binds a type variable to the dtype that an attribute names; a default gives way to a type that is bound already.
func (b *binder) dtypeAttr(a *declaration.Attr, v ir.AttrValue, given bool) error {
	d, _ := scalar.ParseDType(v.Str)
	tv, _ := b.decl.TypeVar(a.Of)
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

func attrNames(d *declaration.Kernel) string {
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

// placeAttrs turns lists of dimensions into positions from 0, now that the ranks are known: ascending for axes, all of them
// for a perm, one number for each dimension for ints.
func (b *binder) placeAttrs() error {
	for i := range b.decl.Attrs {
		a := &b.decl.Attrs[i]
		v, given := b.attrs[a.Name]
		if !given || a.Type != declaration.AxesAttr && a.Type != declaration.PermAttr && a.Type != declaration.IntsAttr || a.Of == "" {
			continue
		}
		rank, ok := b.ranks[a.Of]
		if !ok {
			return refuse("/body/params/"+a.Name, "an operand with *"+a.Of, declaration.ValueText(v), "kernel %s, parameter %s", b.decl.Name, a.Name)
		}
		list, ok := positions(a, v, rank)
		if !ok {
			return refuse("/body/params/"+a.Name, fmt.Sprintf("%s of a rank of %d", a.Type, rank), declaration.ValueText(v), "kernel %s, parameter %s", b.decl.Name, a.Name)
		}
		b.attrs[a.Name] = ir.IntsAttr(list...)
	}
	return nil
}

// positions reads a list of a rank: for axes and perms different positions, negative ones counted from the end.
func positions(a *declaration.Attr, v ir.AttrValue, rank int) ([]int64, bool) {
	list, ok := v.Ints()
	switch {
	case v.Kind == ir.AttrString:
		return every(rank, a.Type == declaration.PermAttr), true
	case v.Kind == ir.AttrInt && a.Type == declaration.IntsAttr:
		return slices.Repeat([]int64{v.Int}, rank), true
	case v.Kind == ir.AttrInt:
		list = []int64{v.Int}
	case !ok || a.Type == declaration.IntsAttr:
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
	if a.Type == declaration.AxesAttr {
		slices.Sort(list)
	}
	return list, a.Type == declaration.AxesAttr || len(list) == rank
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

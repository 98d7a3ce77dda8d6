package kernels

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir"
)

// bindRanks finds how many dimensions each group has: from operands of which every other entry is known, from lists of
// numbers, from the position where one group ends, and from groups that one expression takes dimension by dimension.
func (b *binder) bindRanks() error {
	if err := b.indexAttrs(); err != nil {
		return err
	}
	for changed := true; changed; {
		n := len(b.ranks)
		for i := range b.in.Operands {
			b.rankOfOperand(&b.in.Operands[i])
		}
		for i := range b.decl.Attrs {
			b.rankOfAttr(&b.decl.Attrs[i])
		}
		for _, o := range b.decl.Operands {
			for _, x := range o.Index {
				if x.Group != "" && x.At != "" {
					b.sameRank(append(b.decl.GroupsIn(x.At), x.Group))
				}
			}
		}
		for _, l := range b.decl.Sizes {
			if b.decl.IsGroup(l.Name) {
				b.sameRank(append(b.decl.GroupsIn(l.Text), l.Name))
			}
		}
		changed = len(b.ranks) > n
	}
	for i := range b.in.Operands {
		if _, err := b.split(&b.in.Operands[i]); err != nil {
			return err
		}
	}
	return nil
}

// indexAttrs makes sure that the attributes in index strings are given.
func (b *binder) indexAttrs() error {
	for _, o := range b.decl.Operands {
		for _, x := range o.Index {
			if _, given := b.attrs[x.Attr]; x.Attr != "" && !given {
				return refuse("/body/params", quote(x.Attr), "no such parameter", "kernel %s misses a parameter", b.decl.Name)
			}
		}
	}
	return nil
}

// width gives how many dimensions an entry of an index string takes; ok is false if that is not known. A broadcast entry
// takes what the others leave.
func (b *binder) width(x declaration.IndexItem) (n int, ok bool) {
	if x.Use == declaration.Broadcast {
		return 0, false
	}
	if x.Group == "" {
		return 1, true
	}
	n, ok = b.ranks[x.Group]
	switch x.Use {
	case declaration.Drop:
		if b.attrs["keepdims"].Int != 0 {
			return n, ok
		}
		m, known := b.axesCount(x.Attr)
		return n - m, ok && known
	case declaration.Keep:
		return b.axesCount(x.Attr)
	}
	return n, ok
}

// axesCount gives how many dimensions an attribute lists.
func (b *binder) axesCount(attr string) (int, bool) {
	v, given := b.attrs[attr]
	switch {
	case !given:
		return 0, false
	case v.Kind == ir.AttrString:
		a, _ := b.decl.Attr(attr)
		n, ok := b.ranks[a.Of]
		return n, ok
	case v.Kind == ir.AttrInt:
		return 1, true
	}
	return len(v.List), true
}

// rest gives how many dimensions of an operand are left for the one entry whose width is not known, and its position; -1 if
// there is none or more than one.
func (b *binder) rest(o *Operand) (n, at int) {
	n, at = o.Sel.Range().Rank(), -1
	for i, x := range o.Decl.Index {
		w, ok := b.width(x)
		switch {
		case ok:
			n -= w
		case at >= 0:
			return 0, -1
		default:
			at = i
		}
	}
	return n, at
}

func (b *binder) rankOfOperand(o *Operand) {
	n, at := b.rest(o)
	if at < 0 || n < 0 {
		return
	}
	switch x := o.Decl.Index[at]; x.Use {
	case declaration.Plain, declaration.Permute:
		b.ranks[x.Group] = n
	case declaration.Drop:
		if m, ok := b.axesCount(x.Attr); ok {
			b.ranks[x.Group] = n + m
		}
	}
}

func (b *binder) rankOfAttr(a *declaration.Attr) {
	v, given := b.attrs[a.Name]
	_, known := b.ranks[a.Of]
	switch {
	case !given:
	case a.Type == declaration.IntsAttr && !known && v.Kind == ir.AttrList && a.Of != "":
		b.ranks[a.Of] = len(v.List)
	case a.Type == declaration.AxisAttr && v.Int >= 0 && !known:
		b.ranks[a.Of] = int(v.Int)
	case a.Type == declaration.AxisAttr && v.Int < 0:
		if between, ok := b.decl.Between(a.Of, a.Then); ok {
			if _, known := b.ranks[a.Then]; !known && -int(v.Int) >= between {
				b.ranks[a.Then] = -int(v.Int) - between
			}
		}
	}
}

// sameRank gives groups the rank that one of them has.
func (b *binder) sameRank(groups []string) {
	for _, g := range groups {
		n, ok := b.ranks[g]
		if !ok {
			continue
		}
		for _, h := range groups {
			if _, known := b.ranks[h]; !known {
				b.ranks[h] = n
			}
		}
		return
	}
}

// split gives, for each index entry, how many of the operand's dimensions it takes.
func (b *binder) split(o *Operand) ([]int, error) {
	rest, at := b.rest(o)
	widths := make([]int, len(o.Decl.Index))
	for i, x := range o.Decl.Index {
		widths[i], _ = b.width(x)
		if widths[i] < 0 {
			rest = -1
		}
	}
	if at >= 0 {
		widths[at] = rest
	}
	unsolved := at < 0 && slices.ContainsFunc(o.Decl.Index, func(x declaration.IndexItem) bool { _, ok := b.width(x); return !ok })
	if rest < 0 || rest > 0 && at < 0 || unsolved {
		return nil, refuse(o.where(), o.Decl.IndexText()+b.ranksText(o.Decl), "rank "+fmt.Sprint(o.Sel.Range().Rank()), "kernel %s, %s: wrong rank", b.decl.Name, o.Decl.Name())
	}
	return widths, nil
}

// ranksText tells the ranks of an index string's groups, where they are known.
func (b *binder) ranksText(o *declaration.Operand) string {
	text := ""
	for _, x := range o.Index {
		if n, ok := b.ranks[x.Group]; ok && x.Group != "" && x.Use != declaration.Broadcast {
			text += fmt.Sprintf(", with %d for *%s", n, x.Group)
		}
	}
	return text
}

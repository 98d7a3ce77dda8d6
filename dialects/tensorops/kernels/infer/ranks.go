package infer

import (
	"fmt"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir"
)

// Ranks are how many dimensions groups have.
type Ranks struct {
	args *Arguments
	Of   map[string]int
}

// NewRanks gives those of a call of which none is known yet.
func NewRanks(a *Arguments) *Ranks { return &Ranks{a, map[string]int{}} }

// solve finds how many dimensions each group has: from operands of which every other entry is known, from lists of numbers,
// from the position where one group ends, and from groups that one expression takes dimension by dimension.
func (r *Ranks) solve() error {
	if err := r.indexParams(); err != nil {
		return err
	}
	for changed := true; changed; {
		n := len(r.Of)
		for i := range r.args.Operands {
			r.ofOperand(&r.args.Operands[i])
		}
		for i := range r.args.Kernel.Attrs {
			r.ofAttr(&r.args.Kernel.Attrs[i])
		}
		for _, o := range r.args.Kernel.Operands {
			for _, x := range o.Index {
				if x.Group != "" && x.At != "" {
					r.Same(append(r.args.Kernel.GroupsIn(x.At), x.Group))
				}
			}
		}
		for _, l := range r.args.Kernel.Sizes {
			if r.args.Kernel.IsGroup(l.Name) {
				r.Same(append(r.args.Kernel.GroupsIn(l.Text), l.Name))
			}
		}
		changed = len(r.Of) > n
	}
	for i := range r.args.Operands {
		if _, err := r.Widths(&r.args.Operands[i]); err != nil {
			return err
		}
	}
	return nil
}

// indexParams makes sure that the attributes in index strings are given.
func (r *Ranks) indexParams() error {
	for _, o := range r.args.Kernel.Operands {
		for _, x := range o.Index {
			if _, given := r.args.Params[x.Attr]; x.Attr != "" && !given {
				return Refuse("/body/params", strconv.Quote(x.Attr), "no such parameter", "kernel %s misses a parameter", r.args.Kernel.Name)
			}
		}
	}
	return nil
}

// width gives how many dimensions an entry of an index string takes; ok is false if that is not known. A broadcast entry
// takes what the others leave.
func (r *Ranks) width(x declaration.IndexItem) (n int, ok bool) {
	if x.Use == declaration.Broadcast {
		return 0, false
	}
	if x.Group == "" {
		return 1, true
	}
	n, ok = r.Of[x.Group]
	switch x.Use {
	case declaration.Drop:
		if r.args.Params["keepdims"].Int != 0 {
			return n, ok
		}
		m, known := r.axesCount(x.Attr)
		return n - m, ok && known
	case declaration.Keep:
		return r.axesCount(x.Attr)
	}
	return n, ok
}

// axesCount gives how many dimensions an attribute lists.
func (r *Ranks) axesCount(attr string) (int, bool) {
	v, given := r.args.Params[attr]
	switch {
	case !given:
		return 0, false
	case v.Kind == ir.AttrString:
		a, _ := r.args.Kernel.Attr(attr)
		n, ok := r.Of[a.Of]
		return n, ok
	case v.Kind == ir.AttrInt:
		return 1, true
	}
	return len(v.List), true
}

// rest gives how many dimensions of an operand are left for the one entry whose width is not known, and its position; -1 if
// there is none or more than one.
func (r *Ranks) rest(o *Operand) (n, at int) {
	n, at = o.Sel.Range().Rank(), -1
	for i, x := range o.Decl.Index {
		w, ok := r.width(x)
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

func (r *Ranks) ofOperand(o *Operand) {
	n, at := r.rest(o)
	if at < 0 || n < 0 {
		return
	}
	switch x := o.Decl.Index[at]; x.Use {
	case declaration.Plain, declaration.Permute:
		r.Of[x.Group] = n
	case declaration.Drop:
		if m, ok := r.axesCount(x.Attr); ok {
			r.Of[x.Group] = n + m
		}
	}
}

func (r *Ranks) ofAttr(a *declaration.Attr) {
	v, given := r.args.Params[a.Name]
	_, known := r.Of[a.Of]
	switch {
	case !given:
	case a.Type == declaration.IntsAttr && !known && v.Kind == ir.AttrList && a.Of != "":
		r.Of[a.Of] = len(v.List)
	case a.Type == declaration.AxisAttr && v.Int >= 0 && !known:
		r.Of[a.Of] = int(v.Int)
	case a.Type == declaration.AxisAttr && v.Int < 0:
		if between, ok := r.args.Kernel.Between(a.Of, a.Then); ok {
			if _, known := r.Of[a.Then]; !known && -int(v.Int) >= between {
				r.Of[a.Then] = -int(v.Int) - between
			}
		}
	}
}

// Same gives groups the rank that one of them has.
func (r *Ranks) Same(groups []string) {
	for _, g := range groups {
		n, ok := r.Of[g]
		if !ok {
			continue
		}
		for _, h := range groups {
			if _, known := r.Of[h]; !known {
				r.Of[h] = n
			}
		}
		return
	}
}

// Widths gives, for each index entry, how many of the operand's dimensions it takes.
func (r *Ranks) Widths(o *Operand) ([]int, error) {
	rest, at := r.rest(o)
	widths := make([]int, len(o.Decl.Index))
	for i, x := range o.Decl.Index {
		widths[i], _ = r.width(x)
		if widths[i] < 0 {
			rest = -1
		}
	}
	if at >= 0 {
		widths[at] = rest
	}
	unsolved := at < 0 && slices.ContainsFunc(o.Decl.Index, func(x declaration.IndexItem) bool { _, ok := r.width(x); return !ok })
	if rest < 0 || rest > 0 && at < 0 || unsolved {
		return nil, Refuse(o.Where(), o.Decl.IndexText()+r.text(o.Decl), "rank "+fmt.Sprint(o.Sel.Range().Rank()), "kernel %s, %s: wrong rank", r.args.Kernel.Name, o.Decl.Name())
	}
	return widths, nil
}

// text tells the ranks of an index string's groups, where they are known.
func (r *Ranks) text(o *declaration.Operand) string {
	text := ""
	for _, x := range o.Index {
		if n, ok := r.Of[x.Group]; ok && x.Group != "" && x.Use != declaration.Broadcast {
			text += fmt.Sprintf(", with %d for *%s", n, x.Group)
		}
	}
	return text
}

// PlaceParams turns lists of dimensions into positions from 0, now that the ranks are known: ascending for axes, all of them
// for a perm, one number for each dimension for ints.
func (r *Ranks) PlaceParams() error {
	for i := range r.args.Kernel.Attrs {
		a := &r.args.Kernel.Attrs[i]
		v, given := r.args.Params[a.Name]
		if !given || a.Type != declaration.AxesAttr && a.Type != declaration.PermAttr && a.Type != declaration.IntsAttr || a.Of == "" {
			continue
		}
		rank, ok := r.Of[a.Of]
		if !ok {
			return Refuse("/body/params/"+a.Name, "an operand with *"+a.Of, declaration.ValueText(v), "kernel %s, parameter %s", r.args.Kernel.Name, a.Name)
		}
		list, ok := positions(a, v, rank)
		if !ok {
			return Refuse("/body/params/"+a.Name, fmt.Sprintf("%s of a rank of %d", a.Type, rank), declaration.ValueText(v), "kernel %s, parameter %s", r.args.Kernel.Name, a.Name)
		}
		r.args.Params[a.Name] = ir.IntsAttr(list...)
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

package infer

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir/scalar"
)

// Sizes are the extents of dimensions and the shapes of groups, by their names; the own dimension that a selection of a variadic operand has
// is under its EachName.
type Sizes struct {
	args  *Arguments
	ranks *Ranks
	Of    map[string][]int64
}

// NewSizes gives those of a call of which none is known yet.
func NewSizes(r *Ranks) *Sizes { return &Sizes{r.args, r, map[string][]int64{}} }

// Arguments gives what the call gives.
func (z *Sizes) Arguments() *Arguments { return z.args }

// Widths gives, for each index entry, how many of an operand's dimensions it takes.
func (z *Sizes) Widths(o *Operand) ([]int, error) { return z.ranks.Widths(o) }

// solve finds the extent of every dimension and the shape of every group: from what operands have as it is, from the size
// clauses, by broadcasting. What is known twice must agree.
func (z *Sizes) solve() error {
	for i := range z.args.Operands {
		if err := z.ofPlain(&z.args.Operands[i]); err != nil {
			return err
		}
	}
	if err := z.Clauses(); err != nil {
		return err
	}
	if err := z.ofBroadcasts(); err != nil {
		return err
	}
	if err := z.Clauses(); err != nil {
		return err
	}
	return z.checkNeeds()
}

// parts cuts an operand's shape into those of its index entries.
func (z *Sizes) parts(o *Operand) ([][]int64, error) {
	widths, err := z.ranks.Widths(o)
	if err != nil {
		return nil, err
	}
	shape, at := o.Sel.Range().Shape(), 0
	parts := make([][]int64, len(widths))
	for i, n := range widths {
		parts[i] = shape[at : at+n]
		at += n
	}
	return parts, nil
}

// EachName is the name of the own dimension that selection number entry of a variadic operand has.
func EachName(dim string, entry int) string { return fmt.Sprintf("%s.%d", dim, entry) }

func (z *Sizes) ofPlain(o *Operand) error {
	parts, err := z.parts(o)
	if err != nil {
		return err
	}
	for i, x := range o.Decl.Index {
		name, part := x.Name(), parts[i]
		switch {
		case x.Each:
			name = EachName(x.Dim, o.Entry)
		case x.Use == declaration.Permute:
			part = z.unpermute(x, part)
		case x.Use != declaration.Plain:
			continue
		}
		if known, ok := z.Of[name]; !ok {
			z.Of[name] = slices.Clone(part)
		} else if !slices.Equal(known, part) {
			return Refuse(o.Where(), fmt.Sprintf("%s = %v", name, known), fmt.Sprint(part), "kernel %s, %s: shapes do not agree", z.args.Kernel.Name, o.Decl.Name())
		}
	}
	return nil
}

// unpermute gives the shape of a group from the one in a permuted entry.
func (z *Sizes) unpermute(x declaration.IndexItem, part []int64) []int64 {
	out := make([]int64, len(part))
	for i, p := range z.args.Axes(x.Attr) {
		out[p] = part[i]
	}
	return out
}

// ofBroadcasts finds the shapes of groups that only broadcast entries give, and checks every such entry.
func (z *Sizes) ofBroadcasts() error {
	for i := range z.args.Operands {
		o := &z.args.Operands[i]
		parts, err := z.parts(o)
		if err != nil {
			return err
		}
		for j, x := range o.Decl.Index {
			switch x.Use {
			case declaration.Broadcast:
				err = z.ofBroadcast(o, x, parts[j])
			case declaration.Drop:
				z.ofDrop(x, parts[j])
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// ofDrop finds the shape of a group of which only a part is known: the dimensions left out have the size 1.
func (z *Sizes) ofDrop(x declaration.IndexItem, part []int64) {
	n, ok := z.ranks.Of[x.Group]
	if _, known := z.Of[x.Group]; known || !ok {
		return
	}
	axes := z.args.Axes(x.Attr)
	var whole []int64
	for i := range n {
		if slices.Contains(axes, i) {
			whole = append(whole, 1)
			if len(part) == n {
				part = part[1:]
			}
		} else {
			whole, part = append(whole, part[0]), part[1:]
		}
	}
	z.Of[x.Group] = whole
}

func (z *Sizes) ofBroadcast(o *Operand, x declaration.IndexItem, part []int64) error {
	group := x.Group
	whole, ok := z.Of[group]
	switch {
	case len(x.To) > 0:
		whole = nil
		for _, y := range x.To {
			whole = append(whole, z.Of[y.Name()]...)
		}
	case !ok:
		whole = z.stretched(group)
		if whole == nil {
			return Refuse(o.Where(), "shapes that broadcast to each other", fmt.Sprint(part), "kernel %s, %s: shapes do not agree", z.args.Kernel.Name, o.Decl.Name())
		}
		z.Of[group], z.ranks.Of[group] = whole, len(whole)
	}
	if !broadcasts(part, whole) {
		return Refuse(o.Where(), fmt.Sprintf("a shape that broadcasts to %v", whole), fmt.Sprint(part), "kernel %s, %s: shapes do not agree", z.args.Kernel.Name, o.Decl.Name())
	}
	return nil
}

// stretched gives the least shape that every broadcast entry of a group stretches to, or nil.
func (z *Sizes) stretched(group string) []int64 {
	whole := []int64{}
	for i := range z.args.Operands {
		o := &z.args.Operands[i]
		parts, _ := z.parts(o)
		for j, x := range o.Decl.Index {
			if x.Use != declaration.Broadcast || x.Group != group {
				continue
			}
			part := parts[j]
			for len(whole) < len(part) {
				whole = slices.Insert(whole, 0, 1)
			}
			for k, n := range part {
				w := &whole[len(whole)-len(part)+k]
				switch {
				case *w == 1:
					*w = n
				case n != 1 && n != *w:
					return nil
				}
			}
		}
	}
	return whole
}

// broadcasts says whether a shape stretches to another by NumPy's rule: right-aligned, each size equal or 1.
func broadcasts(part, whole []int64) bool {
	if len(part) > len(whole) {
		return false
	}
	for i, n := range part {
		if w := whole[len(whole)-len(part)+i]; n != w && n != 1 {
			return false
		}
	}
	return true
}

// maxSize bounds what a size clause may give.
const maxSize = 1 << 48

// Clauses evaluates the size clauses whose names are all known, until nothing new comes out.
func (z *Sizes) Clauses() error {
	for changed := true; changed; {
		changed = false
		for _, l := range z.args.Kernel.Sizes {
			more, err := z.clause(l)
			if err != nil {
				return err
			}
			changed = changed || more
		}
	}
	return nil
}

// clause evaluates a size clause and checks or notes what it gives; more says that something new is known.
func (z *Sizes) clause(l declaration.Let) (more bool, err error) {
	if l.Each {
		for i := range z.each(l.Name) {
			if more, err = z.clauseOf(l, EachName(l.Name, i), i); err != nil {
				return false, err
			}
		}
		return more, nil
	}
	return z.clauseOf(l, l.Name, 0)
}

func (z *Sizes) clauseOf(l declaration.Let, name string, entry int) (more bool, err error) {
	got, ok, err := z.evaluated(l, entry)
	if err != nil || !ok {
		return false, err
	}
	known, have := z.Of[name]
	if have && !slices.Equal(known, got) {
		return false, Refuse("/body", fmt.Sprintf("%s = %v, which is %s", name, got, l.Text), fmt.Sprint(known), "kernel %s: shapes do not agree", z.args.Kernel.Name)
	}
	z.Of[name] = got
	return !have, nil
}

// each gives how many selections the variadic operand has whose own dimension has a name.
func (z *Sizes) each(dim string) int {
	for i := range z.args.Kernel.Operands {
		o := &z.args.Kernel.Operands[i]
		if slices.ContainsFunc(o.Index, func(x declaration.IndexItem) bool { return x.Each && x.Dim == dim }) {
			return max(len(z.args.Selections(o.Name())), z.args.outputs[o.Name()])
		}
	}
	return 0
}

// checkNeeds evaluates the conditions that sizes and parameters must fulfil, for each dimension of the groups in them.
func (z *Sizes) checkNeeds() error {
	for _, l := range z.args.Kernel.Needs {
		n := 1
		if groups := z.args.Kernel.GroupsIn(l.Text); len(groups) > 0 {
			n = z.ranks.Of[groups[0]]
		}
		for i := range n {
			if err := z.checkNeed(l, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (z *Sizes) checkNeed(l declaration.Let, at int) error {
	e, known, err := z.Evaluate(l.Text, at)
	switch {
	case !known:
		return nil
	case err == nil:
		e = e.Fold()
	}
	if err != nil || e.Type != scalar.Bool || e.Op != scalar.Const {
		return Refuse("/body", "a condition", l.Text, "kernel %s, need", z.args.Kernel.Name)
	}
	if !e.Value.Bool() {
		return Refuse("/body", l.Text, z.valuesOf(l.Text), "kernel %s: sizes and parameters do not fit", z.args.Kernel.Name)
	}
	return nil
}

// valuesOf tells the sizes and numbers that the names in a text stand for.
func (z *Sizes) valuesOf(text string) string {
	var parts []string
	for _, w := range declaration.Words(text) {
		if list, ok := z.Of[w.Name]; ok && !w.Call {
			parts = append(parts, fmt.Sprintf("%s = %v", w.Name, list))
		} else if v, ok := z.args.Params[w.Name]; ok && !w.Call {
			parts = append(parts, w.Name+" = "+declaration.ValueText(v))
		}
	}
	return strings.Join(parts, ", ")
}

// evaluated gives the sizes that a clause says; ok is false if a name in it is not known.
func (z *Sizes) evaluated(l declaration.Let, entry int) (sizes []int64, ok bool, err error) {
	n := 1
	group := z.args.Kernel.IsGroup(l.Name)
	if group {
		if n, ok = z.ranks.Of[l.Name]; !ok {
			return nil, false, nil
		}
	}
	sizes = make([]int64, n)
	for i := range sizes {
		e, known, err := z.Evaluate(l.Text, i+entry)
		if !known {
			return nil, false, nil
		}
		if err == nil {
			e, err = e.WithType(scalar.Int64)
		}
		if err != nil {
			return nil, false, Refuse("/body", "a size", err.Error(), "kernel %s, size %s", z.args.Kernel.Name, l.Name)
		}
		e = e.Fold()
		if e.Op != scalar.Const || e.Value.I < 0 || e.Value.I > maxSize {
			return nil, false, Refuse("/body", fmt.Sprintf("%s = %s of at least 0 and at most 2^48", l.Name, l.Text), e.Value.Number(), "kernel %s: a size is out of range", z.args.Kernel.Name)
		}
		sizes[i] = e.Value.I
	}
	return sizes, true, nil
}

// Count gives the number of points of a dimension, a group or the dimensions that an attribute lists, saturating.
func (z *Sizes) Count(name string) (n int64, known bool, err error) {
	list, ok := z.Of[name]
	if a, isAttr := z.args.Kernel.Attr(name); isAttr && a.Type == declaration.AxesAttr {
		if list, ok = z.Of[a.Of]; ok {
			var part []int64
			for _, i := range z.args.Axes(name) {
				part = append(part, list[i])
			}
			list = part
		}
	} else if !z.args.Kernel.IsDim(name) {
		return 0, false, fmt.Errorf("count: unknown dimension %q", name)
	}
	n = 1
	for _, x := range list {
		if x > 0 && n > maxSize/x {
			return maxSize, ok, nil
		}
		n *= x
	}
	return n, ok, nil
}

// shape gives the shape of an output from the sizes of its index entries.
func (z *Sizes) shape(o *declaration.Operand, entry int) ([]int64, error) {
	shape := []int64{}
	for _, x := range o.Index {
		name := x.Name()
		if x.Each {
			name = EachName(name, entry)
		}
		sizes, ok := z.Of[name]
		if !ok {
			return nil, Refuse("/body/outputs", "inputs and parameters that give "+name, "none", "kernel %s, %s: the shape is not known", z.args.Kernel.Name, o.Name())
		}
		switch x.Use {
		case declaration.Permute, declaration.Keep:
			for _, i := range z.args.Axes(x.Attr) {
				shape = append(shape, sizes[i])
			}
		case declaration.Drop:
			shape = append(shape, z.Kept(x, sizes)...)
		default:
			shape = append(shape, sizes...)
		}
	}
	return shape, nil
}

// Kept gives the sizes of a group without the axes of an attribute, or with 1 for those.
func (z *Sizes) Kept(x declaration.IndexItem, sizes []int64) []int64 {
	dropped := make([]bool, len(sizes))
	for _, i := range z.args.Axes(x.Attr) {
		dropped[i] = true
	}
	var out []int64
	for i, n := range sizes {
		switch {
		case !dropped[i]:
			out = append(out, n)
		case z.args.Params["keepdims"].Int != 0:
			out = append(out, 1)
		}
	}
	return out
}

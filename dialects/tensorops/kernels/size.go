package kernels

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir/scalar"
)

// bindSizes finds the extent of every dimension and the shape of every group: from what operands have as it is, from the size
// clauses, by broadcasting. What is known twice must agree.
func (b *binder) bindSizes() error {
	for i := range b.in.Operands {
		if err := b.sizePlain(&b.in.Operands[i]); err != nil {
			return err
		}
	}
	if err := b.sizeClauses(); err != nil {
		return err
	}
	if err := b.sizeBroadcasts(); err != nil {
		return err
	}
	if err := b.sizeClauses(); err != nil {
		return err
	}
	return b.checkNeeds()
}

// parts cuts an operand's shape into those of its index entries.
func (b *binder) parts(o *Operand) ([][]int64, error) {
	widths, err := b.split(o)
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

// eachName is the name of the own dimension that selection number entry of a variadic operand has.
func eachName(dim string, entry int) string { return fmt.Sprintf("%s.%d", dim, entry) }

func (b *binder) sizePlain(o *Operand) error {
	parts, err := b.parts(o)
	if err != nil {
		return err
	}
	for i, x := range o.Decl.Index {
		name, part := x.Name(), parts[i]
		switch {
		case x.Each:
			name = eachName(x.Dim, o.Entry)
		case x.Use == declaration.Permute:
			part = b.unpermute(x, part)
		case x.Use != declaration.Plain:
			continue
		}
		if known, ok := b.sizes[name]; !ok {
			b.sizes[name] = slices.Clone(part)
		} else if !slices.Equal(known, part) {
			return refuse(o.where(), fmt.Sprintf("%s = %v", name, known), fmt.Sprint(part), "kernel %s, %s: shapes do not agree", b.decl.Name, o.Decl.Name())
		}
	}
	return nil
}

// unpermute gives the shape of a group from the one in a permuted entry.
func (b *binder) unpermute(x declaration.IndexItem, part []int64) []int64 {
	out := make([]int64, len(part))
	for i, p := range b.axes(x.Attr) {
		out[p] = part[i]
	}
	return out
}

// sizeBroadcasts finds the shapes of groups that only broadcast entries give, and checks every such entry.
func (b *binder) sizeBroadcasts() error {
	for i := range b.in.Operands {
		o := &b.in.Operands[i]
		parts, err := b.parts(o)
		if err != nil {
			return err
		}
		for j, x := range o.Decl.Index {
			switch x.Use {
			case declaration.Broadcast:
				err = b.sizeBroadcast(o, x, parts[j])
			case declaration.Drop:
				b.sizeDrop(x, parts[j])
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sizeDrop finds the shape of a group of which only a part is known: the dimensions left out have the size 1.
func (b *binder) sizeDrop(x declaration.IndexItem, part []int64) {
	n, ok := b.ranks[x.Group]
	if _, known := b.sizes[x.Group]; known || !ok {
		return
	}
	axes := b.axes(x.Attr)
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
	b.sizes[x.Group] = whole
}

func (b *binder) sizeBroadcast(o *Operand, x declaration.IndexItem, part []int64) error {
	group := x.Group
	whole, ok := b.sizes[group]
	switch {
	case len(x.To) > 0:
		whole = nil
		for _, y := range x.To {
			whole = append(whole, b.sizes[y.Name()]...)
		}
	case !ok:
		whole = b.stretched(group)
		if whole == nil {
			return refuse(o.where(), "shapes that broadcast to each other", fmt.Sprint(part), "kernel %s, %s: shapes do not agree", b.decl.Name, o.Decl.Name())
		}
		b.sizes[group], b.ranks[group] = whole, len(whole)
	}
	if !broadcasts(part, whole) {
		return refuse(o.where(), fmt.Sprintf("a shape that broadcasts to %v", whole), fmt.Sprint(part), "kernel %s, %s: shapes do not agree", b.decl.Name, o.Decl.Name())
	}
	return nil
}

// stretched gives the least shape that every broadcast entry of a group stretches to, or nil.
func (b *binder) stretched(group string) []int64 {
	whole := []int64{}
	for i := range b.in.Operands {
		o := &b.in.Operands[i]
		parts, _ := b.parts(o)
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

// sizeClauses evaluates the size clauses whose names are all known, until nothing new comes out.
func (b *binder) sizeClauses() error {
	for changed := true; changed; {
		changed = false
		for _, l := range b.decl.Sizes {
			more, err := b.applySize(l)
			if err != nil {
				return err
			}
			changed = changed || more
		}
	}
	return nil
}

// applySize evaluates a size clause and checks or notes what it gives; more says that something new is known.
func (b *binder) applySize(l declaration.Let) (more bool, err error) {
	if l.Each {
		for i := range b.each(l.Name) {
			if more, err = b.applyOne(l, eachName(l.Name, i), i); err != nil {
				return false, err
			}
		}
		return more, nil
	}
	return b.applyOne(l, l.Name, 0)
}

func (b *binder) applyOne(l declaration.Let, name string, entry int) (more bool, err error) {
	got, ok, err := b.sizeClause(l, entry)
	if err != nil || !ok {
		return false, err
	}
	known, have := b.sizes[name]
	if have && !slices.Equal(known, got) {
		return false, refuse("/body", fmt.Sprintf("%s = %v, which is %s", name, got, l.Text), fmt.Sprint(known), "kernel %s: shapes do not agree", b.decl.Name)
	}
	b.sizes[name] = got
	return !have, nil
}

// each gives how many selections the variadic operand has whose own dimension has a name.
func (b *binder) each(dim string) int {
	for i := range b.decl.Operands {
		o := &b.decl.Operands[i]
		if slices.ContainsFunc(o.Index, func(x declaration.IndexItem) bool { return x.Each && x.Dim == dim }) {
			return max(len(b.variadic(o.Name())), b.outputs[o.Name()])
		}
	}
	return 0
}

// checkNeeds evaluates the conditions that sizes and parameters must fulfil, for each dimension of the groups in them.
func (b *binder) checkNeeds() error {
	for _, l := range b.decl.Needs {
		n := 1
		if groups := b.decl.GroupsIn(l.Text); len(groups) > 0 {
			n = b.ranks[groups[0]]
		}
		for i := range n {
			if err := b.checkNeed(l, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *binder) checkNeed(l declaration.Let, at int) error {
	s := &sizeScope{b, at, false}
	e, err := scalar.Parse(l.Text, s)
	switch {
	case s.unknown:
		return nil
	case err == nil:
		e = e.Fold()
	}
	if err != nil || e.Type != scalar.Bool || e.Op != scalar.Const {
		return refuse("/body", "a condition", l.Text, "kernel %s, need", b.decl.Name)
	}
	if !e.Value.Bool() {
		return refuse("/body", l.Text, b.valuesOf(l.Text), "kernel %s: sizes and parameters do not fit", b.decl.Name)
	}
	return nil
}

// valuesOf tells the sizes and numbers that the names in a text stand for.
func (b *binder) valuesOf(text string) string {
	var parts []string
	for _, w := range declaration.Words(text) {
		if list, ok := b.sizes[w.Name]; ok && !w.Call {
			parts = append(parts, fmt.Sprintf("%s = %v", w.Name, list))
		} else if v, ok := b.attrs[w.Name]; ok && !w.Call {
			parts = append(parts, w.Name+" = "+declaration.ValueText(v))
		}
	}
	return strings.Join(parts, ", ")
}

// sizeClause evaluates one size clause; ok is false if a name in it is not known.
func (b *binder) sizeClause(l declaration.Let, entry int) (sizes []int64, ok bool, err error) {
	n := 1
	group := b.decl.IsGroup(l.Name)
	if group {
		if n, ok = b.ranks[l.Name]; !ok {
			return nil, false, nil
		}
	}
	sizes = make([]int64, n)
	for i := range sizes {
		s := &sizeScope{b, i + entry, false}
		e, err := scalar.Parse(l.Text, s)
		if s.unknown {
			return nil, false, nil
		}
		if err == nil {
			e, err = e.WithType(scalar.Int64)
		}
		if err != nil {
			return nil, false, refuse("/body", "a size", err.Error(), "kernel %s, size %s", b.decl.Name, l.Name)
		}
		e = e.Fold()
		if e.Op != scalar.Const || e.Value.I < 0 || e.Value.I > maxSize {
			return nil, false, refuse("/body", fmt.Sprintf("%s = %s of at least 0 and at most 2^48", l.Name, l.Text), e.Value.Number(), "kernel %s: a size is out of range", b.decl.Name)
		}
		sizes[i] = e.Value.I
	}
	return sizes, true, nil
}

// sizeScope resolves the names in a size clause, for dimension number at of its group.
type sizeScope struct {
	b       *binder
	at      int
	unknown bool
}

func number(n int64) *scalar.Expr { return scalar.NewConst(scalar.IntValue(scalar.Int64, n)) }

// Lookup gives sizes and parameters.
func (s *sizeScope) Lookup(name string) (*scalar.Expr, bool) {
	if a, ok := s.b.decl.Attr(name); ok {
		return s.attr(a)
	}
	n, ok := s.size(name)
	return number(n), ok
}

func (s *sizeScope) attr(a *declaration.Attr) (*scalar.Expr, bool) {
	v, given := s.b.attrs[a.Name]
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
		return number(list[s.at]), true
	case a.Type != declaration.IntAttr && a.Type != declaration.AxisAttr:
		return nil, false
	}
	return number(v.Int), true
}

func (s *sizeScope) size(name string) (int64, bool) {
	list, ok := s.b.sizes[name]
	switch {
	case !s.b.decl.IsDim(name):
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
func (s *sizeScope) Axes(string) ([]int, bool) { return nil, false }

// Call resolves size(NAME), count(NAME), total(NAME) over the own dimensions of a variadic operand, and is(ATTR, WORD).
func (s *sizeScope) Call(name string, args []string) (*scalar.Expr, bool, error) {
	switch {
	case name == "is" && len(args) == 2:
		return scalar.NewConst(scalar.BoolValue(s.b.attrs[args[0]].Str == args[1])), true, nil
	case name == "size" && len(args) == 1:
		n, ok := s.size(args[0])
		if !ok {
			return nil, true, fmt.Errorf("size: unknown dimension %q", args[0])
		}
		return number(n), true, nil
	case name == "count" && len(args) == 1:
		n, known, err := s.b.count(args[0])
		s.unknown = s.unknown || !known
		return number(n), true, err
	case name == "entries" && len(args) == 1:
		return number(int64(len(s.b.variadic(args[0])))), true, nil
	case name == "given" && len(args) == 1:
		_, ok := s.b.attrs[args[0]]
		return scalar.NewConst(scalar.BoolValue(ok || len(s.b.variadic(args[0])) > 0)), true, nil
	case name == "total" && len(args) == 1:
		n := int64(0)
		for i := 0; ; i++ {
			list, ok := s.b.sizes[eachName(args[0], i)]
			if !ok {
				s.unknown = s.unknown || i == 0
				return number(n), true, nil
			}
			n += list[0]
		}
	}
	return nil, false, nil
}

// count gives the number of points of a dimension, a group or the dimensions that an attribute lists, saturating.
func (b *binder) count(name string) (n int64, known bool, err error) {
	list, ok := b.sizes[name]
	if a, isAttr := b.decl.Attr(name); isAttr && a.Type == declaration.AxesAttr {
		if list, ok = b.sizes[a.Of]; ok {
			var part []int64
			for _, i := range b.axes(name) {
				part = append(part, list[i])
			}
			list = part
		}
	} else if !b.decl.IsDim(name) {
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

package kernels

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Selected is one selection offered to a kernel: a box of a tensor and its element type.
type Selected struct {
	Sel  ir.Selection
	Type scalar.DType
}

// PortSel is a named port with its selections.
type PortSel struct {
	Name string
	Sel  []Selected
}

// Call is a use of a kernel: its parameters and ports.
type Call struct {
	Params  ir.Attrs
	Inputs  []PortSel
	Outputs []PortSel
}

// BindError says why a call does not fit a kernel: where in the operation (a JSON pointer below the node), and what was
// expected and found.
type BindError struct {
	Field, Message, Expected, Found string
}

// Error gives the message with expected and found.
func (e *BindError) Error() string {
	if e.Expected == "" && e.Found == "" {
		return e.Message
	}
	return fmt.Sprintf("%s: expected %s, found %s", e.Message, e.Expected, e.Found)
}

func refuse(field, expected, found, format string, args ...any) error {
	return &BindError{field, fmt.Sprintf(format, args...), expected, found}
}

// Bind applies the kernel to a call. The call's outputs must be there with their boxes and types.
func (d *Decl) Bind(c Call) (*Instance, error) {
	b := &binder{decl: d, in: &Instance{Decl: d}, sizes: map[string][]int64{}, dims: map[string][]int{},
		types: map[string]scalar.DType{}, attrs: map[string]ir.AttrValue{}}
	steps := []func() error{
		func() error { return b.bindPorts(c) },
		func() error { return b.bindAttrs(c.Params) },
		b.bindSizes,
		b.bindDims,
		b.bindAccess,
		b.bindBody,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return b.in, nil
}

type binder struct {
	decl  *Decl
	in    *Instance
	sizes map[string][]int64 // extents by dimension or group
	dims  map[string][]int   // numbers of the instance's dims, by dimension or group
	types map[string]scalar.DType
	attrs map[string]ir.AttrValue

	missing error // a parameter that the body turned out to need
}

func (b *binder) bindPorts(c Call) error {
	for _, side := range []struct {
		ports []PortSel
		out   bool
		name  string
	}{{c.Inputs, false, "inputs"}, {c.Outputs, true, "outputs"}} {
		for _, p := range side.ports {
			i, ok := b.decl.operand(p.Name)
			if !ok || b.decl.Operands[i].Out != side.out {
				return refuse("/body/"+side.name, b.decl.portNames(side.out), quote(p.Name), "kernel %s has no such port", b.decl.Name)
			}
		}
		for i := range b.decl.Operands {
			if o := &b.decl.Operands[i]; o.Out == side.out {
				if err := b.bindPort(o, side.ports, "/body/"+side.name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (b *binder) bindPort(o *OperandDecl, ports []PortSel, field string) error {
	var found *PortSel
	for i := range ports {
		if slices.Contains(o.Names, ports[i].Name) {
			if found != nil {
				return refuse(field, "one of them", quote(found.Name)+" and "+quote(ports[i].Name), "kernel %s: one port under two names", b.decl.Name)
			}
			found = &ports[i]
		}
	}
	switch {
	case found == nil && o.Optional:
		return nil
	case found == nil:
		return refuse(field, quote(o.Name()), "no such port", "kernel %s misses a port", b.decl.Name)
	case !o.Variadic && len(found.Sel) != 1:
		return refuse(field+"/"+found.Name, "1 selection", fmt.Sprintf("%d", len(found.Sel)), "kernel %s, port %s", b.decl.Name, found.Name)
	case len(found.Sel) == 0:
		return refuse(field+"/"+found.Name, "1 selection or more", "0", "kernel %s, port %s", b.decl.Name, found.Name)
	}
	for j, s := range found.Sel {
		at := fmt.Sprintf("%s/%s/%d", field, found.Name, j)
		if err := b.bindType(o, s.Type, at); err != nil {
			return err
		}
		b.in.Operands = append(b.in.Operands, Operand{Decl: o, Entry: j, Port: found.Name, Sel: s.Sel, Type: s.Type})
	}
	return nil
}

func (d *Decl) portNames(out bool) string {
	text := "none"
	for _, o := range d.Operands {
		if o.Out == out {
			if text == "none" {
				text = quote(o.Name())
			} else {
				text += ", " + quote(o.Name())
			}
		}
	}
	return text
}

func quote(s string) string { return fmt.Sprintf("%q", s) }

func (b *binder) bindType(o *OperandDecl, t scalar.DType, at string) error {
	v, isVar := b.decl.typeVar(o.Type)
	if !isVar {
		if t.String() != o.Type {
			return refuse(at, o.Type, t.String(), "kernel %s, %s: wrong dtype", b.decl.Name, o.Name())
		}
		return nil
	}
	if bound, ok := b.types[v.Name]; ok && bound != t {
		return refuse(at, bound.String(), t.String(), "kernel %s, %s: dtypes differ", b.decl.Name, o.Name())
	}
	if !v.Allows(t) {
		return refuse(at, "a dtype that is "+v.Class, t.String(), "kernel %s, %s: wrong dtype", b.decl.Name, o.Name())
	}
	b.types[v.Name] = t
	return nil
}

// where names an operand in an operation's document.
func (o *Operand) where() string {
	side := "inputs"
	if o.Decl.Out {
		side = "outputs"
	}
	return fmt.Sprintf("/body/%s/%s/%d", side, o.Port, o.Entry)
}

// bindSizes finds the extent of every dimension and the shape of every group: first from what is plain, then by
// broadcasting, then it checks every operand against them.
func (b *binder) bindSizes() error {
	for i := range b.in.Operands {
		if err := b.sizePlain(&b.in.Operands[i]); err != nil {
			return err
		}
	}
	for i := range b.in.Operands {
		if err := b.sizeBroadcast(&b.in.Operands[i]); err != nil {
			return err
		}
	}
	return nil
}

// split gives, for each index item, how many of the operand's dimensions it takes.
func (b *binder) split(o *Operand) ([]int, error) {
	items := o.Decl.Index
	widths := make([]int, len(items))
	rest, groups := o.Sel.Range.Rank(), 0
	for i, x := range items {
		if x.Group == "" {
			widths[i] = 1
			rest--
		} else {
			groups++
		}
	}
	if rest < 0 || groups == 0 && rest > 0 {
		return nil, refuse(o.where(), b.decl.indexText(o.Decl), "rank "+fmt.Sprint(o.Sel.Range.Rank()), "kernel %s, %s: wrong rank", b.decl.Name, o.Decl.Name())
	}
	for i, x := range items {
		if x.Group != "" {
			widths[i] = rest
		}
	}
	return widths, nil
}

func (d *Decl) indexText(o *OperandDecl) string {
	text := ""
	for i, x := range o.Index {
		if i > 0 {
			text += ", "
		}
		if x.Group != "" {
			text += "*" + x.Group
			continue
		}
		for j, t := range x.Terms {
			if j > 0 {
				text += "+"
			}
			text += t.Dim
		}
	}
	return "[" + text + "]"
}

func (b *binder) sizePlain(o *Operand) error {
	widths, err := b.split(o)
	if err != nil {
		return err
	}
	shape, at := o.Sel.Range.Shape(), 0
	for i, x := range o.Decl.Index {
		part := shape[at : at+widths[i]]
		at += widths[i]
		name, bare := x.bare()
		switch {
		case x.Group != "" && x.Use == Plain:
			name = x.Group
		case !bare:
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

func (b *binder) sizeBroadcast(o *Operand) error {
	widths, err := b.split(o)
	if err != nil {
		return err
	}
	shape, at := o.Sel.Range.Shape(), 0
	for i, x := range o.Decl.Index {
		part := shape[at : at+widths[i]]
		at += widths[i]
		if x.Use != Broadcast {
			continue
		}
		whole, ok := b.sizes[x.Group]
		if !ok {
			return refuse(o.where(), "an output that gives *"+x.Group, "none", "kernel %s: the shape is not known", b.decl.Name)
		}
		if !broadcasts(part, whole) {
			return refuse(o.where(), fmt.Sprintf("a shape that broadcasts to %v", whole), fmt.Sprint(part), "kernel %s, %s: shapes do not agree", b.decl.Name, o.Decl.Name())
		}
	}
	return nil
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

// bindDims numbers the dims: those of the outputs first, in order of appearance.
func (b *binder) bindDims() error {
	for _, out := range []bool{true, false} {
		for _, o := range b.in.Operands {
			if o.Decl.Out != out {
				continue
			}
			for _, x := range o.Decl.Index {
				b.number(x)
			}
		}
	}
	for name := range b.dims {
		if _, ok := b.sizes[name]; !ok {
			return refuse("/body", "an operand that gives it", "none", "kernel %s: the extent of %s is not known", b.decl.Name, name)
		}
	}
	return nil
}

func (b *binder) number(x IndexItem) {
	names := []string{x.Group}
	if x.Group == "" {
		names = nil
		for _, t := range x.Terms {
			if t.Dim != "" && !b.isAttr(t.Dim) {
				names = append(names, t.Dim)
			}
		}
	}
	for _, name := range names {
		sizes, ok := b.sizes[name]
		if _, done := b.dims[name]; done || !ok {
			continue
		}
		order := make([]int, len(sizes))
		for i := range order {
			order[i] = i
		}
		if x.Use == Permute {
			order = b.axes(x.Attr)
		}
		b.dims[name] = make([]int, len(sizes))
		for _, i := range order {
			label := name
			if x.Group != "" {
				label = fmt.Sprintf("%s%d", name, i)
			}
			b.dims[name][i] = len(b.in.Dims)
			b.in.Dims = append(b.in.Dims, Dim{Name: label, Extent: sizes[i]})
		}
	}
}

func (b *binder) isAttr(name string) bool {
	_, ok := b.decl.attr(name)
	return ok
}

// bindAccess derives each operand's map from dims to tensor coordinates, and checks that every access stays inside the
// operand's box.
func (b *binder) bindAccess() error {
	for i := range b.in.Operands {
		o := &b.in.Operands[i]
		if err := b.accessOf(o); err != nil {
			return err
		}
		box, err := b.in.Reads(i, b.in.Box())
		if err != nil {
			return err
		}
		if o.Decl.Out && !box.Empty() && !box.Equal(o.Sel.Range) {
			return refuse(o.where(), box.String(), o.Sel.Range.String(), "kernel %s, %s: the output's box is not what the kernel computes", b.decl.Name, o.Decl.Name())
		}
		if !box.Empty() && !o.Sel.Range.Contains(box) {
			return refuse(o.where(), "a box that contains "+box.String(), o.Sel.Range.String(), "kernel %s, %s: reads outside its selection", b.decl.Name, o.Decl.Name())
		}
	}
	return nil
}

func (b *binder) accessOf(o *Operand) error {
	widths, err := b.split(o)
	if err != nil {
		return err
	}
	rank := o.Sel.Range.Rank()
	o.Access = zspace.AffineMap{Projection: make(zspace.Matrix, 0, rank), Offset: o.Sel.Range.Start.Clone()}
	shape := o.Sel.Range.Shape()
	for i, x := range o.Decl.Index {
		if x.Group != "" {
			if err := b.groupRows(o, x, widths[i], shape); err != nil {
				return err
			}
			continue
		}
		row, shift := b.termRow(x)
		o.Access.Offset[len(o.Access.Projection)] += shift
		o.Access.Projection = append(o.Access.Projection, row)
	}
	return nil
}

func (b *binder) row(dim int) []int64 {
	row := make([]int64, len(b.in.Dims))
	if dim >= 0 {
		row[dim] = 1
	}
	return row
}

func (b *binder) termRow(x IndexItem) (row []int64, shift int64) {
	row = b.row(-1)
	for _, t := range x.Terms {
		factor := t.Factor
		dim := t.Dim
		if t.Attr != "" {
			factor *= b.attrs[t.Attr].Int
		} else if b.isAttr(dim) {
			factor *= b.attrs[dim].Int
			dim = ""
		}
		if dim == "" {
			shift += factor
		} else {
			row[b.dims[dim][0]] += factor
		}
	}
	return row, shift
}

func (b *binder) groupRows(o *Operand, x IndexItem, width int, shape []int64) error {
	dims := b.dims[x.Group]
	rows := &o.Access.Projection
	switch x.Use {
	case Broadcast:
		for _, dim := range dims[len(dims)-width:] {
			if shape[len(*rows)] == 1 {
				dim = -1
			}
			*rows = append(*rows, b.row(dim))
		}
		return nil
	case Permute:
		order := make([]int, 0, len(dims))
		for _, i := range b.axes(x.Attr) {
			order = append(order, dims[i])
		}
		dims = order
	case Drop:
		dims = b.dropped(x)
	}
	if len(dims) != width {
		return refuse(o.where(), fmt.Sprintf("rank %d", len(o.Decl.Index)-1+len(dims)), fmt.Sprintf("rank %d", len(shape)), "kernel %s, %s: wrong rank", b.decl.Name, o.Decl.Name())
	}
	for _, dim := range dims {
		*rows = append(*rows, b.row(dim))
	}
	return nil
}

// dropped gives the dims of a group without the axes of an attribute; -1 stands for a dropped one that is kept with size 1.
func (b *binder) dropped(x IndexItem) []int {
	axes := b.axes(x.Attr)
	keep := b.attrs["keepdims"].Int != 0
	var dims []int
	for i, dim := range b.dims[x.Group] {
		switch {
		case !slices.Contains(axes, i):
			dims = append(dims, dim)
		case keep:
			dims = append(dims, -1)
		}
	}
	return dims
}

// axes gives the positions that an axes or perm attribute lists, all of them from 0.
func (b *binder) axes(attr string) []int {
	list, _ := b.attrs[attr].Ints()
	out := make([]int, len(list))
	for i, a := range list {
		out[i] = int(a)
	}
	return out
}

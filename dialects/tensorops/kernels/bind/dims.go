package bind

import (
	"fmt"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// numberDims numbers the dims: those of the outputs first, in order of appearance, then those of the inputs, then those that
// only size clauses name.
func (b *binder) numberDims() error {
	for _, out := range []bool{true, false} {
		for i := range b.in.Operands {
			o := &b.in.Operands[i]
			if o.Decl.Out != out {
				continue
			}
			for _, x := range o.Decl.Index {
				if err := b.numberItem(o, x); err != nil {
					return err
				}
			}
		}
	}
	for _, l := range b.decl.Sizes {
		if _, ok := b.sizes.Of[l.Name]; !ok && !l.Each {
			return b.noSize(l)
		}
		b.number(l.Name, declaration.IndexItem{Dim: l.Name})
	}
	for _, x := range b.in.Dims {
		b.box.Start, b.box.End = append(b.box.Start, 0), append(b.box.End, x.Extent)
	}
	return nil
}

// noSize says why a size is not known: because of a parameter that is not given, or of another size.
func (b *binder) noSize(l declaration.Let) error {
	for _, w := range declaration.Words(l.Text) {
		_, isAttr := b.decl.Attr(w.Name)
		if _, given := b.args.Params[w.Name]; isAttr && !given {
			return infer.Refuse("/body/params", strconv.Quote(w.Name), "no such parameter", "kernel %s misses a parameter", b.decl.Name)
		}
	}
	return infer.Refuse("/body", "what gives "+l.Name+" = "+l.Text, "nothing", "kernel %s: the extent of %s is not known", b.decl.Name, l.Name)
}

// numberItem numbers the dims of an index entry. Those of an output's computed entry are the ones in its expression.
func (b *binder) numberItem(o *instance.Operand, x declaration.IndexItem) error {
	if o.Decl.Out && x.At != "" {
		for _, w := range declaration.Words(x.At) {
			if !w.Call && b.decl.IsDim(w.Name) {
				b.number(w.Name, declaration.IndexItem{Dim: w.Name})
			}
		}
		return nil
	}
	name := x.Name()
	if x.Each {
		name = infer.EachName(name, o.Entry)
	}
	if len(x.To) > 0 {
		return nil
	}
	if _, ok := b.sizes.Of[name]; !ok {
		return infer.Refuse("/body", "an operand that gives it", "none", "kernel %s: the extent of %s is not known", b.decl.Name, name)
	}
	b.number(name, x)
	return nil
}

func (b *binder) number(name string, x declaration.IndexItem) {
	sizes, ok := b.sizes.Of[name]
	if _, done := b.dims[name]; done || !ok {
		return
	}
	order := make([]int, len(sizes))
	for i := range order {
		order[i] = i
	}
	if x.Use == declaration.Permute {
		order = b.args.Axes(x.Attr)
	}
	b.dims[name] = make([]int, len(sizes))
	for _, i := range order {
		label := name
		if b.decl.IsGroup(name) {
			label = fmt.Sprintf("%s%d", name, i)
		}
		b.dims[name][i] = len(b.in.Dims)
		b.in.Dims = append(b.in.Dims, instance.Dim{Name: identifier(label), Extent: sizes[i]})
	}
}

// identifier makes a dimension's name one that the expression language has.
func identifier(name string) string {
	out := []byte(name)
	for i, c := range out {
		if c == '.' {
			out[i] = '_'
		}
	}
	return string(out)
}

// accesses derives each operand's map from dims to tensor coordinates. An operand with computed entries has its own dims
// there, which the body's loads replace.
func (b *binder) accesses() error {
	for i := range b.in.Operands {
		if err := b.accessOf(&b.in.Operands[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *binder) accessOf(o *instance.Operand) error {
	widths, err := b.sizes.Widths(&o.Operand)
	if err != nil {
		return err
	}
	o.Access = zspace.AffineMap{Projection: make(zspace.Matrix, 0, o.Sel.Range().Rank()), Offset: o.Sel.Range().Start.Clone()}
	for i, x := range o.Decl.Index {
		switch {
		case o.Decl.Out && x.At != "":
			err = b.computedRows(o, x, widths[i])
		case x.Group == "" && len(x.To) == 0:
			name := x.Dim
			if x.Each {
				name = infer.EachName(name, o.Entry)
			}
			o.Access.Projection = append(o.Access.Projection, b.row(b.dims[name][0]))
		default:
			err = b.groupRows(o, x, widths[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// row has a 1 for one dim, or nothing for -1.
func (b *binder) row(dim int) []int64 {
	row := make([]int64, len(b.in.Dims))
	if dim >= 0 {
		row[dim] = 1
	}
	return row
}

func (b *binder) groupRows(o *instance.Operand, x declaration.IndexItem, width int) error {
	dims := b.dims[x.Group]
	for _, y := range x.To {
		dims = append(dims, b.dims[y.Name()]...)
	}
	rows := &o.Access.Projection
	shape := o.Sel.Range().Shape()
	switch x.Use {
	case declaration.Broadcast:
		for _, dim := range dims[len(dims)-width:] {
			if shape[len(*rows)] == 1 {
				dim = -1
			}
			*rows = append(*rows, b.row(dim))
		}
		return nil
	case declaration.Permute:
		dims = pick(dims, b.args.Axes(x.Attr))
	case declaration.Keep:
		dims = pick(dims, b.args.Axes(x.Attr))
	case declaration.Drop:
		dims = b.dropped(x)
	}
	if len(dims) != width {
		return infer.Refuse(o.Where(), fmt.Sprintf("rank %d", len(o.Decl.Index)-1+len(dims)), fmt.Sprintf("rank %d", len(shape)), "kernel %s, %s: wrong rank", b.decl.Name, o.Decl.Name())
	}
	for _, dim := range dims {
		*rows = append(*rows, b.row(dim))
	}
	return nil
}

// dropped gives the dims of a group without the axes of an attribute; -1 stands for a dropped one that is kept with size 1.
func (b *binder) dropped(x declaration.IndexItem) []int {
	axes := b.args.Axes(x.Attr)
	keep := b.args.Params["keepdims"].Int != 0
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

// computedRows derives the rows of an output's computed entry, which must be affine.
func (b *binder) computedRows(o *instance.Operand, x declaration.IndexItem, width int) error {
	if x.Group == "" {
		width = 1
	}
	for i := range width {
		e, err := scalar.Parse(x.At, bodyNames{b, i})
		if err == nil {
			e, err = e.WithType(scalar.Int64)
		}
		if err != nil {
			return infer.Refuse("/body", "an affine expression of dimensions", err.Error(), "kernel %s, %s", b.decl.Name, o.Decl.Name())
		}
		sum, ok := b.box.Sum(e.Fold())
		if !ok {
			return infer.Refuse("/body", "an affine expression of dimensions", x.At, "kernel %s, %s", b.decl.Name, o.Decl.Name())
		}
		o.Access.Offset[len(o.Access.Projection)] += sum.Constant
		o.Access.Projection = append(o.Access.Projection, sum.Row(len(b.in.Dims)))
	}
	return nil
}

// Package macrotile makes what the trees of products have alike: operands in the dimensions of a contraction, regions of tasks, each of which has a
// macro-tile, and the loops over its register tiles. It must not import backends/cpu. Read next: driver.go, task.go, then backends/cpu/product, which makes whole trees.
package macrotile

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/nest/computed"
	"tensortapestry.org/tapc/ir/scalar"
)

// Driver makes the tree of a contraction.
type Driver struct {
	*blocking.Blocking
	*tree.Names
	Operands []*tree.Memory
	Left     *tree.Memory         // what register tiles read: an operand, its panels, a copy of it
	Prefix   string               // of the names of templates
	Own      map[int]*tree.Memory // operands that a task has for itself: its rows, and what each has in line
	First    *tree.Index          // of these rows
	copied   *tree.Memory         // the copy of the left operand with zeros around
}

// New makes the memories of operands.
func New(names *tree.Names, b *blocking.Blocking) *Driver {
	d := &Driver{Blocking: b, Names: names}
	for i := range b.K.Operands {
		d.Operands = append(d.Operands, d.operand(i))
	}
	d.Left = d.Operands[b.C.Left]
	return d
}

// Call makes a leaf of a template.
func (d *Driver) Call(template string, writes, reads []tree.Box, args ...tree.Argument) tree.Stmt {
	return tree.Call(d.Prefix+template, writes, reads, args...)
}

// Rounds makes the loop over so many of an extent at a time, if these are not all. What is left behind whole rounds has statements of its own.
func (d *Driver) Rounds(name string, extent, step int64, body func(first *tree.Index, count int64) []tree.Stmt) []tree.Stmt {
	full := extent / step * step
	if step >= extent {
		return body(tree.Const(0), extent)
	}
	out := []tree.Stmt{d.Loop(tree.Serial, name, tree.Const(0), tree.Const(full), step, func(at *tree.Index) []tree.Stmt { return body(at, step) })}
	if full < extent {
		out = append(out, body(tree.Const(full), extent-full)...)
	}
	return out
}

// apart says whether an operand moves along each loop of columns and reduction by itself, as a window does, and what a factor is computed of.
func (d *Driver) apart(i int) bool {
	return d.C.Window != nil && i == d.C.Right || computed.Reads(d.C.Computed, i)
}

// Dims are the dimensions of an operand: of the batch, of rows, of columns and of the reduction.
func (d *Driver) Dims(i int) []nest.Dim {
	col, reduction := []nest.Dim{d.C.Col}, d.C.Reduction
	if d.apart(i) {
		col, reduction = d.loops(col), d.loops(reduction)
	}
	return slices.Concat(d.Batch, []nest.Dim{d.C.Row}, col, reduction)
}

// loops gives the loops of dimensions, each a dimension.
func (d *Driver) loops(dims []nest.Dim) (out []nest.Dim) {
	for _, x := range dims {
		for _, l := range x.Loops {
			out = append(out, nest.Dim{Loops: []int{l}, Extent: d.K.Loops[l].Extent()})
		}
	}
	return out
}

func (d *Driver) operand(i int) *tree.Memory {
	o, v := d.K.Operands[i], d.C.Views[i]
	m := &tree.Memory{Name: fmt.Sprintf("p%d", i), Type: o.Type(), Operand: i, Written: o.Mode == schedule.Write, Base: builder.Base(d.K, v)}
	if d.C.Padded != nil && i == d.C.Left { // what is copied of it
		p := d.C.Padded
		m.Base = 0
		for _, x := range p.Dims {
			stride := p.Buffer.Strides[x.Dim]
			m.Base -= p.Buffer.Range.Start[x.Dim] * stride
			m.Dims = append(m.Dims, tree.Dim{Start: p.Live.Start[x.Dim], End: p.Live.End[x.Dim], Stride: stride})
		}
		return m
	}
	m.Dims = d.strides(i)
	return m
}

// strides are how an operand moves along its dimensions.
func (d *Driver) strides(i int) (out []tree.Dim) {
	for _, x := range d.Dims(i) {
		out = append(out, tree.Dim{End: x.Extent, Stride: x.Step(d.C.Views[i])})
	}
	return out
}

// Padded declares the copy of the left operand with zeros around, of elements of a type, and that in the dimensions of the contraction.
func (d *Driver) Padded(t scalar.DType) []tree.Stmt {
	rows := int64(1) // places of all but the two innermost dimensions
	for _, x := range d.C.Padded.Dims[:len(d.C.Padded.Dims)-2] {
		rows *= x.Extent()
	}
	d.copied = tree.Stored(d.Fresh("copied"), t, tree.Workspace, rows, d.C.Padded.Elements()/rows)
	d.Left = &tree.Memory{Name: d.Fresh("left"), Type: t, Scope: tree.Workspace, Operand: -1, Base: builder.Base(d.K, d.C.Views[d.C.Left]), Of: d.copied, Packed: true, Dims: d.strides(d.C.Left)}
	return []tree.Stmt{&tree.Declare{Memory: d.copied}, &tree.Declare{Memory: d.Left}}
}

// Pad is the region that copies the left operand, row by row: a byte is around.
func (d *Driver) Pad(around tree.Computed) tree.Stmt {
	p, image, n := d.C.Padded, d.Operands[d.C.Left], len(d.C.Padded.Dims)
	across, inner := p.Dims[n-2], p.Dims[n-1]
	first := max(across.First, p.Live.Start[across.Dim])
	end := max(first, min(across.Last+1, p.Live.End[across.Dim]))
	return d.Loop(tree.Thread, "row", tree.Const(0), tree.Const(d.copied.Dims[0].End), 1, func(row *tree.Index) []tree.Stmt {
		byte := tree.NewMemory(d.Fresh("around"), scalar.Int32, tree.Registers, 0, 1)
		body := []tree.Stmt{&tree.Declare{Memory: byte}, &tree.Map{Dst: tree.Access{Memory: byte, At: []*tree.Index{tree.Const(0)}}, Computed: around}}
		at, rest, inside := make([]tree.Span, n), row, []tree.Cond(nil)
		for i, x := range slices.Backward(p.Dims[:n-2]) {
			coordinate := rest.Mod(x.Extent()).Plus(x.First)
			rest = rest.Div(x.Extent())
			if start, end := p.Live.Start[x.Dim], p.Live.End[x.Dim]; x.First < start || x.Last >= end {
				coordinate = d.Bound(&body, fmt.Sprintf("x%d", x.Dim), coordinate)
				inside = append(inside, tree.Cond{Var: coordinate.Var(), From: tree.Const(start), Limit: tree.Const(end)})
			}
			at[i] = tree.Only(coordinate)
		}
		some := func(from, to int64) tree.Box {
			return tree.BoxOf(d.copied, tree.Only(row), tree.Between(tree.Const((from-across.First)*inner.Extent()), tree.Const((to-across.First)*inner.Extent())))
		}
		fill := func(from, to int64) (out []tree.Stmt) {
			if from < to {
				b, w := tree.BoxOf(byte, tree.All(1)), some(from, to)
				out = append(out, tree.Call("tapc_around", []tree.Box{w}, []tree.Box{b}, append([]tree.Argument{b.Address(), w.Address()}, Constants((to-from)*inner.Extent())...)...))
			}
			return out
		}
		there := append(fill(across.First, first), fill(end, across.Last+1)...)
		if first < end {
			at[n-2], at[n-1] = tree.Between(tree.Const(first), tree.Const(end)), tree.Between(tree.Const(inner.First), tree.Const(inner.Last+1))
			r, w := tree.BoxOf(image, at...), some(first, end)
			there = append(there, tree.Call("tapc_places", []tree.Box{w}, []tree.Box{r}, slices.Concat([]tree.Argument{r.Address()}, Constants(image.Dims[n-2].Stride, image.Dims[n-1].Stride),
				[]tree.Argument{w.Address()}, Constants(end-first, inner.Extent()))...))
		}
		if len(inside) == 0 {
			return append(body, there...)
		}
		return append(body, &tree.If{Conds: inside, Then: there, Else: fill(across.First, across.Last+1)})
	})
}

// BatchName is what the coordinate of a dimension of the batch is called.
func BatchName(i int) string { return fmt.Sprintf("g%d", i) }

// BatchOf names the coordinates of the batch for the number of a place among those of some of its dimensions; of the others, they are 0.
func (d *Driver) BatchOf(body *[]tree.Stmt, rest *tree.Index, dims []nest.Dim) []*tree.Index {
	out := make([]*tree.Index, len(d.Batch))
	for i, a := range slices.Backward(d.Batch) {
		at := slices.IndexFunc(dims, func(x nest.Dim) bool { return x.Inner() == a.Inner() })
		switch {
		case at < 0:
			out[i] = tree.Const(0)
		case at == 0:
			out[i] = d.Let(body, BatchName(i), rest)
		default:
			out[i] = d.Let(body, BatchName(i), rest.Mod(a.Extent))
			rest = rest.Div(a.Extent)
		}
	}
	return out
}

// GroupOf is the number of a place in the batch among those that an operand has.
func (d *Driver) GroupOf(operand int, batch []*tree.Index) *tree.Index {
	at := tree.Const(0)
	for i, a := range d.Batch {
		if a.Step(d.C.Views[operand]) != 0 {
			at = at.Times(a.Extent).Add(batch[i])
		}
	}
	return at
}

// Of is a box of an operand, or of what has its dimensions.
func (d *Driver) Of(i int, batch []*tree.Index, rows, cols tree.Span, reduction []tree.Span) tree.Box {
	m := d.Operands[i]
	if own := d.Own[i]; own != nil {
		line := cols
		if d.C.Col.Step(d.C.Views[i]) == 0 {
			line = reduction[len(reduction)-1]
		}
		return tree.BoxOf(own, []tree.Span{less(rows, d.First), line}[:len(own.Dims)]...)
	}
	if i == d.C.Left && d.copied != nil {
		m = d.Left
	}
	var spans []tree.Span
	for _, x := range batch {
		spans = append(spans, tree.Only(x))
	}
	spans = append(spans, rows)
	if d.apart(i) {
		for _, x := range m.Dims[len(spans):] {
			spans = append(spans, tree.All(x.End))
		}
		return tree.BoxOf(m, spans...)
	}
	return tree.BoxOf(m, slices.Concat(spans, []tree.Span{cols}, reduction)...)
}

// Run is a part of the innermost dimension of the reduction, and all of the others.
func (d *Driver) Run(from, to *tree.Index) (out []tree.Span) {
	for _, x := range d.C.Reduction {
		out = append(out, tree.All(x.Extent))
	}
	if n := len(out); n > 0 {
		out[n-1] = tree.Between(from, to)
	}
	return out
}

// WholeRun is all of the reduction.
func (d *Driver) WholeRun() []tree.Span {
	return d.Run(tree.Const(0), tree.Const(d.C.InnerReduction()))
}

// less gives a range from another beginning.
func less(s tree.Span, first *tree.Index) tree.Span {
	return tree.Between(s.From.Add(first.Times(-1)), s.To.Add(first.Times(-1)))
}

// Whole is all of a memory.
func Whole(m *tree.Memory) tree.Box {
	var spans []tree.Span
	for _, d := range m.Dims {
		spans = append(spans, tree.Between(tree.Const(d.Start), tree.Const(d.End)))
	}
	return tree.BoxOf(m, spans...)
}

// Coordinates are those of the batch as arguments, behind the table of operands, with others behind them.
func Coordinates(batch []*tree.Index, more ...*tree.Index) []tree.Argument {
	return append([]tree.Argument{{}}, tree.Numbers(slices.Concat(batch, more)...)...)
}

// Constants are numbers that a template is given.
func Constants(list ...int64) (out []tree.Argument) {
	for _, n := range list {
		out = append(out, tree.Number(tree.Const(n)))
	}
	return out
}

// LastLeaf gives the template of the last leaf in some statements, "" of none.
func LastLeaf(body []tree.Stmt) (template string) {
	tree.Walk(body, func(s tree.Stmt) {
		if leaf, ok := s.(*tree.Leaf); ok {
			template = leaf.Template
		}
	})
	return template
}

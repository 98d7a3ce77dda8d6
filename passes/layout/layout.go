// Package layout is the pass that chooses the order in which the elements of arena buffers and constants stand in memory.
//
// Buffers between convolutions hold their channels innermost, so that vectors of channels are read and written in one piece
// whatever the windows, strides and pads are. The choice is made once for all buffers that kernels connect dimension by
// dimension, so nothing is copied from one order to another between them. Other buffers stay row-major, and so do
// constants, but for those that kernels read vectors of along another dimension, and what is computed of them. Rows that would stand a
// multiple of 4 KiB apart have a line of the cache between them. Filters that are no constants are copied into the order that the lanes of a convolution of few of them want. What devices of one memory would copy from each other lies over what they have. Values do not change.
// Read next: passes/tile.
package layout

import (
	"cmp"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Run chooses layouts, and gives how many buffers are not row-major afterwards, or lie over others. By a model, if there is one, it weighs those that change no value.
func Run(g *ir.Graph, model cost.Model) (int, error) {
	c := &chooser{g: g, group: map[ir.NodeID]ir.NodeID{}, channel: map[ir.NodeID]int{}, joined: map[ir.NodeID][]int{}, outside: map[ir.NodeID]*schedule.Buffer{}}
	buffers := whole.Buffers(g)
	var products []*schedule.Kernel
	for n := range g.Nodes() {
		switch b := n.Body.(type) {
		case *schedule.Kernel:
			c.connect(b)
			c.together(b)
			if _, ok := nest.FindContraction(b, buffers); ok {
				products = append(products, b)
			}
			if _, ok := nest.FindBackToBack(b, buffers); ok || fewSummed(b) { // it is none with results in another order, or its vectors follow them
				for _, o := range b.Operands {
					c.ordered.Add(c.all(o.Buffer))
				}
			}
		case *schedule.Transfer:
			c.transfer(b)
		case *schedule.Buffer:
			if b.Space != schedule.Arena {
				c.outside[c.all(n.ID)] = b
			}
		}
	}
	for n := range g.Nodes() {
		if k, ok := n.Body.(*schedule.Kernel); ok {
			c.vote(k)
		}
	}
	moved := map[ir.NodeID][]int64{} // buffers with their channels innermost, and the strides that they had
	for n := range g.Nodes() {
		b, ok := n.Body.(*schedule.Buffer)
		if !ok || b.Space != schedule.Arena || c.fixed.Has(n.ID) || c.outside[c.all(n.ID)] != nil || c.ordered.Has(c.all(n.ID)) {
			continue
		}
		if dim, ok := c.channel[c.root(n.ID)]; ok && dim >= 0 && dim < b.Range.Rank()-1 && b.RowMajor() && !slices.Contains(c.joined[c.all(n.ID)], dim) {
			moved[n.ID] = b.Strides
			innermost(b, dim)
		}
	}
	c.restore(moved, products)
	changed := len(moved)
	reordered := c.computed()
	reordered = append(reordered, c.constants()...)
	changed += len(reordered)
	if model != nil {
		taken, err := c.weigh(model, reordered)
		if err != nil {
			return 0, err
		}
		changed -= taken
	}
	copied, err := c.filters()
	if err != nil {
		return 0, err
	}
	changed += copied + c.spread()
	aliased, err := c.alias()
	return changed + aliased, err
}

// restore gives buffers the order back that they had where a contraction would be none with their channels innermost, as a convolution of one row of an image with pads around it: its sum
// would have another order than where a reader is joined to it, whose result has the order that it has.
func (c *chooser) restore(moved map[ir.NodeID][]int64, products []*schedule.Kernel) {
	for again := true; again; {
		again = false
		buffers, back := whole.Buffers(c.g), ir.NodeSet{}
		for _, k := range products {
			if !slices.ContainsFunc(k.Operands, func(o schedule.Operand) bool { return moved[o.Buffer] != nil }) {
				continue
			}
			if _, ok := nest.FindContraction(k, buffers); !ok {
				for _, o := range k.Operands {
					back.Add(c.all(o.Buffer))
				}
			}
		}
		for id, strides := range moved {
			if back.Has(c.all(id)) {
				c.g.Node(id).Body.(*schedule.Buffer).Strides = strides
				delete(moved, id)
				again = true
			}
		}
	}
}

// grown is a buffer that got larger: where it ended, and by how much what begins there or later has to move.
type grown struct{ end, by int64 }

// spread spreads the rows of buffers, and makes room for what they take more: every buffer behind one moves on.
func (c *chooser) spread() int {
	changed := 0
	more := map[ir.NodeID][]grown{} // by device
	for n := range c.g.Nodes() {
		b, ok := n.Body.(*schedule.Buffer)
		if !ok || b.Space != schedule.Arena || c.fixed.Has(n.ID) || c.sent.Has(n.ID) || c.onGrid(b) {
			continue
		}
		bytes := b.Bytes
		if spread(b, c.joined[c.all(n.ID)]) {
			changed++
			more[b.Device] = append(more[b.Device], grown{b.Offset + bytes, (b.Bytes - bytes + aliasBytes - 1) / aliasBytes * aliasBytes})
		}
	}
	for _, list := range more {
		slices.SortFunc(list, func(a, b grown) int { return cmp.Compare(a.end, b.end) })
		for i := range list[1:] {
			list[i+1].by += list[i].by
		}
	}
	for n := range c.g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok && b.Space == schedule.Arena {
			list := more[b.Device]
			if i, _ := slices.BinarySearchFunc(list, b.Offset+1, func(x grown, at int64) int { return cmp.Compare(x.end, at) }); i > 0 {
				b.Offset += list[i-1].by
			}
		}
	}
	return changed
}

const (
	aliasBytes = 4096 // elements this far apart share a set of a processor's first cache
	leastRows  = 8    // as many lines as a set holds: from there on rows push each other out
)

// spread leaves a line free behind every row of a buffer whose rows would stand a multiple of aliasBytes apart, so that a column
// of the rows fits in the first cache. Where one sum goes along rows and columns, joined, it does not: rows that follow each other evenly are summed as one, and what devices send
// each other lies so.
func spread(b *schedule.Buffer, joined []int) bool {
	shape := b.Range.Shape()
	var dims []int
	for d, n := range shape {
		if n > 1 {
			dims = append(dims, d)
		}
	}
	slices.SortFunc(dims, func(x, y int) int { return cmp.Compare(b.Strides[x], b.Strides[y]) })
	if len(dims) < 2 || b.Strides[dims[0]] != 1 || shape[dims[1]] < leastRows || slices.Contains(joined, dims[0]) && slices.Contains(joined, dims[1]) {
		return false
	}
	dtype, err := scalar.ParseDType(b.DType)
	if err != nil {
		return false
	}
	size := int64(dtype.Size())
	step := b.Strides[dims[1]]
	if step != shape[dims[0]] || schedule.LineBytes%size != 0 || step*size%aliasBytes != 0 || b.Bytes > 1<<40 || b.Align > aliasBytes {
		return false
	}
	b.Strides = slices.Clone(b.Strides)
	step += schedule.LineBytes / size
	for _, d := range dims[1:] {
		b.Strides[d] = step
		step *= shape[d]
	}
	b.Bytes = step * size
	return true
}

type chooser struct {
	g       *ir.Graph
	group   map[ir.NodeID]ir.NodeID        // a buffer that a buffer is connected with; itself if absent
	channel map[ir.NodeID]int              // by root of a group: the dimension to put innermost, -1 where kernels disagree
	fixed   ir.NodeSet                     // buffers that are copied as they are
	sent    ir.NodeSet                     // others that are copied, whose elements stay as near to each other as they are
	ordered ir.NodeSet                     // tensors (see all) whose elements stay in the order that they have
	outside map[ir.NodeID]*schedule.Buffer // by tensor (see all), that which the caller has, or the program's data: its order is that of all parts, as it is without devices
	joined  map[ir.NodeID][]int            // by tensor: dimensions that a kernel sums together, whose order is that of the sum
}

// all gives what a buffer holds a part of: its tensor, all of whose parts have one order on every device, as the sums of the whole operation follow it; itself if it has none.
func (c *chooser) all(id ir.NodeID) ir.NodeID {
	if b, ok := c.g.Node(id).Body.(*schedule.Buffer); ok && tensorops.TensorOf(c.g, b.Tensor) != nil {
		return b.Tensor
	}
	return id
}

func (c *chooser) root(id ir.NodeID) ir.NodeID {
	for {
		up, ok := c.group[id]
		if !ok {
			return id
		}
		id = up
	}
}

// arena gives an operand's buffer if it may have another order: on a grid neighbouring lanes follow the last dimension.
func (c *chooser) arena(o *schedule.Operand) (*schedule.Buffer, bool) {
	b, ok := c.g.Node(o.Buffer).Body.(*schedule.Buffer)
	if !ok || b.Space != schedule.Arena || b.Range.Rank() < 3 {
		return nil, false
	}
	return b, !c.onGrid(b)
}

// onGrid says whether a buffer is on a device that carries kernels out by lanes, or on none.
func (c *chooser) onGrid(b *schedule.Buffer) bool {
	d, ok := c.g.Node(b.Device).Body.(*schedule.Device)
	return !ok || d.Type.Has(schedule.Lane)
}

// connect joins the groups of the operands of a kernel that follow the same loops, dimension by dimension; one dimension may
// differ, as the channels of a convolution do. Filters are connected with nothing: their order is their own.
func (c *chooser) connect(k *schedule.Kernel) {
	_, filter, _, _ := windowed(k)
	for i := range k.Operands {
		if _, ok := c.arena(&k.Operands[i]); !ok || &k.Operands[i] == filter {
			continue
		}
		for j := range i {
			if _, ok := c.arena(&k.Operands[j]); ok && &k.Operands[j] != filter && parallel(k, &k.Operands[i], &k.Operands[j]) {
				if a, b := c.root(k.Operands[i].Buffer), c.root(k.Operands[j].Buffer); a != b {
					c.group[max(a, b)] = min(a, b)
				}
			}
		}
	}
}

// transfer joins the buffers of a transfer between arenas of hosts, which copy between any orders, as halos and parts are that devices read of each other: with one order, what
// needs no copy needs none still. What comes from inputs or goes to outputs, or to another kind of device, is copied as it is.
func (c *chooser) transfer(t *schedule.Transfer) {
	for _, id := range []ir.NodeID{t.From, t.To} {
		b, ok := c.g.Node(id).Body.(*schedule.Buffer)
		if !ok || b.Space != schedule.Arena || c.onGrid(b) {
			c.fixed.Add(t.From)
			c.fixed.Add(t.To)
			return
		}
	}
	c.sent.Add(t.From)
	c.sent.Add(t.To)
	if a, b := c.root(t.From), c.root(t.To); a != b {
		c.group[max(a, b)] = min(a, b)
	}
}

// loopsOf gives the loops that a dimension of an operand follows, of more than one value in the whole operation: a shard of one row votes as the whole does.
func loopsOf(k *schedule.Kernel, o *schedule.Operand, dim int) []int {
	var out []int
	for l, f := range o.Access.Projection[dim] {
		if f != 0 && !whole.Single(k.Loops[l]) {
			out = append(out, l)
		}
	}
	return out
}

func parallel(k *schedule.Kernel, a, b *schedule.Operand) bool {
	if len(a.Access.Projection) != len(b.Access.Projection) {
		return false
	}
	shared, differ := 0, 0
	for d := range a.Access.Projection {
		x, y := loopsOf(k, a, d), loopsOf(k, b, d)
		switch {
		case slices.ContainsFunc(x, func(l int) bool { return slices.Contains(y, l) }):
			shared++
		case len(x) > 0 || len(y) > 0:
			differ++
		}
	}
	return shared > 0 && differ <= 1
}

// together notes which dimensions of operands one sum goes along, all of each, if these are several: with another one innermost the sum would have another order, and so other bits
// than where another kernel has joined them, as a reshape before the sum does.
func (c *chooser) together(k *schedule.Kernel) {
	for _, s := range k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			for i := 0; e.Op == scalar.Reduce && i < len(k.Operands); i++ {
				o, dims := &k.Operands[i], []int(nil)
				for d := range o.Access.Projection {
					loops := loopsOf(k, o, d)
					if len(loops) > 0 && !slices.ContainsFunc(loops, func(l int) bool { return !slices.Contains(e.Over, l) }) {
						dims = append(dims, d)
					}
				}
				if len(dims) > 1 {
					c.joined[c.all(o.Buffer)] = append(c.joined[c.all(o.Buffer)], dims...)
				}
			}
			return true
		})
	}
}

// vote notes which dimension the convolutions of a group want innermost: the one that only the filters' loops move along.
func (c *chooser) vote(k *schedule.Kernel) {
	image, filter, over, ok := windowed(k)
	if !ok {
		return
	}
	dim := channel(k, image, filter)
	if dim < 0 || fewSummed(k) || !summed(k, image, dim, over) && !c.throughout(k, image, filter) {
		return
	}
	for i := range k.Operands {
		o := &k.Operands[i]
		if b, ok := c.arena(o); ok && o != filter && (o.Mode == schedule.Write || b.Range.Rank() == len(image.Access.Projection)) {
			root, dim := c.root(o.Buffer), channel(k, o, filter)
			if dim < 0 {
				continue
			}
			if old, ok := c.channel[root]; ok && old != dim {
				dim = -1
			}
			c.channel[root] = dim
		}
	}
}

// summed says whether a sum goes along a dimension of an operand.
func summed(k *schedule.Kernel, o *schedule.Operand, dim int, over []int) bool {
	return slices.ContainsFunc(loopsOf(k, o, dim), func(l int) bool { return slices.Contains(over, l) })
}

// fewSummed says whether a kernel is a convolution of too few filters for vectors to follow them, which sums along channels.
func fewSummed(k *schedule.Kernel) bool {
	image, filter, over, ok := windowed(k)
	if !ok || !nest.FewFilters(k) {
		return false
	}
	dim := channel(k, image, filter)
	return dim >= 0 && summed(k, image, dim, over)
}

// throughout says whether the image of a convolution and its results all have their channels innermost, or may have. Where no sum goes along the
// channels, vectors follow one dimension from the image to the results: with channels innermost on one side only, the other is read or written
// cell by cell.
func (c *chooser) throughout(k *schedule.Kernel, image, filter *schedule.Operand) bool {
	for i := range k.Operands {
		o := &k.Operands[i]
		if o != image && o.Mode != schedule.Write {
			continue
		}
		if _, ok := c.arena(o); (!ok || c.outside[c.all(o.Buffer)] != nil || c.ordered.Has(c.all(o.Buffer))) && !c.innermost(o, channel(k, o, filter)) {
			return false
		}
	}
	return true
}

// innermost says whether an operand's buffer has a dimension innermost as it is, as an input has that is read through a permutation.
func (c *chooser) innermost(o *schedule.Operand, dim int) bool {
	b, ok := c.g.Node(o.Buffer).Body.(*schedule.Buffer)
	if all := c.outside[c.all(o.Buffer)]; all != nil { // a part of it may have one value of a dimension, or none
		b, ok = all, true
	}
	return ok && dim >= 0 && b.Strides[dim] == 1
}

// channel gives the last dimension of an operand that only loops of the filter move along, or -1.
func channel(k *schedule.Kernel, o, filter *schedule.Operand) int {
	dim := -1
	for d := range o.Access.Projection {
		loops := loopsOf(k, o, d)
		if len(loops) > 0 && !slices.ContainsFunc(loops, func(l int) bool { return !filter.Follows(l) }) {
			dim = d
		}
	}
	return dim
}

// windowed finds the image and the filter of a convolution: a sum of products of two operands, one of which moves along a
// dimension with a free loop and a folded one that the other follows. Over are the loops of the sum.
func windowed(k *schedule.Kernel) (image, filter *schedule.Operand, over []int, ok bool) {
	for _, s := range k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op != scalar.Reduce || e.Monoid != scalar.Add || e.Args[0].Op != scalar.Mul {
				return true
			}
			for _, order := range [][2]int{{0, 1}, {1, 0}} {
				a, b := loaded(e.Args[0].Args[order[0]]), loaded(e.Args[0].Args[order[1]])
				if a >= 0 && b >= 0 && moves(k, &k.Operands[a], &k.Operands[b], e.Over) {
					image, filter, over, ok = &k.Operands[a], &k.Operands[b], e.Over, true
				}
			}
			return true
		})
	}
	return image, filter, over, ok
}

// loaded gives the operand that an expression reads, perhaps only inside its borders, converted, or less a zero point; -1 if it is
// something else.
func loaded(e *scalar.Expr) int {
	for {
		switch e.Op {
		case scalar.Load:
			return e.Ref
		case scalar.Where:
			e = e.Args[1]
		case scalar.Cast, scalar.Sub:
			e = e.Args[0]
		default:
			return -1
		}
	}
}

func moves(k *schedule.Kernel, image, filter *schedule.Operand, over []int) bool {
	for d := range image.Access.Projection {
		free, folded := false, false
		for _, l := range loopsOf(k, image, d) {
			if slices.Contains(over, l) {
				folded = folded || filter.Follows(l)
			} else {
				free = free || !filter.Follows(l)
			}
		}
		if free && folded {
			return true
		}
	}
	return false
}

// innermost puts one dimension behind the others.
func innermost(b *schedule.Buffer, dim int) {
	shape := b.Range.Shape()
	step := max(1, shape[dim])
	b.Strides = slices.Clone(b.Strides)
	b.Strides[dim] = 1
	for d := len(shape) - 1; d >= 0; d-- {
		if d != dim {
			b.Strides[d] = step
			step *= max(1, shape[d])
		}
	}
}

package tile

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// The left operand of a narrow contraction can be read where it stands, in runs of neighbours along the fold: an image whose channels
// stand innermost, in its buffer or in the copy that Source.Padded describes. So a convolution's windows are never written out.

const (
	standingRun  = 16      // shorter runs of neighbours along the fold are made longer by a copy
	standingCols = 4       // fewer columns do not pay for vectors of them
	pagedStep    = 4 << 10 // rows that are a multiple of this many bytes apart push each other out of the first cache
	directRows   = 4       // unless there are so few
)

// Run is the length of the fold that stands in one piece in the left operand: the extent of its innermost dimension.
func (n *Narrow) Run() int64 {
	if len(n.Fold) == 0 {
		return 1
	}
	return n.Fold[len(n.Fold)-1].Extent
}

// Length is the length of the fold.
func (n *Narrow) Length() int64 {
	length := int64(1)
	for _, d := range n.Fold {
		length *= d.Extent
	}
	return length
}

// asItStands says whether the left operand has elements as the instructions take them: bytes without sign, or bfloat16.
func (n *Narrow) asItStands() bool {
	return n.LeftType == scalar.UInt8 || n.LeftType == scalar.BFloat16
}

// sides sorts the factors: what is multiplied with a constant is the left operand, and the constant, which is copied in groups when
// the program is built, the right one.
func (n *Narrow) sides(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, x, y narrowFactor) (left, right narrowFactor, ok bool) {
	constant := func(f narrowFactor) bool { return Stored(buffers[k.Operands[f.ref].Buffer]) }
	if constant(x) {
		x, y = y, x
	}
	n.setSides(x, y)
	return x, y, constant(y) && !constant(x) && y.open == nil && x.ref != y.ref && used(k, x.ref) == 1 && used(k, y.ref) == 1 && n.evenZeros(k)
}

// inPlace recognises a contraction whose left operand can be read in its own buffer, in runs that are long enough.
func (n *Narrow) inPlace(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, free []int64, x, y narrowFactor) bool {
	left, right, ok := n.sides(k, buffers, x, y)
	if !ok || left.open != nil || !n.asItStands() || !inside(k, buffers, left.ref) || !n.standingRoles(k, free, left.ref, right.ref) {
		return false
	}
	step := abs(n.Row.Step(n.Views[n.Left])) * int64(n.LeftType.Size())
	return (n.Run() >= standingRun || n.Run() == n.Length()) && (step%pagedStep != 0 || n.Row.Extent <= directRows)
}

// copied recognises a contraction whose left operand a window slides over, or that has zeros around it: it is read in a copy with
// its zero point around, if that is one for all of it.
func (n *Narrow) copied(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, free []int64, x, y narrowFactor) bool {
	x, y, ok := n.sides(k, buffers, x, y)
	if !ok {
		return false
	}
	if x.open != nil {
		guarded := &scalar.Expr{Op: scalar.Where, Type: x.typ, Args: []*scalar.Expr{x.open, scalar.NewLoad(x.ref, x.typ), scalar.NewConst(scalar.Zero(x.typ))}}
		if _, ok := paddedOperand(k, buffers, guarded); !ok || !n.uniformZero(k) {
			return false
		}
	} else if !inside(k, buffers, x.ref) {
		return false
	}
	p, view, ok := copyOf(k, buffers[k.Operands[x.ref].Buffer], x.ref, free, n.Views[y.ref])
	if !ok {
		return false
	}
	n.Padded, n.Views = p, slices.Clone(n.Views)
	n.Views[x.ref] = view
	return n.standingRoles(k, free, x.ref, y.ref)
}

// turned recognises what copied does if the results are neighbours along the rows: turning the sums costs less than copying what the
// rows are of in groups, with the fold in steps.
func (n *Narrow) turned(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, free []int64, x, y narrowFactor) bool {
	return n.copied(k, buffers, free, x, y) && n.Turned
}

// uniformZero says whether the left operand's zero point is one number.
func (n *Narrow) uniformZero(k *schedule.Kernel) bool {
	good := true
	if n.LeftZero != nil {
		n.LeftZero.Walk(func(e *scalar.Expr) bool {
			for l := range k.Loops {
				good = good && (e.Op != scalar.Load || n.Views[e.Ref].Steps[l] == 0 || k.Loops[l].Extent() == 1)
			}
			return good
		})
	}
	return good
}

// standingRoles sorts the loops: those of the results that the left operand follows are rows, those that the right one follows
// columns. The left operand has to stand in one piece along some of the fold.
func (n *Narrow) standingRoles(k *schedule.Kernel, free []int64, left, right int) bool {
	out := slices.IndexFunc(k.Statements, func(s schedule.Statement) bool { return s.Store >= 0 })
	if out < 0 {
		return false
	}
	c := n.Contraction
	c.Left, c.Right = left, right
	store := c.Views[k.Statements[out].Store]
	c.sortLoops(k, free, store)
	c.mergeFold(k)
	if c.Col.Extent < standingCols || len(c.Fold) == 0 || c.Fold[len(c.Fold)-1].Step(c.Views[left]) != 1 {
		return false
	}
	n.Standing, c.Turned = true, c.Col.Step(store) != 1 && c.Row.Step(store) == 1
	return true
}

// standingTile is the register tile of sums of a contraction whose left operand is read where it stands.
func (t Target) standingTile(n *Narrow) (rows, cols int64) {
	if t.Vector < 64 || n.Group == 2 {
		return t.narrowTile(n.Group)
	}
	tile := t.registerTile(n.Row.Extent, n.Col.Extent, t.lanes(4), min(n.Length()/n.Group+1, maxFold), maxRows, false)
	return tile.Rows, tile.Vectors * t.lanes(4)
}

// bindStanding cuts a contraction whose left operand is read where it stands.
func (t Target) bindStanding(k *schedule.Kernel, n *Narrow) {
	tileRows, tileCols := t.standingTile(n)
	length, bytes := n.Length(), 4/n.Group
	p := productPlan{lanes: t.lanes(4), tile: RegisterTile{tileRows, tileCols / t.lanes(4)}, length: length, batch: 1}
	for _, d := range n.Batch {
		p.batch *= d.Extent
	}
	p.rows = roundUp(n.Row.Extent, tileRows)
	if most := roundDown(t.L2/4/max(1, length*bytes), tileRows); most < p.rows {
		p.rows = even(n.Row.Extent, most, tileRows)
	}
	p.cols = min(roundUp(n.Col.Extent, tileCols), roundDown(t.L2/2/max(1, length*bytes), tileCols))
	if n.Turned {
		p.turned(MaxSums / 4)
	}
	p.shrink(n.Contraction, tileCols)
	bind := schedule.Serial
	if saturatingProduct(length, n.Row.Extent, n.Col.Extent, p.batch) >= productWork {
		bind = schedule.Thread
	}
	for _, d := range n.Batch {
		for _, l := range d.Loops {
			k.Loops[l].Levels = []schedule.Level{{Tile: 1, Bind: bind}}
		}
	}
	n.Row.bind(k, bind, p.rows, tileRows, 1)
	n.Col.bind(k, bind, p.cols, tileCols, p.lanes)
	run := n.Run()
	k.Loops[n.Fold[len(n.Fold)-1].Inner()].Levels = []schedule.Level{{Tile: run}, {Tile: min(run, SumBlock)}, {Tile: 1}}
}

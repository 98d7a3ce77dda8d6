package tile

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
)

// Narrow is a contraction of narrow numbers: of bfloat16, or of bytes less their zero points. Processors have instructions for
// sums of two products of the one and four of the other, in float32 and int32. Both operands are read in groups of four bytes along
// the fold. They are copied in such groups, and the fold has one dimension, unless the left operand is read where it stands.
type Narrow struct {
	*Contraction
	Group               int64        // values of the fold in a group: 2 of bfloat16, 4 of bytes
	LeftZero, RightZero *scalar.Expr // what is subtracted from the bytes, of int32; nil for nothing
	LeftType, RightType scalar.DType // what the operands hold
	Standing            bool         // the left operand is read where it stands, see inPlace; else it is copied in groups
}

// Sizes of the tiles of narrow contractions.
const (
	NarrowPanel = 16       // rows or columns that are copied side by side
	NarrowRows  = 32       // of a piece, a multiple of these: matrix units take two panels of either operand at a time
	NarrowCols  = 96       // of a piece, a multiple of these: a multiple of the widths of all tiles
	NarrowBlock = 64       // bytes of the fold that a matrix unit takes at a time
	narrowFold  = 2 << 10  // bytes of the fold that run at once
	narrowSums  = 64 << 10 // unfinished sums of a piece at most
	minNarrow   = 16       // columns, and length of the fold, of float32 that pays to be made narrow
)

// FindNarrow recognises a contraction of narrow numbers. Numbers of float32 count as bfloat16 if the kernel is allowed to.
func FindNarrow(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) (*Narrow, bool) {
	c := &Contraction{}
	none := slices.ContainsFunc(k.Loops, func(l schedule.Loop) bool { return l.Extent() == 0 })
	if none || !c.findSum(k) || !c.sameLoops(k) || c.Sum.Args[0].Op != scalar.Mul {
		return nil, false
	}
	n := &Narrow{Contraction: c}
	a, b := c.Sum.Args[0].Args[0], c.Sum.Args[0].Args[1]
	x, okX := n.factor(k, a)
	y, okY := n.factor(k, b)
	if !okX || !okY || x.group != y.group {
		return nil, false
	}
	n.Group = x.group
	c.Views = Views(k, buffers)
	free := k.Statements[c.Statement].Over
	if len(free)+len(c.Sum.Over) < countWide(k) {
		return nil, false
	}
	for _, form := range []func(*schedule.Kernel, map[ir.NodeID]*schedule.Buffer, []int64, narrowFactor, narrowFactor) bool{n.inPlace, n.turned, n.plain, n.copied} {
		whole := *c
		if form(k, buffers, free, x, y) {
			return n, true
		}
		*c, n.Standing = whole, false
	}
	return nil, false
}

// plain recognises a contraction whose operands are copied in groups: a product of matrices.
func (n *Narrow) plain(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, free []int64, x, y narrowFactor) bool {
	c := n.Contraction
	if x.open != nil || y.open != nil || !c.roles(k, free, x.ref, y.ref) {
		return false
	}
	if c.Left != x.ref {
		x, y = y, x
	}
	n.setSides(x, y)
	c.Fixed = Stored(buffers[k.Operands[c.Left].Buffer])
	if n.Prepared(k, buffers) {
		c.mergeFold(k)
	}
	return len(c.Fold) == 1 && inside(k, buffers, c.Left) && inside(k, buffers, c.Right) && n.evenZeros(k)
}

// setSides notes what the left and the right factor are.
func (n *Narrow) setSides(left, right narrowFactor) {
	n.LeftZero, n.RightZero, n.LeftType, n.RightType = left.zero, right.zero, left.typ, right.typ
}

// Prepared says whether the right operand is constant, so that it is copied when the program is built.
func (n *Narrow) Prepared(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) bool {
	return Stored(buffers[k.Operands[n.Right].Buffer])
}

// Rounds says whether the contraction is one of float32 numbers, rounded.
func (n *Narrow) Rounds() bool { return n.LeftType == scalar.Float32 || n.RightType == scalar.Float32 }

// narrowFactor is one side of the products.
type narrowFactor struct {
	ref   int
	typ   scalar.DType // of the operand
	zero  *scalar.Expr
	group int64
	open  *scalar.Expr // where it is false the factor is 0; nil is always true
}

// factor reads one side of the products: a number of bfloat16, perhaps as float32, one of float32 that may be rounded, or a byte
// as int32, perhaps less a zero point; each perhaps 0 where a condition on loops does not hold.
func (n *Narrow) factor(k *schedule.Kernel, e *scalar.Expr) (narrowFactor, bool) {
	f := narrowFactor{group: 2}
	e = f.guarded(e)
	switch n.Sum.Type {
	case scalar.BFloat16:
	case scalar.Float32:
		switch {
		case e.Op == scalar.Cast && e.Args[0].Type == scalar.BFloat16:
			e = f.guarded(e.Args[0])
		case e.Type != scalar.Float32 || !k.Allow.Has(permission.BF16):
			return f, false
		}
	case scalar.Int32:
		f.group = 4
		if e.Op == scalar.Sub {
			f.zero = e.Args[1]
			e = e.Args[0]
		}
		if e.Op != scalar.Cast {
			return f, false
		}
		e = f.guarded(e.Args[0])
		if e.Type != scalar.Int8 && e.Type != scalar.UInt8 {
			return f, false
		}
	default:
		return f, false
	}
	f.ref, f.typ = e.Ref, e.Type
	return f, e.Op == scalar.Load
}

// guarded takes the condition off a factor that is 0 where it does not hold. A number under the same condition once more is
// whatever it is elsewhere.
func (f *narrowFactor) guarded(e *scalar.Expr) *scalar.Expr {
	switch {
	case e.Op != scalar.Where || !ofLoops(e.Args[0]):
		return e
	case f.open != nil && f.open.Equal(e.Args[0]):
		return e.Args[1]
	case f.open != nil || !isZero(e.Args[2]) || f.zero != nil:
		return e
	}
	f.open = e.Args[0]
	return e.Args[1]
}

// evenZeros says whether the zero points are the same all along the fold, and the number zero is none.
func (n *Narrow) evenZeros(k *schedule.Kernel) bool {
	for _, z := range []**scalar.Expr{&n.LeftZero, &n.RightZero} {
		if *z == nil {
			continue
		}
		good := true
		(*z).Walk(func(e *scalar.Expr) bool {
			switch e.Op {
			case scalar.Load:
				for _, l := range n.Sum.Over {
					good = good && (n.Views[e.Ref].Steps[l] == 0 || k.Loops[l].Extent() == 1)
				}
			case scalar.Loop, scalar.Local, scalar.Reduce:
				good = false
			}
			return good
		})
		if !good {
			return false
		}
		if v := *z; isZero(v) || v.Op == scalar.Cast && isZero(v.Args[0]) {
			*z = nil
		}
	}
	return true
}

func isZero(e *scalar.Expr) bool { return e.Op == scalar.Const && e.Value.I == 0 && e.Value.F == 0 }

// inside says whether the loops never lead an operand out of its buffer.
func inside(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, operand int) bool {
	o := k.Operands[operand]
	lo, hi, err := o.Access.Hull(k.Space())
	if err != nil {
		return false
	}
	for d, r := 0, buffers[o.Buffer].Range; d < len(lo); d++ {
		if lo[d] < r.Start[d] || hi[d] >= r.End[d] {
			return false
		}
	}
	return true
}

// roundingPays says whether a kernel of float32 that may round its operands gains from it: if they are copied anyway, or when the
// program is built.
func roundingPays(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) bool {
	n, ok := FindNarrow(k, buffers)
	return ok && n.Rounds() && n.Col.Extent >= minNarrow && n.Length() >= minNarrow && (n.Prepared(k, buffers) || n.uses() >= directUses)
}

// narrowTile is the register tile of sums: as many rows as there are registers for beside the columns of some panels. Groups of two
// numbers are taken apart where there is no instruction for them, which needs registers too.
func (t Target) narrowTile(group int64) (rows, cols int64) {
	switch {
	case t.Vector < 64:
		return max(1, t.Vector/8), NarrowPanel
	case group == 2:
		return 8, 2 * NarrowPanel
	}
	return 8, 3 * NarrowPanel
}

// bindNarrow cuts a narrow contraction. Pieces are multiples of the tiles of every instruction that may carry it out.
func (t Target) bindNarrow(k *schedule.Kernel, n *Narrow) {
	if n.Standing {
		t.bindStanding(k, n)
		return
	}
	tileRows, tileCols := t.narrowTile(n.Group)
	length := n.Fold[0].Extent
	p := productPlan{lanes: t.lanes(4), tile: RegisterTile{NarrowRows, NarrowCols / t.lanes(4)}, length: length, batch: 1, fold: length}
	for _, d := range n.Batch {
		p.batch *= d.Extent
	}
	bytes := 4 / n.Group
	if length*bytes > narrowFold {
		p.fold = even(length, narrowFold/bytes, NarrowBlock/bytes)
	}
	p.rows = roundUp(n.Row.Extent, NarrowRows)
	if most := roundDown(t.L2/2/(p.fold*bytes), NarrowRows); most < p.rows {
		p.rows = even(n.Row.Extent, most, NarrowRows)
	}
	p.cols = roundUp(n.Col.Extent, NarrowCols)
	p.shrink(n.Contraction, NarrowCols)
	for p.fold < length && p.rows*p.cols > narrowSums && p.cols > NarrowCols {
		p.cols = roundUp(p.cols/2, NarrowCols)
	}
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
	inner := n.Fold[0].Inner()
	k.Loops[inner].Levels = []schedule.Level{{Tile: p.fold}, {Tile: min(p.fold, SumBlock)}, {Tile: 1}}
}

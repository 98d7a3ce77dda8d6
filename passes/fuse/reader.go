package fuse

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/fuse/access"
)

// reader is a kernel that reads what another moves from where that comes.
type reader struct {
	*schedule.Kernel
	parts [][]int // the loops that each loop of the kernel before became; nil if none was cut
}

// loopsOf gives the mover's loops from those of a kernel that reads what is moved through an operand, which may be cut for that.
func (m *mover) loopsOf(c *reader, operand int) (zspace.AffineMap, bool) {
	if m.even {
		return access.Compose(m.back, c.Operands[operand].Access), true
	}
	loops, parts, ok := access.LoopsOf(c.Kernel, operand, m.k, m.k.Operands[m.out].Access, m.written)
	if !ok {
		return loops, false
	}
	for l, list := range c.parts { // of loops that were cut before
		c.parts[l] = nil
		for _, x := range list {
			c.parts[l] = append(c.parts[l], parts[x]...)
		}
	}
	if c.parts == nil {
		c.parts = parts
	}
	for i, s := range c.Statements {
		c.Statements[i].Value = s.Value.Map(func(e *scalar.Expr) *scalar.Expr { return access.Outermost(c.Kernel, e) })
	}
	return loops, true
}

// became gives the loops that some loops of the kernel before became, in their order.
func (c reader) became(loops []int) (list []int) {
	if c.parts == nil {
		return loops
	}
	for _, l := range loops {
		list = append(list, c.parts[l]...)
	}
	return list
}

// alike says whether a dimension has the loops that another had before.
func (c reader) alike(before, now nest.Dim) bool {
	return slices.Equal(c.became(before.Loops), now.Loops)
}

// sumsLike says whether there are no sums, or lanes follow and sums run along the same loops as before, so that both give the same bits.
func (c reader) sumsLike(before, now *nest.Rows) bool {
	if c.parts == nil {
		return before.SumsLike(now)
	}
	return before.Free && now.Free && len(before.Reduction)+len(now.Reduction) == 0 ||
		before.Free == now.Free && c.alike(before.Lane, now.Lane) && slices.EqualFunc(before.Reduction, now.Reduction, c.alike)
}

// How many rows and columns products have at least of which some loops became others of a batch: fewer do not fill a tile.
const (
	fewestRows = 16
	fewestCols = 64
)

// inner says whether a dimension has the loops that another had before, or the inner ones of these, and enough values.
func (c reader) inner(before, now nest.Dim, least int64) bool {
	loops := c.became(before.Loops)
	n := len(loops) - len(now.Loops)
	return n == 0 && slices.Equal(loops, now.Loops) || n > 0 && now.Extent >= least && slices.Equal(loops[n:], now.Loops)
}

// multipliesLike says whether products have the same sums as before; where loops were cut, rows and columns of the same loops too, and factors that are read as
// neighbours.
func (c reader) multipliesLike(f *prices, before, now *nest.Contraction) bool {
	if same := slices.EqualFunc(before.Reduction, now.Reduction, c.alike); !same || c.parts == nil {
		return same
	}
	buffers := f.buffersOf(c.Kernel)
	near := func(operand int) bool {
		o := c.Operands[operand]
		return access.Neighbours(buffers[o.Buffer], o.Access)
	}
	return c.inner(before.Row, now.Row, fewestRows) && c.inner(before.Col, now.Col, fewestCols) && before.Transposed == now.Transposed && before.Window == nil && now.Window == nil &&
		before.Padded == nil && now.Padded == nil && near(now.Left) && near(now.Right)
}

// Package blocking decides how a contraction is cut and where its operands are read: macro-tiles, register tiles, parts of the reduction, panels. It
// writes no C; it must not import backends/cpu. Read next: cut.go, blocking.go.
package blocking

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// Blocking is what is decided of a contraction before any of it is written: how it is cut, and where its operands are read.
type Blocking struct {
	Target isa.Target
	K      *schedule.Kernel
	C      *nest.Contraction
	Pack   tile.Packing // where the factors are read
	D      scalar.DType // of the sums
	N      int          // lanes of a vector
	Cut    Cut
	Rounds Rounds
	Sizes
}

// Sizes are the extents of a contraction's dimensions.
type Sizes struct {
	Panel  int64 // columns of a panel
	Length int64 // of the fold
	Batch  []nest.Dim
	Outer  int64 // how many panels' worth of batch there are: extents of the batch that the right operand follows
	Inner  int64 // extents of the rest of the batch
}

// New gives the blocking of a contraction of a kernel, as a config says, for a target.
func New(t isa.Target, k *schedule.Kernel, c *nest.Contraction, d Decided) *Blocking {
	b := &Blocking{Target: t, K: k, C: c, Pack: d.Packing, Cut: d.Cut, Rounds: d.Rounds, D: c.Sum.Type, N: t.Lanes(c.Sum.Type.Size()),
		Sizes: Sizes{Panel: schedule.PanelBytes / int64(c.Sum.Type.Size()), Length: nest.Points(c.Reduction)}}
	outer, inner := nest.Followed(c.Batch, c.Views[c.Right], true), nest.Followed(c.Batch, c.Views[c.Right], false)
	b.Outer, b.Inner, b.Batch = nest.Points(outer), nest.Points(inner), slices.Concat(outer, inner)
	return b
}

// pieces is how many pieces there are for one place of the batch.
func (b *Blocking) pieces() int64 {
	return (b.C.Row.Extent + b.Cut.Rows - 1) / b.Cut.Rows * ((b.C.Col.Extent + b.Cut.Cols - 1) / b.Cut.Cols)
}

// Share is the bytes of the panels of one piece.
func (b *Blocking) Share() int64 { return b.PanelsOf(b.Cut.Cols) * b.Deep() * schedule.PanelBytes }

// Deep is how many values of the reduction a panel holds: all, or those that run at once if a thread packs them just before.
func (b *Blocking) Deep() int64 {
	if b.Blockwise() {
		return b.Cut.Fold
	}
	return b.Length
}

// Blockwise says whether a thread packs the columns of its piece for each part of the reduction anew.
func (b *Blocking) Blockwise() bool {
	return b.Pack.Right == tile.PerMacroTile && b.Split() && b.Partly()
}

// PanelsOf is how many panels some columns take.
func (b *Blocking) PanelsOf(columns int64) int64 { return (columns + b.Panel - 1) / b.Panel }

// Layout says how the panels of an operand are made from its elements: some rows or columns wide.
func (b *Blocking) Layout(operand int, along nest.Dim, width int64) panels.Layout {
	v := b.C.Views[operand]
	l := panels.Layout{Size: b.D.Size(), Width: width, Base: builder.Base(b.K, v), Columns: along.Extent, Step: along.Step(v)}
	for _, a := range nest.Followed(b.Batch, v, true) {
		l.Groups = append(l.Groups, panels.Stride{Extent: a.Extent, Step: a.Step(v)})
	}
	for _, d := range b.C.Reduction {
		for _, loop := range d.Loops {
			l.Reduced = append(l.Reduced, panels.Stride{Extent: b.K.Loops[loop].Extent(), Step: v.Steps[loop]})
		}
	}
	return l
}

// PieceLeft is how many bytes the panels of a piece's rows take, for one run of the reduction. Storing whole vectors reaches over the end.
func (b *Blocking) PieceLeft() int64 {
	return isa.Align((b.Cut.Rows*b.Cut.Fold+int64(b.N))*int64(b.D.Size()), schedule.PanelBytes)
}

// OpenBytes is the size of the unfinished sums of a piece.
func (b *Blocking) OpenBytes() int64 { return b.OpenSums() * int64(b.N) * int64(b.D.Wide().Size()) }

// LeftWidth is how many rows the panels of the left operand have, 0 if it is read where it stands.
func (b *Blocking) LeftWidth() int64 {
	switch {
	case b.Pack.Left == tile.PerMacroTile:
		return b.Cut.TileRows
	case b.Pack.Paneled():
		return tile.RowPanel
	}
	return 0
}

// TilesDown is how many tiles of rows a piece has.
func (b *Blocking) TilesDown() int64 {
	return (min(b.Cut.Rows, b.C.Row.Extent) + b.Cut.TileRows - 1) / b.Cut.TileRows
}

// Within says whether a partial sum takes several parts of the reduction.
func (b *Blocking) Within() bool { return b.Split() && b.Cut.Fold < b.Cut.Block }

// Several says whether there are so many partial sums that these are summed in groups.
func (b *Blocking) Several() bool {
	return len(b.C.Reduction) == 1 && b.C.InnerReduction() > b.Cut.Span()
}

// OpenArea is how many vectors of unfinished sums of one kind a piece has, and openSums of all.
func (b *Blocking) OpenArea() int64 { return b.Cut.Rows * b.Cut.Cols / int64(b.N) }

// OpenSums is how many vectors of unfinished sums there are, of all kinds.
func (b *Blocking) OpenSums() int64 {
	kinds := int64(1)
	if b.Within() && b.C.InnerReduction() > b.Cut.Block {
		kinds++
	}
	if b.Several() {
		kinds++
	}
	return kinds * b.OpenArea()
}

// vector.Type is the type that sums are computed in: integers wrap as unsigned numbers do.
func (b *Blocking) VectorType() scalar.DType {
	if b.D.IsInt() {
		return vector.UnsignedOf(b.D)
	}
	return b.D
}

// IsLastOuter says whether batch axis i is the innermost of several that the right operand follows: groups of panels count
// from there.
func (b *Blocking) IsLastOuter(i int) bool {
	v := b.C.Views[b.C.Right]
	return b.Batch[i].Step(v) != 0 && (i+1 == len(b.Batch) || b.Batch[i+1].Step(v) == 0)
}

// Split says whether the fold runs in several parts, with the unfinished sums of a piece in memory between them.
func (b *Blocking) Split() bool { return b.Cut.Fold < b.C.InnerReduction() }

// Indices is how many pieces there are in all, as the indices of one region.
func (b *Blocking) Indices() int64 {
	return b.pieces() * nest.Points(b.Batch)
}

// Partly says whether panels can be packed for some values of the reduction at a time: it has one dimension.
func (b *Blocking) Partly() bool { return b.C.Window == nil && len(b.C.Reduction) == 1 }

// InnerStep is how far a view steps along the innermost reduced dimension, 0 if nothing is reduced.
func (b *Blocking) InnerStep(v nest.View) int64 {
	if n := len(b.C.Reduction); n > 0 {
		return b.C.Reduction[n-1].Step(v)
	}
	return 0
}

// RowPanels is how many panels of rows a place of the batch has.
func (b *Blocking) RowPanels() int64 { return (b.C.Row.Extent + tile.RowPanel - 1) / tile.RowPanel }

// OpenCols is how many columns the array of sums has that are transposed before the epilogue.
func (b *Blocking) OpenCols() int64 {
	return isa.Align(min(b.Cut.Cols, b.C.Col.Extent), max(int64(b.N), tile.NarrowRows))
}

// TransposedBytes is the size of that array: whole vectors either way, and whole tiles of columns.
func (b *Blocking) TransposedBytes() int64 {
	return isa.Align(min(b.Cut.Rows, b.C.Row.Extent), int64(b.N)) * b.OpenCols() * int64(b.D.Wide().Size())
}

// Groups gives the batch axes that the right operand follows.
func (b *Blocking) Groups() []nest.Dim { return nest.Followed(b.Batch, b.C.Views[b.C.Right], true) }

// Rounds are how many panels of each operand are packed at once, 0 for all: those are used before the next are packed.
type Rounds struct{ Left, Right int64 }

// Chunk gives how many groups of panels of the right operand, and how many columns of each, are packed at once.
func (b *Blocking) Chunk() (groups, columns int64) {
	columns = b.C.Col.Extent
	switch all, n := b.PanelsOf(columns), b.Rounds.Right; {
	case n == 0:
		return b.Outer, columns
	case n >= all:
		return n / max(1, all), columns
	default:
		return 1, n * b.Panel
	}
}

// fault is a reason, with arguments of its text, that may be there.
type fault struct {
	there bool
	text  string
	args  []any
}

func firstFault(list ...fault) error {
	for _, f := range list {
		if f.there {
			return fmt.Errorf(f.text, f.args...)
		}
	}
	return nil
}

// Package product makes the trees of contractions as products of matrices, and writes the templates of their leaves: packing and register tiles. What is done with sums is functions of
// the trees. It must not import backends/cpu. Read next: product.go, tree.go, epilogue.go, tile.go, c/pack.c.
package product

import (
	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/macrotile"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// Product writes the code of a contraction. Its right operand stands in panels of a few columns, each with all of the reduction, so
// that the innermost loop reads it in order; its left operand is read where it stands.
//
// The sums of a tile of rows and columns stay in registers. The function of a tile multiplies and adds; the function finish of the tree
// carries out the kernel's statements on a vector of sums.
type Product struct {
	*cnest.Text
	E    *unit.Unit
	Name string
	Sums int64 // if it is not 0, tiles leave their sums in memory, in rows so far apart
	*blocking.Blocking
	Slot int // of the right operand in panels, if that is constant
	left int // of the left operand in panels of rows
}

// Coordinates lists the batch variables as parameters or arguments.
func (p *Product) Coordinates(prefix string) string { return batchText(p.Batch, ", "+prefix, "") }

// batchText lists the variables of a batch, each between two texts.
func batchText(batch []nest.Dim, before, behind string) (text string) {
	for i := range batch {
		text += before + macrotile.BatchName(i) + behind
	}
	return text
}

// Voids marks batch variables as used.
func (p *Product) Voids() string { return batchText(p.Batch, "(void)", ", ") }

// Threads says whether several threads do the tasks.
func (p *Product) Threads() bool { return p.Cut.Thread }

// element is the C type of one number in the computation, and sumType of a vector of them.
func (p *Product) element() string { return p.E.W.Type(p.VectorType()) }
func (p *Product) sumType() string { return p.E.V.Type(p.VectorType(), p.N) }

// outerReduction gives the reduced dimensions but the innermost.
func (p *Product) outerReduction() []nest.Dim {
	return p.C.Reduction[:max(0, len(p.C.Reduction)-1)]
}

// Package product writes contractions as products of matrices: loops over macro-tiles, packing, register tiles, and what is done with sums. It must not
// import backends/cpu. Read next: product.go, macrotile.go, tile.go.
package product

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// Product writes the code of a contraction. Its right operand stands in panels of a few columns, each with all of the reduction, so
// that the innermost loop reads it in order; its left operand is read where it stands.
//
// The sums of a tile of rows and columns stay in registers. The function of a tile multiplies and adds; the function finish
// carries out the kernel's statements on a vector of sums.
type Product struct {
	*cnest.Text
	E      *unit.Unit
	Name   string
	Seldom *nest.Seldom // what some results are computed from besides, or nil
	Sums   int64        // if it is not 0, tiles leave their sums in memory, in rows so far apart
	*blocking.Blocking
	Storage
}

// Storage is where the operands of a contraction are read.
type Storage struct {
	Slot   int // of the panels
	left   int // of the left operand in panels of rows
	thread int // of the workspace of threads, if it has one
	memory blocking.Memory
}

// Place is a place in a slot's memory, in bytes.
type Place struct {
	Slot int
	At   int64
}

// Places gives the axes of the kernel's results.
func (p *Product) Places() []point.Axis {
	return append(slices.Clone(p.Batch), point.Axis{Dim: p.C.Row, Variable: "i"}, point.Axis{Dim: p.C.Col, Variable: "j"})
}

// Coordinates lists the batch variables as parameters or arguments.
func (p *Product) Coordinates(prefix string) string { return point.Coordinates(p.Batch, prefix) }

// aside gives the sum, and what else of the kernel is computed outside of its epilogue.
func (p *Product) aside() []*scalar.Expr {
	if p.Seldom != nil {
		return []*scalar.Expr{p.C.Sum, p.Seldom.Choice.Args[2]}
	}
	return []*scalar.Expr{p.C.Sum}
}

// Voids marks batch variables as used.
func (p *Product) Voids() string { return point.Voids(p.Batch) }

// Threads says whether several threads do the tasks.
func (p *Product) Threads() bool { return p.Cut.Thread }

// EachPiece writes how many nanoseconds a piece takes, at so many operations in one for each lane.
func (p *Product) EachPiece(rate float64) string {
	return unit.Each(p.E.Nanoseconds(p.K, rate*float64(p.N)), p.Indices())
}

// Parallel writes the region of n calls of a function, with the nanoseconds that each takes.
func (p *Product) Parallel(n, function, each string) {
	unit.Region(p.Text, p.Cut.Thread, n, each, fmt.Sprintf("%s_%s", p.Name, function), "&part")
}

// Group writes the number of an operand's present place in the batch, as far as it follows that; "" if it does not.
func (p *Product) Group(operand int) string { return point.Group(p.Batch, p.C.Views[operand]) }

// element is the C type of one number in the computation, and sumType of a vector of them.
func (p *Product) element() string { return p.E.W.Type(p.VectorType()) }
func (p *Product) sumType() string { return p.E.V.Type(p.VectorType(), p.N) }

// cast makes a vector of the operand's type one of the type that sums are computed in.
func (p *Product) cast(vector string) string {
	if p.VectorType() == p.D {
		return vector
	}
	return fmt.Sprintf("(%s)%s", p.sumType(), vector)
}

// innerStep is how far a view steps along the innermost reduced dimension, 0 if nothing is reduced.
func (p *Product) innerStep(v nest.View) int64 {
	if n := len(p.C.Reduction); n > 0 {
		return p.C.Reduction[n-1].Step(v)
	}
	return 0
}

// outerReduction gives the reduced dimensions but the innermost.
func (p *Product) outerReduction() []nest.Dim {
	return p.C.Reduction[:max(0, len(p.C.Reduction)-1)]
}

// reducedLoops opens loops over reduced dimensions, and gives how far each of some views steps in them.
func reducedLoops(t *cnest.Text, dims []nest.Dim, views ...nest.View) []string {
	at := make([]string, len(views))
	for x, d := range dims {
		t.Open("for (int64_t f%d = 0; f%d < %d; f%d++) {", x, x, d.Extent, x)
		for i, v := range views {
			at[i] += fmt.Sprintf(" + f%d * %s", x, point.Number(d.Step(v)))
		}
	}
	return at
}

package codegen

import (
	"fmt"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// product is what contractions are on every target: C[m,n] = epilogue(sum over k of A[m,k]·B[n,k]). Its dimensions are the batch, m, n and k.
type product struct {
	*builder.Builder
	c *nest.Contraction
}

func newProduct(n *tree.Names, k *schedule.Kernel, c *nest.Contraction) (*product, error) {
	switch {
	case c.Window != nil || c.Padded != nil:
		return nil, fmt.Errorf("an operand is read through a window or with a border of zeros")
	case c.Computed != nil:
		return nil, fmt.Errorf("a factor is computed")
	case len(c.Reduction) > 1:
		return nil, fmt.Errorf("%d dimensions are reduced, and at most one can be", len(c.Reduction))
	}
	depth := nest.Dim{Extent: 1} // of one value if nothing is reduced
	if len(c.Reduction) == 1 {
		depth = c.Reduction[0]
	}
	dims := append(append([]nest.Dim{}, c.Batch...), c.Row, c.Col, depth)
	return &product{builder.New(n, k, c.Views, dims), c}, nil
}

// The dimensions of rows, columns and what is reduced.
func (x *product) m() int { return len(x.c.Batch) }
func (x *product) n() int { return len(x.c.Batch) + 1 }
func (x *product) z() int { return len(x.c.Batch) + 2 }

// length is how many products a sum has.
func (x *product) length() int64 { return x.Dims[x.z()].Extent }

// block is how many of them a partial sum has.
func (x *product) block() int64 {
	if x.K.Sums > 0 {
		return min(x.K.Sums, x.length())
	}
	return min(nest.PartialSum(x.c), x.length())
}

// accumulators makes the memory of a register tile's sums; lanes are those of the vectors that it has, or 0.
func (x *product) accumulators(name string, rows, cols, lanes int64) *tree.Memory {
	m := tree.NewMemory(x.Fresh(name), x.c.Sum.Type, tree.Registers, 0, rows, cols)
	m.Acc, m.Lanes = true, lanes
	return m
}

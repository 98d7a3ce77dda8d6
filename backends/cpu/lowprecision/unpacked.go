package lowprecision

import (
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// rowSummed says whether the corrections need the sums of the rows' bytes.
func (n *Kernel) rowSummed() bool { return !n.right.zero().none() }

// bytesOf is how far a view of the left operand steps for a dimension, in bytes of what is read.
func (n *Kernel) bytesOf(d nest.Dim) int64 {
	return d.Step(n.p.C.Views[n.p.C.Left]) * n.left.layout.Blocked.Size()
}

// runs opens the loops over the runs of the reduction, and gives how far on the operands are in them.
func (n *Kernel) runs() [2]string {
	run := n.right.layout.Blocked.Blocks(n.n.Run()) * panels.BlockBytes
	return product.OuterLoops(n.Text, n.p.C.Reduction, func(d nest.Dim, inside int64) [2]int64 { return [2]int64{n.bytesOf(d), inside / n.n.Run() * run} })
}

// rowSums writes the function that adds up the bytes that rows are made of, along the fold.
func (n *Kernel) rowSums() {
	n.Line("\n// The sums of the bytes of some rows along the fold.")
	n.Open("static __attribute__((noinline)) void %s_row_sums(const uint8_t *a, int rows, uint32_t *sums) {", n.p.Name)
	n.Open("for (int r = 0; r < rows; r++, a += %s) {", tree.Const(n.bytesOf(n.p.C.Row)))
	n.Line("uint32_t sum = 0;")
	n.Line("for (int64_t x = 0; x < %d; x++) sum += (a%s)[x];", n.n.Run()*n.left.layout.Blocked.Size(), n.runs()[0])
	n.Close(len(n.p.C.Reduction) - 1)
	n.Line("sums[r] = sum;")
	n.Close(2)
}

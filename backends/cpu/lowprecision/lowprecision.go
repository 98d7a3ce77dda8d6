// Package lowprecision makes the trees of products of bytes and of bfloat16, by the instructions that a processor has, which it is asked for when the kernel runs, and writes the templates of their leaves. It
// must not import backends/cpu. Read next: layout.go, tree.go, tile.go.
package lowprecision

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/macrotile"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// Fits says whether a contraction can be written: there are vectors of all that is done with its sums.
func Fits(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.LowPrecision) bool {
	aside := -1
	if found.C.Padded != nil {
		aside = found.C.Left
	}
	wide, _, ok := vector.Widened(k, found.C.Sum)
	return ok && point.VectorBounds(wide, buffers, aside)
}

// Complete adds to a stage the order of tasks, columns outermost where rows are read in place and the panels do not stay in the second cache, and
// in how many rounds operands are packed whose panels take more than blocking.MaxPacked.
func Complete(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.LowPrecision, s *schedule.Stage) {
	d, err := blocking.ReadLowPrecision(t, k, found, s)
	if err != nil {
		return
	}
	n := New(t, k, buffers, found, d)
	for _, o := range n.packed() {
		if most := o.mostAtOnce(); !o.fixed && panelsOf(o.along.Extent) > most {
			s.Placements = append(s.Placements, schedule.Placement{Operand: k.Operands[o.operand].Name, Scope: schedule.DeviceScope, Depth: 1, Panels: most})
		}
	}
	if found.Unpacked && panelsOf(n.p.C.Col.Extent)*n.right.panel() > t.L2/2 && len(n.right.layout.Groups) == 0 {
		s.Order = blocking.ColumnsOutermost()
	}
}

// Others gives the stage that differs from what Complete made in the order of tasks, if there is one, with why it does not pay.
func Others(found *nest.LowPrecision, s schedule.Stage) []blocking.Other {
	switch {
	case !found.Unpacked:
		return nil
	case len(s.Order) > 0:
		s.Order = nil
		return []blocking.Other{{Stage: s, Why: fmt.Errorf("the panels of columns do not stay in the second cache, and would be read again for all rows of a task")}}
	}
	s.Order = blocking.ColumnsOutermost()
	return []blocking.Other{{Stage: s, Why: fmt.Errorf("the panels of columns stay in the second cache, or follow the batch")}}
}

// In prepares the templates of the product, which is written once.
func (n *Kernel) In(e *unit.Unit, name string) *Kernel {
	n.Text = new(cnest.Text)
	n.p.Text, n.p.E, n.p.Name = n.Text, e, name
	for _, o := range n.packed() {
		if o.fixed {
			o.slot = e.Panels(n.p.K.Operands[o.operand].Buffer, o.layout)
		}
	}
	return n
}

// Templates writes the functions of the leaves.
func (n *Kernel) Templates() string {
	n.p.Finish(n.p.C.Transposed)
	if n.corrected() {
		n.correct()
	}
	n.define("tapc_u32_any", "typedef uint32_t tapc_u32_any __attribute__((may_alias));\n")
	if n.n.Unpacked {
		n.define("tapc_u32_at", "typedef uint32_t tapc_u32_at __attribute__((may_alias, aligned(1)));\n")
		if n.rowSummed() {
			n.rowSums()
		}
	}
	n.functions()
	if n.p.C.Transposed {
		n.p.TransposeSums(scalar.UInt32, "uint32_t")
	}
	for _, o := range n.packed() {
		if !o.fixed {
			o.packFunction()
		}
	}
	return n.String()
}

// Common names the function of a template that kernels have together.
func (n *Kernel) Common(template string) string { return n.left.converter().Places()(template) }

// Constant gives the place in the kernel's table of an operand that was packed when the program was built.
func (n *Kernel) Constant(operand int) int {
	if operand == n.left.operand {
		return n.left.slot
	}
	return n.right.slot
}

// Threads says whether several threads do the tasks.
func (n *Kernel) Threads() bool { return n.p.Threads() }

// Region says what the tasks of a region are called, and how many picoseconds each takes.
func (n *Kernel) Region(loop *tree.For) (name, picoseconds string) {
	last := macrotile.LastLeaf(loop.Body)
	for _, o := range n.packed() {
		if strings.HasSuffix(last, o.side.count) {
			return "pack_" + o.side.count, unit.Each(float64(o.wide()/tile.NarrowPanel*o.panel())/unit.PackRate, 1)
		}
	}
	if loop.Var.Name == "row" {
		return "pad", unit.Each(float64(n.p.C.Padded.Elements()*n.left.layout.Blocked.Size())/unit.PackRate, loop.Trips())
	}
	return "task", unit.Each(n.p.E.Nanoseconds(n.p.K, unit.NarrowRate*float64(n.p.N)), n.p.Indices())
}

// correct writes the function that makes of sums of the panels' bytes those of the numbers they stand for:
// Σ(a-x)(b-y) = Σab - xΣb - yΣa + length·x·y, modulo 2^32 as int32 wraps.
func (n *Kernel) correct() {
	v, p := n.p.E.V, n.p
	t, d := v.Type(scalar.UInt32, p.N), v.Type(scalar.Int32, p.N)
	n.Line("\n// What the sums of bytes are without their zero points; the sums of the row and of the columns are given.")
	n.Open("TAPC_FN %s %s_correct(void *const *b%s, int64_t i, int64_t j, %s sum, uint32_t row, const uint32_t *columns, int n) {",
		d, p.Name, p.Coordinates("int64_t "), d)
	at := &point.Point{V: v, K: p.K, Views: p.C.Views, Axes: p.Places(), N: p.N, Count: "n", Locals: map[int]vector.Value{}}
	at.Along = len(at.Axes) - 1
	left, right := n.left.zero(), n.right.zero()
	n.zeroPointers(left.e, right.e)
	n.Line("(void)b, %s(void)i, (void)j, (void)n, (void)row, (void)columns;", p.Voids())
	n.Line("%s r = (%s)sum;", t, t)
	if !left.none() {
		n.Line("r -= *(const %su *)columns * %s;", t, left.text(at))
	}
	if !right.none() {
		n.Line("r -= row * %s;", right.text(at))
	}
	if !left.none() && !right.none() {
		n.Line("r += %du * %s * %s;", uint32(p.Length), left.text(at), right.text(at))
	}
	n.Line("return (%s)r;", d)
	n.Close()
}

// guarded writes what needs a compiler that knows a tile's instructions.
func (n *Kernel) guarded(t registerTile, write func()) {
	if t.Known() != "" {
		n.Line("#if %s", t.Known())
	}
	write()
	if t.Known() != "" {
		n.Line("#endif")
	}
}

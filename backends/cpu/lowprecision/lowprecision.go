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
	"tensortapestry.org/tapc/backends/cpu/product"
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
	return ok && vector.VectorBounds(wide, buffers, aside)
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
	n.p.Call(n.called)
	n.define("tapc_u32_any", "typedef uint32_t tapc_u32_any __attribute__((may_alias));\n")
	if n.n.Unpacked && n.rowSummed() {
		n.rowSums()
	}
	n.functions()
	if n.p.C.Transposed {
		n.p.TransposeSums(scalar.UInt32, "uint32_t")
	}
	return n.String()
}

// Common names the function of a template that kernels have together.
func (n *Kernel) Common(template string) string {
	if strings.HasSuffix(template, "_sums") {
		once(n.p.E.V, "sums.c")
		return template
	}
	for _, o := range n.packed() {
		if template == o.template() {
			return o.packer()
		}
	}
	return n.left.converter().Places()(template)
}

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
		if last == o.template() || last == o.side.sums {
			return "pack_" + o.side.count, unit.Each(float64(o.wide()/tile.NarrowPanel*o.panel())/unit.PackRate, 1)
		}
	}
	if loop.Var.Name == "row" {
		return "pad", unit.Each(float64(n.p.C.Padded.Elements()*n.left.layout.Blocked.Size())/unit.PackRate, loop.Trips())
	}
	return "task", unit.Each(n.p.E.Nanoseconds(n.p.K, unit.NarrowRate*float64(n.p.N)), n.p.Indices())
}

// correct makes the function that makes of sums of the panels' bytes those of the numbers they stand for, given the sums of the row and of the columns:
// Σ(a-x)(b-y) = Σab - xΣb - yΣa + length·x·y, modulo 2^32 as int32 wraps.
func (n *Kernel) correct() *tree.Func {
	b := n.p.Blocking
	dims, _ := product.Results(b)
	f := product.Begin("correct", b.K, b.C.Views, dims, int64(b.N), "i", "j")
	sum, row, columns := scalar.NewConst(scalar.Zero(scalar.Int32)), scalar.NewConst(scalar.Zero(scalar.UInt32)), scalar.NewConst(scalar.Zero(scalar.UInt32))
	f.Value("sum", sum)
	one, each := f.Given(tree.NewMemory("row", scalar.UInt32, tree.Registers, 0), true), f.Given(tree.NewMemory("columns", scalar.UInt32, tree.Registers, 0, int64(b.N)), false)
	f.Sums[row] = func() tree.Access { return tree.Access{Memory: one} }
	f.Sums[columns] = func() tree.Access { return f.VectorAt(each) }
	op := func(op scalar.Op, args ...*scalar.Expr) *scalar.Expr {
		return &scalar.Expr{Op: op, Type: scalar.UInt32, Args: args}
	}
	number := func(x int64) *scalar.Expr {
		return scalar.NewConst(scalar.IntValue(scalar.UInt32, int64(uint32(x))))
	}
	zero := func(z zeroPoint) *scalar.Expr {
		if z.e == nil {
			return number(int64(z.plus))
		}
		return op(scalar.Add, scalar.NewCast(scalar.UInt32, scalar.NewCast(scalar.Int32, z.e)), number(int64(z.plus)))
	}
	r, left, right := scalar.NewCast(scalar.UInt32, sum), n.left.zero(), n.right.zero()
	if !left.none() {
		r = op(scalar.Sub, r, op(scalar.Mul, columns, zero(left)))
	}
	if !right.none() {
		r = op(scalar.Sub, r, op(scalar.Mul, row, zero(right)))
	}
	if !left.none() && !right.none() {
		r = op(scalar.Add, r, op(scalar.Mul, number(b.Length), op(scalar.Mul, zero(left), zero(right))))
	}
	return f.Result(len(dims)-1, scalar.NewCast(scalar.Int32, r))
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

// Package lowprecision writes products of bytes and of bfloat16 by the instructions that a processor has, which it is asked for when the kernel runs. It
// must not import backends/cpu. Read next: lowprecision.go, tile.go.
package lowprecision

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// Kernel writes a low-precision product; see nest.LowPrecision. Both operands are in panels of groups of four bytes, which
// panels.Blocked describes: packed when the program is built if they are constant, else before the product is computed. Or the left one is read
// in place: register tiles get the address of their first row, and step along the reduction in runs of neighbouring bytes, with each of which
// the right operand's panels begin a new block.
//
// The sums of a register tile are computed by one of several functions, for the instructions that a processor may have; which it has is
// asked when the kernel runs.
type Kernel struct {
	*cnest.Text
	p           *product.Product // its cut, its epilogue and its workspaces
	n           *nest.LowPrecision
	tiles       []registerTile
	left, right operand
}

// Fits says whether a contraction can be written: there are vectors of all that is done with its sums.
func Fits(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.LowPrecision) bool {
	aside := -1
	if found.C.Padded != nil {
		aside = found.C.Left
	}
	wide, _, ok := vector.Widened(k, found.C.Sum)
	return ok && point.VectorBounds(wide, buffers, aside)
}

// New prepares a low-precision product, which is cut as blocking.ReadLowPrecision says.
func New(e *unit.Unit, name string, k *schedule.Kernel, found *nest.LowPrecision, d blocking.Decided) *Kernel {
	n, memory := of(e.Target, k, e.Buffers, found, d)
	n.Text = new(cnest.Text)
	n.p.Text, n.p.E, n.p.Name = n.Text, e, name
	n.placeOperands(memory)
	n.p.Reserve(memory)
	n.tiles = n.registerTiles()
	return n
}

// Workspaces says what a low-precision product has for itself: all threads the operands that are packed or copied when it runs, each its unfinished sums.
func Workspaces(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.LowPrecision, d blocking.Decided) []schedule.Workspace {
	_, memory := of(t, k, buffers, found, d)
	return memory.Workspaces()
}

// Complete adds to a stage the order of tasks, columns outermost where rows are read in place and the panels do not stay in the second cache, and
// in how many rounds operands are packed whose panels take more than blocking.MaxPacked.
func Complete(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.LowPrecision, s *schedule.Stage) {
	d, err := blocking.ReadLowPrecision(t, k, found, s)
	if err != nil {
		return
	}
	n, _ := of(t, k, buffers, found, d)
	for _, o := range n.packed() {
		if most := o.mostAtOnce(); !o.fixed && panelsOf(o.along.Extent) > most {
			s.Placements = append(s.Placements, schedule.Placement{Operand: k.Operands[o.operand].Name, Scope: schedule.DeviceScope, Depth: 1, Panels: most})
		}
	}
	if found.Unpacked && panelsOf(n.p.C.Col.Extent)*n.right.panel() > t.L2/2 && n.p.Group(n.right.operand) == "" {
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

// of lays out the operands of a product and its workspaces.
func of(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.LowPrecision, d blocking.Decided) (*Kernel, blocking.Memory) {
	wide, sum, _ := vector.Widened(k, found.C.Sum)
	c := *found.C
	c.Sum = sum
	n := &Kernel{n: found, p: &product.Product{Seldom: nest.SeldomOf(wide), Blocking: &blocking.Blocking{Target: t, K: wide, C: &c, D: sum.Type,
		N: t.Lanes(4), Cut: d.Cut, Sizes: blocking.Sizes{Length: found.Length(), Outer: 1, Inner: 1, Batch: point.Axes("g", c.Batch)}}}}
	n.left = n.operandOf(buffers, c.Left, point.Axis{Dim: c.Row, Variable: "i"}, d.Rounds.Left, side{panels.Lines, "left", "row", "rows"})
	n.right = n.operandOf(buffers, c.Right, point.Axis{Dim: c.Col, Variable: "j"}, d.Rounds.Right, side{panels.Across, "right", "column", "columns"})
	if found.Unpacked {
		n.right.layout.Blocked.Run = found.Run()
	}
	memory := blocking.Memory{}
	switch {
	case c.Transposed:
		memory = blocking.Unfinished(0, n.p.TransposedBytes())
	case n.parted():
		memory = blocking.Unfinished(0, 4*d.Rows*d.Cols)
	}
	if found.Unpacked && c.Padded != nil {
		memory.Device = isa.Align(n.imageBytes(), tile.PanelBytes)
	}
	for _, o := range n.packed() {
		if o.fixed {
			continue
		}
		o.place.At = memory.Device
		memory.Device = isa.Align(memory.Device+panels.Extents(o.layout.Groups)*panelsOf(o.chunk)*o.panel(), tile.PanelBytes)
	}
	return n, memory
}

// packed gives the operands that are read in panels.
func (n *Kernel) packed() []*operand {
	if n.n.Unpacked {
		return []*operand{&n.right}
	}
	return []*operand{&n.left, &n.right}
}

// placeOperands finds where each operand is read: an unpacked left one in its buffer, or in a copy in the workspace of all threads; panels in the
// program, or in that workspace, cut into chunks if they are large.
func (n *Kernel) placeOperands(memory blocking.Memory) {
	if n.n.Unpacked {
		if buffer := n.p.K.Operands[n.left.operand].Buffer; n.p.C.Padded == nil {
			n.p.E.Raw(buffer)
			n.left.place.Slot = n.p.E.Slot(buffer)
		} else {
			n.left.place.Slot = n.p.E.Scratch(memory.Device)
		}
	}
	for _, o := range n.packed() {
		if o.fixed {
			o.place.Slot = n.p.E.Panels(n.p.K.Operands[o.operand].Buffer, o.layout)
		}
	}
	for _, o := range n.packed() {
		if !o.fixed {
			o.place.Slot = n.p.E.Scratch(memory.Device)
		}
	}
}

// imageBytes is the size of the copy of an unpacked left operand.
func (n *Kernel) imageBytes() int64 { return n.p.C.Padded.Elements() * n.left.layout.Blocked.Size() }

// corrected says whether sums of the panels' bytes are not yet those of the operands'.
func (n *Kernel) corrected() bool { return !n.left.zero().none() || !n.right.zero().none() }

// Write writes the whole kernel.
func (n *Kernel) Write() string {
	n.p.Finish(n.p.C.Transposed)
	if n.corrected() {
		n.correct()
	}
	n.define("tapc_u32_any", "typedef uint32_t tapc_u32_any __attribute__((may_alias));\n")
	if n.n.Unpacked {
		n.define("tapc_u32_at", "typedef uint32_t tapc_u32_at __attribute__((may_alias, aligned(1)));\n")
		n.defineFile("part.c")
		if n.rowSummed() {
			n.rowSums()
		}
	}
	n.functions()
	if n.p.C.Transposed {
		n.p.TransposeSums(scalar.UInt32, "uint32_t")
	}
	switch {
	case n.p.C.Padded != nil:
		n.imageTask()
	case !n.n.Unpacked && !n.left.fixed:
		n.left.packTask()
	}
	if !n.right.fixed {
		n.right.packTask()
	}
	n.task()
	n.run()
	return n.String()
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

// zeroPointers declares the pointers of what zero points are read from.
func (n *Kernel) zeroPointers(zeros ...*scalar.Expr) {
	var used []int
	for _, z := range zeros {
		if z == nil {
			continue
		}
		z.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Load {
				used = append(used, e.Ref)
			}
			return true
		})
	}
	point.Pointers(n.Text, n.p.E, n.p.K, used)
}

// task writes what a thread does: some macro-tiles.
func (n *Kernel) task() {
	p, c := n.p, n.p.Cut
	unit.Task(n.Text, "", fmt.Sprintf("%s_task", p.Name), "tapc_narrow_part")
	n.Line("const int choice = %s_choice();", p.Name)
	for _, o := range []*operand{&n.left, &n.right} {
		in := " in panels"
		if n.n.Unpacked && o == &n.left {
			in = ""
		}
		n.Line("const uint8_t *%s = (const uint8_t *)b[%d] + %d; // %s%s", o.side.name, o.place.Slot, o.place.At, p.K.Operands[o.operand].Name, in)
	}
	p.DeclareWorkspace("_Alignas(64) ", "uint32_t", 4)
	units := func(statement string) {
		for i, t := range n.tiles {
			if t.Form == micro.MatrixUnit {
				n.guarded(t, func() { n.Line("if (choice == %d) %s;", i, statement) })
			}
		}
	}
	units("tapc_tile_config()")
	n.Line("const int64_t across = (part->columns + %d) / %d, down = (part->rows + %d) / %d;", c.Cols-1, c.Cols, c.Rows-1, c.Rows)
	n.Open("for (int64_t piece = begin; piece < end; piece++) {")
	n.Line("int64_t rest = piece;")
	last := p.Cut.ColumnsLast
	blocks := func() {
		n.Line("const int64_t j0 = part->column + rest %% across * %d, last = part->column + part->columns, j1 = j0 + %d < last ? j0 + %d : last;", c.Cols, c.Cols, c.Cols)
		n.Line("rest /= across;")
	}
	if !last {
		blocks()
	}
	n.Line("const int64_t i0 = part->row + rest %% down * %d, low = part->row + part->rows, i1 = i0 + %d < low ? i0 + %d : low;", c.Rows, c.Rows, c.Rows)
	n.Line("rest /= down;")
	if last {
		for _, a := range slices.Backward(p.Batch) {
			n.Line("const int64_t %s = rest %% %d;", a.Variable, a.Extent)
			n.Line("rest /= %d;", a.Extent)
		}
		blocks()
	} else {
		point.PlaceOf(n.Text, p.Batch)
	}
	n.parts()
	n.Close()
	units("tapc_tile_release()")
	n.Close()
}

// parts writes the loops over the register tiles of a macro-tile, for each part of the reduction that runs at once.
func (n *Kernel) parts() {
	w, a := n.right.panelAt(), n.left.panelAt()
	if n.n.Unpacked {
		view := n.p.C.Views[n.p.C.Left]
		at := point.OffsetText(point.Start(n.p.K, view), append(slices.Clone(n.p.Batch), n.left.along), view)
		a = fmt.Sprintf("left + (%s) * %d", at, n.left.layout.Blocked.Size())
	}
	if n.parted() {
		blocks, step := n.left.blocks(), n.left.layout.Blocked.Blocks(n.p.Cut.Fold)
		n.Open("for (int64_t f = 0; f < %d; f += %d) {", blocks, step)
		n.Line("const int64_t fn = %d - f < %d ? %d - f : %d;", blocks, step, blocks, step)
	}
	for i, t := range n.tiles {
		n.guarded(t, func() {
			n.Open("if (choice == %d) {", i)
			n.Open("for (int64_t j = j0; j < j1; j += %d) {", t.cols)
			n.Line("const uint8_t *w = %s;", w)
			n.Open("for (int64_t i = i0; i < i1; i += %d) {", t.rows)
			n.Line("const uint8_t *a = %s;", a)
			t.call(n)
			n.Close(3)
		})
	}
	switch {
	case n.parted():
		n.Close()
	case n.p.C.Transposed:
		n.Line("%s", n.p.TransposeCall())
	}
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

// run writes the function that carries out the kernel.
func (n *Kernel) run() {
	p := n.p
	n.defineFile("part.c")
	n.Line("")
	p.E.Open(n.Text, p.Name)
	rows, cols := p.C.Row.Extent, p.C.Col.Extent
	if p.C.Padded != nil {
		n.Open("{")
		n.Line("tapc_narrow_part part = {b, 0, 0, 0, 0};")
		p.Parallel(fmt.Sprint(product.PadRows(p.C.Padded)), "image", unit.Each(float64(n.imageBytes())/unit.PackRate, product.PadRows(p.C.Padded)))
		n.Close()
	}
	n.Open("for (int64_t j = 0; j < %d; j += %d) {", cols, n.right.chunk)
	n.Line("tapc_narrow_part part = {b, 0, 0, j, %d - j < %d ? %d - j : %d};", cols, n.right.chunk, cols, n.right.chunk)
	if !n.right.fixed {
		n.right.pack()
	}
	n.Open("for (int64_t i = 0; i < %d; i += %d) {", rows, n.left.chunk)
	n.Line("part.row = i, part.rows = %d - i < %d ? %d - i : %d;", rows, n.left.chunk, rows, n.left.chunk)
	if !n.left.fixed && !n.n.Unpacked {
		n.left.pack()
	}
	p.Parallel(fmt.Sprintf("%s * ((part.rows + %d) / %d) * ((part.columns + %d) / %d)", point.Number(point.Count(p.Batch)), p.Cut.Rows-1, p.Cut.Rows, p.Cut.Cols-1, p.Cut.Cols), "task", p.EachPiece(unit.NarrowRate))
	n.Close(3)
}

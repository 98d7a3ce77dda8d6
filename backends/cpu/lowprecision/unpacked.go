package lowprecision

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// A narrow contraction whose left operand is read where it stands: tiles' functions get the address of their first row, and step
// along the fold in runs of neighbouring bytes. The right operand's panels begin a new block with each run.

// writeUnpacked writes the rest of such a kernel.
func (n *Kernel) writeUnpacked() string {
	n.define("tapc_u32_at", "typedef uint32_t tapc_u32_at __attribute__((may_alias, aligned(1)));\n")
	n.defineFile("part.c")
	if n.summed() {
		n.rowSums()
	}
	n.functions()
	if n.C.Padded != nil {
		n.imageTask()
	}
	n.unpackedTask()
	n.unpackedRun()
	return n.String()
}

// summed says whether the corrections need the sums of the rows' bytes.
func (n *Kernel) summed() bool {
	e, plus := n.zero(&n.right)
	return n.corrected() && (e != nil || plus != 0)
}

// bytesOf is how far a view of the left operand steps for a dimension, in bytes of what is read.
func (n *Kernel) bytesOf(d nest.Dim) int64 {
	return d.Step(n.C.Views[n.C.Left]) * n.left.layout.Blocked.Size()
}

// run is the bytes of a run along the fold.
func (n *Kernel) runBytes() int64 { return n.n.Run() * n.left.layout.Blocked.Size() }

// runs opens the loops over the runs of the fold, and gives the text of where the run begins in the left operand.
func (n *Kernel) runs() (at string, depth int) {
	outer := n.C.Reduction[:len(n.C.Reduction)-1]
	at = "a"
	for i, d := range outer {
		n.Open("for (int64_t f%d = 0; f%d < %d; f%d++) {", i, i, d.Extent, i)
		at += fmt.Sprintf(" + f%d * %s", i, point.Number(n.bytesOf(d)))
	}
	return at, len(outer)
}

// rowSums writes the function that adds up the bytes that rows are made of, along the fold.
func (n *Kernel) rowSums() {
	n.Line("\n// The sums of the bytes of some rows along the fold.")
	n.Open("static __attribute__((noinline)) void %s_row_sums(const uint8_t *a, int rows, uint32_t *sums) {", n.Name)
	n.Open("for (int r = 0; r < rows; r++, a += %s) {", point.Number(n.bytesOf(n.C.Row)))
	n.Line("uint32_t sum = 0;")
	at, depth := n.runs()
	n.Line("const uint8_t *ak = %s;", at)
	n.Line("for (int64_t x = 0; x < %d; x++) sum += ak[x];", n.runBytes())
	n.Close(depth)
	n.Line("sums[r] = sum;")
	n.Close(2)
}

// sumUnpacked writes the loops over the runs of the reduction that keep sums in vector registers.
func (t narrowTile) sumUnpacked(n *Kernel, rows, vectors int64) {
	n.Line("%s s[%d]%s;", n.E.V.Type(n.VectorType(), n.Product.N), rows*vectors, map[bool]string{true: " = {{0}}"}[t.Run() > 0])
	if t.Run() == 0 {
		n.Accumulators(rows, vectors)
	}
	n.Line("const uint8_t *wk = w;")
	at, depth := n.runs()
	n.Line("const uint8_t *ak = %s;", at)
	run := n.runBytes()
	whole, rest := run/4, run%4
	step := func(left string, more ...any) {
		t.step(n, rows, vectors, func(r int64) string {
			return fmt.Sprintf(left, append([]any{point.Number(r * n.bytesOf(n.C.Row))}, more...)...)
		})
		n.Line("ak += 4, wk += %d;", 4*tile.NarrowPanel)
	}
	read := func() { step("*(const tapc_u32_at *)(ak + %s)") }
	partly := func(open string, args ...any) {
		if rest > 0 {
			n.defineFile("some.c")
			n.Open(open, args...)
			step("tapc_some(ak + %s, %d)", rest)
			n.Close()
		}
	}
	if t.Run() == 0 {
		n.groups("0", fmt.Sprint(whole), read)
		partly("{")
	} else {
		per := t.Run() * tile.NarrowPanel
		n.Open("for (int k = 0; k < %d; k += %d) {", whole+min(rest, 1), per)
		n.Accumulators(rows, vectors)
		if whole%per == 0 && rest == 0 {
			n.groups("0", fmt.Sprint(per), read)
		} else {
			n.Line("const int end = k + %d < %d ? k + %d : %d;", per, whole, per, whole)
			n.groups("k", "end", read)
		}
		partly("if (k + %d > %d) {", per, whole)
		n.Keep(rows, vectors, "+=")
		n.Close()
	}
	if skip := n.right.layout.Blocked.Blocks(n.n.Run())*tile.NarrowPanel - whole - min(rest, 1); skip > 0 && depth > 0 {
		n.Line("wk += %d;", skip*4*tile.NarrowPanel)
	}
	n.Close(depth)
	if t.Run() == 0 {
		n.Keep(rows, vectors, "=")
	}
}

// groups writes a loop over groups of four bytes.
func (n *Kernel) groups(from, to string, body func()) {
	if from == to {
		return
	}
	n.Line("#pragma GCC unroll 2")
	n.Open("for (int x = %s; x < %s; x++) {", from, to)
	body()
	n.Close()
}

// matrixUnpacked writes the loops over the runs of the reduction that load rows from where they are; where there are fewer than sixteen,
// or fewer than 64 bytes of them, they are copied first.
func (t narrowTile) matrixUnpacked(n *Kernel) {
	n.defineFile("tilerows.c")
	n.Line("_Alignas(64) uint8_t some[1024];")
	zeroTiles(n.Text)
	n.Line("const uint8_t *wk = w;")
	at, depth := n.runs()
	run, step := n.runBytes(), point.Number(n.bytesOf(n.C.Row))
	n.Open("for (int64_t k = 0; k < %d; k += %d, wk += %d) {", run, tile.NarrowBlock, panels.BlockBytes)
	n.Line("const uint8_t *ak = %s + k;", at)
	bytes := fmt.Sprint(tile.NarrowBlock)
	if run%tile.NarrowBlock != 0 {
		bytes = fmt.Sprintf("(k + %d <= %d ? %d : %d)", tile.NarrowBlock, run, tile.NarrowBlock, run%tile.NarrowBlock)
	}
	n.Line("const int bytes = %s;", bytes)
	t.matrixStep(n, func(half int64) {
		from, count := "ak", "rows"
		if half > 0 {
			from, count = "ak + 16 * "+step, "rows - 16"
		}
		n.Line("if (%s >= 16 && bytes == 64) tapc_tile_load_apart(%d, %s, %s);", count, 4+half, from, step)
		n.Line("else { tapc_tile_rows(some, %s, %s, %s < 16 ? %s : 16, bytes); tapc_tile_load(%d, some); }", from, step, count, count, 4+half)
	})
	n.Close(1 + depth)
}

// unpackedTask writes what a thread does: it goes over all rows for some columns before it goes on to the next if the panels do not stay in the
// second cache.
func (n *Kernel) unpackedTask() {
	p, c := n.Product, n.Cut
	rows, cols, panel := p.C.Row.Extent, p.C.Col.Extent, fmt.Sprintf("j / %d", tile.NarrowPanel)
	group := n.Group(n.right.operand)
	if group != "" {
		panel = fmt.Sprintf("((%s) * %d + %s)", group, n.right.panels(cols), panel)
	}
	view := p.C.Views[p.C.Left]
	at := point.OffsetText(point.Start(p.K, view), append(slices.Clone(p.Batch), point.Axis{Dim: p.C.Row, Variable: "i"}), view)
	outer := n.right.panels(cols)*n.right.panel() > n.E.Target.L2/2 && group == ""
	columns := func(here bool) {
		if here {
			p.Line("const int64_t j0 = rest %% across * %d, j1 = j0 + %d < %d ? j0 + %d : %d;", c.Cols, c.Cols, cols, c.Cols, cols)
			p.Line("rest /= across;")
		}
	}
	n.threadTask(fmt.Sprintf("enum { across = %d, down = %d };", (cols+c.Cols-1)/c.Cols, (rows+c.Rows-1)/c.Rows), func() {
		columns(!outer)
		p.Line("const int64_t i0 = rest %% down * %d, i1 = i0 + %d < %d ? i0 + %d : %d;", c.Rows, c.Rows, rows, c.Rows, rows)
		p.Line("rest /= down;")
		for _, a := range slices.Backward(p.Batch) {
			p.Line("const int64_t %s = rest %% %d;", a.Variable, a.Extent)
			p.Line("rest /= %d;", a.Extent)
		}
		columns(outer)
		p.Line("(void)rest;")
		n.pieceTiles(fmt.Sprintf("right + %s * %s", panel, point.Number(n.right.panel())), fmt.Sprintf("left + (%s) * %d", at, n.left.layout.Blocked.Size()))
		if n.C.Transposed {
			n.TransposeSums(scalar.UInt32)
		}
	})
}

// unpackedRun writes the function that carries out the kernel.
func (n *Kernel) unpackedRun() {
	p := n.Product
	p.Line("")
	p.E.Open(p.Text, p.Name)
	p.Line("tapc_narrow_part part = {b, 0, %d, 0, %d};", p.C.Row.Extent, p.C.Col.Extent)
	if n.C.Padded != nil {
		p.Parallel(fmt.Sprint(n.PadRows()), "image", unit.Each(float64(n.C.Padded.Elements()*n.left.layout.Blocked.Size())/unit.PackRate, n.PadRows()))
	}
	p.Parallel(fmt.Sprint(p.Indices()), "task", p.EachPiece(unit.NarrowRate))
	p.Close()
}

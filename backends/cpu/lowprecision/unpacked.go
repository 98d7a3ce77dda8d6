package lowprecision

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/passes/tile"
)

// rowSummed says whether the corrections need the sums of the rows' bytes.
func (n *Kernel) rowSummed() bool { return !n.right.zero().none() }

// bytesOf is how far a view of the left operand steps for a dimension, in bytes of what is read.
func (n *Kernel) bytesOf(d nest.Dim) int64 {
	return d.Step(n.p.C.Views[n.p.C.Left]) * n.left.layout.Blocked.Size()
}

// run is the bytes of a run along the fold.
func (n *Kernel) runBytes() int64 { return n.n.Run() * n.left.layout.Blocked.Size() }

// runs opens the loops over the runs of the reduction, and gives the text of where the run begins in the left operand.
func (n *Kernel) runs() (at string, depth int) {
	outer := n.p.C.Reduction[:len(n.p.C.Reduction)-1]
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
	n.Open("static __attribute__((noinline)) void %s_row_sums(const uint8_t *a, int rows, uint32_t *sums) {", n.p.Name)
	n.Open("for (int r = 0; r < rows; r++, a += %s) {", point.Number(n.bytesOf(n.p.C.Row)))
	n.Line("uint32_t sum = 0;")
	at, depth := n.runs()
	n.Line("const uint8_t *ak = %s;", at)
	n.Line("for (int64_t x = 0; x < %d; x++) sum += ak[x];", n.runBytes())
	n.Close(depth)
	n.Line("sums[r] = sum;")
	n.Close(2)
}

// sumUnpacked writes the loops over the runs of the reduction that keep sums in vector registers.
func (t registerTile) sumUnpacked(n *Kernel, sums product.Sums) {
	n.Line("%s s[%d]%s;", sums.Type, sums.Rows*sums.Vectors, map[bool]string{true: " = {{0}}"}[t.Run() > 0])
	if t.Run() == 0 {
		sums.Declare(n.Text)
	}
	n.Line("const uint8_t *wk = w;")
	at, depth := n.runs()
	n.Line("const uint8_t *ak = %s;", at)
	run := n.runBytes()
	whole, rest := run/4, run%4
	step := func(left string, more ...any) {
		t.step(n, sums, func(r int64) string {
			return fmt.Sprintf(left, append([]any{point.Number(r * n.bytesOf(n.p.C.Row))}, more...)...)
		})
		n.Line("ak += 4, wk += %d;", 4*tile.NarrowPanel)
	}
	groups := func(from, to string) {
		if from != to {
			n.Line("#pragma GCC unroll %d", t.Unrolled(0))
			n.Open("for (int x = %s; x < %s; x++) {", from, to)
			step("*(const tapc_u32_at *)(ak + %s)")
			n.Close()
		}
	}
	partly := func(open string, args ...any) {
		if rest > 0 {
			n.defineFile("some.c")
			n.Open(open, args...)
			step("tapc_some(ak + %s, %d)", rest)
			n.Close()
		}
	}
	if t.Run() == 0 {
		groups("0", fmt.Sprint(whole))
		partly("{")
	} else {
		per := t.Run() * tile.NarrowPanel
		n.Open("for (int k = 0; k < %d; k += %d) {", whole+min(rest, 1), per)
		sums.Declare(n.Text)
		if whole%per == 0 && rest == 0 {
			groups("0", fmt.Sprint(per))
		} else {
			n.Line("const int end = k + %d < %d ? k + %d : %d;", per, whole, per, whole)
			groups("k", "end")
		}
		partly("if (k + %d > %d) {", per, whole)
		sums.Add(n.Text)
		n.Close()
	}
	if skip := n.right.layout.Blocked.Blocks(n.n.Run())*tile.NarrowPanel - whole - min(rest, 1); skip > 0 && depth > 0 {
		n.Line("wk += %d;", skip*4*tile.NarrowPanel)
	}
	n.Close(depth)
	if t.Run() == 0 {
		sums.Keep(n.Text)
	}
}

// matrixUnpacked writes the loops over the runs of the reduction that load rows from where they are; where there are fewer than sixteen,
// or fewer than 64 bytes of them, they are copied first.
func (t registerTile) matrixUnpacked(n *Kernel) {
	n.defineFile("tilerows.c")
	n.Line("_Alignas(64) uint8_t some[1024];")
	zeroTiles(n.Text)
	n.Line("const uint8_t *wk = w;")
	at, depth := n.runs()
	run, step := n.runBytes(), point.Number(n.bytesOf(n.p.C.Row))
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

// Package loops writes kernels as loops that the C compiler vectorises: over their statements, or in stages where all values of a reduction are computed
// together. It must not import backends/cpu. Read next: kernel.go, staged.go.
package loops

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/dialects/schedule"
)

// Kernel writes the C code of one kernel: a function for one tile of the free loops, and the loops over tiles.
type Kernel struct {
	*cnest.Nest
	e      *unit.Unit
	name   string
	thread int // the loop shared between threads, or -1
}

// New reads the loops' levels.
func New(k *schedule.Kernel, name string, e *unit.Unit) *Kernel {
	n := &Kernel{Nest: cnest.New(k, e.Buffers, e.W, new(cnest.Text)), e: e, name: name, thread: -1}
	for _, l := range n.Free {
		levels := k.Loops[l].Levels
		if len(levels) > 1 {
			n.Lanes = append(n.Lanes, cnest.Lane{Loop: l, Tile: innerTile(k.Loops[l])})
		}
		if levels[0].Bind == schedule.Thread {
			n.thread = l
		}
	}
	return n
}

// Write writes the whole kernel.
func (n *Kernel) Write() string {
	n.tileFunction()
	n.driver()
	return n.String()
}

// innerTile is the tile of a loop that code is written for: the innermost of more than one value.
func innerTile(l schedule.Loop) int64 { return l.Levels[max(0, len(l.Levels)-2)].Tile }

// tileFunction writes the function that computes one tile: what stands inside all free loops.
func (n *Kernel) tileFunction() {
	n.Open("TAPC_FN void %s_tile(void *const *b%s) {", n.name, parameters(n.Nest))
	pointers(n.Nest, n.e)
	for _, l := range n.Free {
		if !n.Uses(l) {
			n.Line("(void)%s;", cnest.Variable(l))
		}
	}
	n.Statements()
	n.Close()
}

// parameters lists the variables of the free loops, and how many lanes there are, as parameters.
func parameters(n *cnest.Nest) string {
	text := ""
	for _, l := range n.Free {
		text += ", int64_t " + cnest.Variable(l)
	}
	for _, x := range n.Lanes {
		text += fmt.Sprintf(", int n%d", x.Loop)
	}
	return text
}

// pointers declares the pointers of all operands.
func pointers(n *cnest.Nest, e *unit.Unit) {
	for i := range n.Kernel.Operands {
		point.Pointers(n.Text, e, n.Kernel, []int{i})
		n.Line("(void)p%d;", i)
	}
}

// driver writes the loops over tiles, shared between threads where the schedule says so.
func (n *Kernel) driver() {
	order := slices.Clone(n.Free)
	if n.thread < 0 {
		n.e.Open(n.Text, n.name)
		n.tileLoops(order)
		n.Close()
		return
	}
	order = append([]int{n.thread}, slices.DeleteFunc(order, func(l int) bool { return l == n.thread })...)
	loop := n.Kernel.Loops[n.thread]
	tile := innerTile(loop)
	n.Open("static void %s_task(void *ctx, int64_t begin, int64_t end, int worker) {", n.name)
	n.Line("void *const *b = ctx;")
	n.Line("(void)worker;")
	v := cnest.Variable(n.thread)
	n.Open("for (int64_t c%s = begin; c%s < end; c%s++) {", v, v, v)
	n.Line("const int64_t %s = INT64_C(%d) + c%s * %d;", v, loop.Start, v, tile)
	n.tileLoops(order[1:])
	n.Close(2)
	n.e.Open(n.Text, n.name)
	tiles := (loop.Extent() + tile - 1) / tile
	n.Line("tapc_parallel(pool, %d, %s, %s_task, (void *)b);", tiles, unit.Each(n.e.Nanoseconds(n.Kernel, unit.SerialRate), tiles), n.name)
	n.Close()
}

// tileLoops writes the serial loops over tiles and the call inside them.
func (n *Kernel) tileLoops(loops []int) {
	for _, l := range loops {
		v, loop := cnest.Variable(l), n.Kernel.Loops[l]
		n.Open("for (int64_t %s = %d; %s < %d; %s += %d) {", v, loop.Start, v, loop.End, v, innerTile(loop))
	}
	n.call()
	n.Close(len(loops))
}

// call writes the call of the tile: with constant sizes for whole tiles, so that the compiler keeps them in registers.
func (n *Kernel) call() {
	args, ragged := "b", ""
	for _, l := range n.Free {
		args += ", " + cnest.Variable(l)
	}
	full, part := args, args
	for _, x := range n.Lanes {
		loop := n.Kernel.Loops[x.Loop]
		full += fmt.Sprintf(", %d", x.Tile)
		if loop.Extent()%x.Tile == 0 {
			part += fmt.Sprintf(", %d", x.Tile)
			continue
		}
		v := cnest.Variable(x.Loop)
		n.Line("const int n%d = (int)(%d - %s < %d ? %d - %s : %d);", x.Loop, loop.End, v, x.Tile, loop.End, v, x.Tile)
		part += fmt.Sprintf(", n%d", x.Loop)
		if ragged != "" {
			ragged += " && "
		}
		ragged += fmt.Sprintf("n%d == %d", x.Loop, x.Tile)
	}
	if ragged == "" {
		n.Line("%s_tile(%s);", n.name, full)
		return
	}
	n.Line("if (%s) %s_tile(%s);", ragged, n.name, full)
	n.Line("else %s_tile(%s);", n.name, part)
}

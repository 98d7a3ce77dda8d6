package cpu

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// Source is an emitted program.
type Source struct {
	C         string            // program.c, complete but for tapc_rt.h
	Constants []tensorops.Const // in the order of Offsets
	Offsets   []int64           // of each constant in the program's block of constants, in bytes
	Bytes     int64             // size of the block
	Arena     int64             // bytes of scratch memory
}

const header = `// %s
// Written by tapc %s. It needs tapc_rt.h and the run-time library, and nothing else.
#include <math.h>
#include <stdint.h>

#include "tapc_rt.h"

#define TAPC_FN static inline __attribute__((always_inline, unused))
#define TAPC_INF __builtin_inf()
#define TAPC_INFF __builtin_inff()
#define TAPC_NAN __builtin_nan("")
#define TAPC_NANF __builtin_nanf("")

`

// Emit writes the program of a scheduled graph as C11. It is a pure function of the graph, the name and the version.
func Emit(g *ir.Graph, name, version string) (*Source, error) {
	e := &emitter{g: g, name: name, version: version, buffers: map[ir.NodeID]*schedule.Buffer{}, slots: map[ir.NodeID]int{},
		w: cexpr.NewWriter()}
	var err error
	if e.program, err = tensorops.ProgramOf(g); err != nil {
		return nil, err
	}
	if e.steps, err = schedule.Order(g); err != nil {
		return nil, err
	}
	for n := range g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok {
			e.slots[n.ID] = len(e.order)
			e.order = append(e.order, n.ID)
			e.buffers[n.ID] = b
		}
	}
	e.layout()
	var kernels strings.Builder
	for i, id := range e.steps {
		if k, ok := g.Node(id).Body.(*schedule.Kernel); ok {
			if err := e.kernel(&kernels, i, g.Node(id), k); err != nil {
				return nil, err
			}
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, header, name, version)
	if prelude := e.w.Prelude(); prelude != "" {
		out.WriteString(prelude + "\n")
	}
	out.WriteString(kernels.String())
	if err := e.main(&out); err != nil {
		return nil, err
	}
	e.src.C = out.String()
	return &e.src, nil
}

type emitter struct {
	g       *ir.Graph
	name    string
	version string
	program *tensorops.Program
	steps   []ir.NodeID
	order   []ir.NodeID // buffers, by slot
	buffers map[ir.NodeID]*schedule.Buffer
	slots   map[ir.NodeID]int
	w       *cexpr.Writer
	src     Source
}

// layout places the constants one behind the other and finds the size of the arena.
func (e *emitter) layout() {
	for _, c := range e.program.Constants {
		t := tensorops.TensorOf(e.g, c.Tensor)
		size, _ := t.Range.Size()
		e.src.Constants = append(e.src.Constants, c)
		e.src.Offsets = append(e.src.Offsets, e.src.Bytes)
		e.src.Bytes += (size*int64(t.Type().Size()) + 63) / 64 * 64
	}
	for _, b := range e.buffers {
		if b.Space == schedule.Arena {
			e.src.Arena = max(e.src.Arena, b.Offset+b.Bytes)
		}
	}
}

// kernel writes one kernel: its tile, the task a thread runs, and the function that runs it whole.
func (e *emitter) kernel(out *strings.Builder, number int, node *ir.Node, k *schedule.Kernel) error {
	n := &nest{k: k, number: number, buffers: e.buffers, slots: e.slots, w: e.w}
	n.prepare()
	for _, line := range e.about(k) {
		n.line("// %s", line)
	}
	n.tileFunction()
	n.driver()
	if err := e.w.Err(); err != nil {
		return diag.Errorf("TAP0901", "cpu", e.g.At(node, ""), "%s: %v", e.g.Name(node.ID), err)
	}
	out.WriteString(n.b.String() + "\n")
	return nil
}

// about says what a kernel carries out and where that stands in the user's file.
func (e *emitter) about(k *schedule.Kernel) []string {
	lines := []string{clip(k.Name)}
	for _, a := range k.Applications {
		n := e.g.Node(a)
		if n == nil {
			continue
		}
		at := e.g.At(n, "")
		at.File = baseName(at.File)
		if s := at.String(); s != "" {
			lines = append(lines, "  for "+clip(e.g.Name(a))+" at "+s)
		}
	}
	for _, l := range k.Loops {
		words := ""
		for _, level := range l.Levels {
			words += fmt.Sprintf(" %s:%d", level.Bind, level.Tile)
		}
		lines = append(lines, fmt.Sprintf("  loop %s %d..%d%s", l.Name, l.Start, l.End, words))
	}
	return lines
}

func baseName(file string) string { return file[strings.LastIndexByte(file, '/')+1:] }

// driver writes the loops over tiles, shared between threads where the schedule says so.
func (n *nest) driver() {
	order := slices.Clone(n.free)
	if n.thread < 0 {
		n.open("static void k%d(void *const *b, tapc_pool *pool) {", n.number)
		n.line("(void)pool;")
		n.tileLoops(order)
		n.close()
		return
	}
	order = append([]int{n.thread}, slices.DeleteFunc(order, func(l int) bool { return l == n.thread })...)
	loop := n.k.Loops[n.thread]
	tile := loop.Levels[0].Tile
	n.open("static void k%d_task(void *ctx, int64_t begin, int64_t end, int worker) {", n.number)
	n.line("void *const *b = ctx;")
	n.line("(void)worker;")
	v := n.variable(n.thread)
	n.open("for (int64_t c%s = begin; c%s < end; c%s++) {", v, v, v)
	n.line("const int64_t %s = INT64_C(%d) + c%s * %d;", v, loop.Start, v, tile)
	n.tileLoops(order[1:])
	n.close()
	n.close()
	n.open("static void k%d(void *const *b, tapc_pool *pool) {", n.number)
	n.line("tapc_parallel(pool, %d, k%d_task, (void *)b);", (loop.Extent()+tile-1)/tile, n.number)
	n.close()
}

// tileLoops writes the serial loops over tiles and the call inside them.
func (n *nest) tileLoops(loops []int) {
	for _, l := range loops {
		v, loop := n.variable(l), n.k.Loops[l]
		n.open("for (int64_t %s = %d; %s < %d; %s += %d) {", v, loop.Start, v, loop.End, v, loop.Levels[0].Tile)
	}
	n.call()
	for range loops {
		n.close()
	}
}

// call writes the call of the tile: with constant sizes for whole tiles, so that the compiler keeps them in registers.
func (n *nest) call() {
	args, ragged := "b", ""
	for _, l := range n.free {
		args += ", " + n.variable(l)
	}
	full, part := args, args
	for _, x := range n.lanes {
		loop := n.k.Loops[x.loop]
		full += fmt.Sprintf(", %d", x.tile)
		if loop.Extent()%x.tile == 0 {
			part += fmt.Sprintf(", %d", x.tile)
			continue
		}
		v := n.variable(x.loop)
		n.line("const int n%d = (int)(%d - %s < %d ? %d - %s : %d);", x.loop, loop.End, v, x.tile, loop.End, v, x.tile)
		part += fmt.Sprintf(", n%d", x.loop)
		if ragged != "" {
			ragged += " && "
		}
		ragged += fmt.Sprintf("n%d == %d", x.loop, x.tile)
	}
	if ragged == "" {
		n.line("k%d_tile(%s);", n.number, full)
		return
	}
	n.line("if (%s) k%d_tile(%s);", ragged, n.number, full)
	n.line("else k%d_tile(%s);", n.number, part)
}

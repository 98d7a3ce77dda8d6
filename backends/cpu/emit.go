package cpu

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/cnest"
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
	n := newKernel(k, number, e)
	for _, line := range cnest.About(e.g, k) {
		n.Line("// %s", line)
	}
	n.tileFunction()
	n.driver()
	if err := e.w.Err(); err != nil {
		return diag.Errorf("TAP0901", "cpu", e.g.At(node, ""), "%s: %v", e.g.Name(node.ID), err)
	}
	out.WriteString(n.String() + "\n")
	return nil
}

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
	"tensortapestry.org/tapc/passes/tile"
)

// Source is an emitted program.
type Source struct {
	C         string            // program.c, complete but for tapc_rt.h
	Constants []tensorops.Const // whose values Build asks for
	Bytes     int64             // size of the block of constants
	Arena     int64             // bytes of scratch memory
	block     *block
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

// A part of a contraction: its right operand from a group of panels and a column on.
typedef struct tapc_part {
  void *const *b;
  int64_t group, column, columns;
} tapc_part;

`

// Emit writes the program of a scheduled graph as C11. It is a pure function of the graph, the name and the version.
func Emit(g *ir.Graph, name, version string) (*Source, error) {
	e := &emitter{g: g, name: name, version: version, target: Target{Target: tile.Default}, buffers: tile.Buffers(g),
		slots: map[ir.NodeID]int{}, w: cexpr.NewWriter()}
	e.v = newVectors(e.w)
	var err error
	if e.program, err = tensorops.ProgramOf(g); err != nil {
		return nil, err
	}
	if e.steps, err = schedule.Order(g); err != nil {
		return nil, err
	}
	e.block = newBlock(e.program.Constants)
	for n := range g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok {
			e.slots[n.ID] = len(e.order)
			e.order = append(e.order, n.ID)
			if b.Space == schedule.Arena {
				e.arena = max(e.arena, b.Offset+b.Bytes)
			}
		}
	}
	e.places = make([]string, len(e.order))
	return e.emit()
}

func (e *emitter) emit() (*Source, error) {
	var kernels strings.Builder
	for i, id := range e.steps {
		if k, ok := e.g.Node(id).Body.(*schedule.Kernel); ok {
			if err := e.kernel(&kernels, i, e.g.Node(id), k); err != nil {
				return nil, err
			}
		}
	}
	var program strings.Builder
	if err := e.main(&program); err != nil {
		return nil, err
	}
	var out strings.Builder
	fmt.Fprintf(&out, header, e.name, e.version)
	for _, prelude := range []string{e.w.Prelude(), e.v.prelude()} {
		if prelude != "" {
			out.WriteString(prelude + "\n")
		}
	}
	out.WriteString(kernels.String())
	out.WriteString(program.String())
	return &Source{C: out.String(), Constants: e.program.Constants, Bytes: e.block.bytes, Arena: e.arenaBytes(), block: e.block}, nil
}

type emitter struct {
	g           *ir.Graph
	name        string
	version     string
	target      Target
	program     *tensorops.Program
	steps       []ir.NodeID
	order       []ir.NodeID // buffers, by slot
	places      []string    // where panels and scratch are, by slot behind the buffers'
	buffers     map[ir.NodeID]*schedule.Buffer
	slots       map[ir.NodeID]int
	w           *cexpr.Writer
	v           *vectors
	block       *block
	arena       int64 // bytes that the plan needs
	scratch     int64 // bytes behind them that kernels need while they run
	scratchSlot int
}

// raw says that a buffer is read as it is, which places constants in the program.
func (e *emitter) raw(buffer ir.NodeID) {
	b := e.buffers[buffer]
	if c, ok := e.block.of[b.Tensor]; ok && b.Space == schedule.Constant {
		e.places[e.slots[buffer]] = e.constant(e.block.place(c, b.Bytes, nil))
	}
}

// panels places a constant in panels and gives the slot of its address.
func (e *emitter) panels(buffer ir.NodeID, layout panelLayout) int {
	place := e.constant(e.block.place(e.block.of[e.buffers[buffer].Tensor], layout.bytes(), &layout))
	for i := len(e.order); i < len(e.places); i++ {
		if e.places[i] == place {
			return i
		}
	}
	e.places = append(e.places, place)
	return len(e.places) - 1
}

func (e *emitter) constant(offset int64) string {
	return fmt.Sprintf("(void *)(tapc_constants + %d)", offset)
}

// needScratch makes sure of some bytes that one kernel at a time can use, and gives the slot of their address.
func (e *emitter) needScratch(bytes int64) int {
	if e.scratch == 0 {
		e.scratchSlot = len(e.places)
		e.places = append(e.places, fmt.Sprintf("(char *)arena + %d", roundUp(e.arena, 4096)))
	}
	e.scratch = max(e.scratch, bytes)
	return e.scratchSlot
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

func (e *emitter) arenaBytes() int64 {
	if e.scratch == 0 {
		return e.arena
	}
	return roundUp(e.arena, 4096) + e.scratch
}

// kernel writes one kernel: as a contraction if it is one, else as loops over its statements.
func (e *emitter) kernel(out *strings.Builder, number int, node *ir.Node, k *schedule.Kernel) error {
	var text string
	if p := newProduct(e, number, k); p != nil {
		text = p.write()
	} else {
		n := newKernel(k, number, e)
		for _, line := range cnest.About(e.g, k) {
			n.Line("// %s", line)
		}
		n.tileFunction()
		n.driver()
		text = n.String()
	}
	if err := e.w.Err(); err != nil {
		return diag.Errorf("TAP0901", "cpu", e.g.At(node, ""), "%s: %v", e.g.Name(node.ID), err)
	}
	out.WriteString(text + "\n")
	return nil
}

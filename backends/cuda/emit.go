// Package cuda is the back end for NVIDIA GPUs: one fused CUDA kernel for every scheduled kernel.
//
// Emit is a pure function from the graph to the text of the kernels and the plan of their launches. Where a real CUDA
// compiler comes from is in backends/cuda/toolchain; backends/cuda/emu runs the same text on a CPU. It must not import
// anything that loads a driver. Read next: emit.go.
package cuda

import (
	"fmt"
	"math"
	"strings"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/codegen"
	"tensortapestry.org/tapc/backends/cuda/ptx"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// Source is an emitted program: the kernels, and what to do with them in order.
type Source struct {
	CUDA  string
	Steps []Step
	Arena int64 // bytes of device memory
}

// Step is a launch of a kernel, or a copy when Kernel is "".
type Step struct {
	Kernel        string
	Grid, Block   int64       // in x
	Shared        int64       // bytes of dynamic shared memory
	Buffers       []ir.NodeID // the kernel's arguments, in order
	From, To      ir.NodeID   // of a copy
	Bytes         int64
	ScheduledNode ir.NodeID
}

const header = `// %s
// Written by tapc %s: one kernel for every scheduled kernel of the graph.
#include <math_constants.h>
#include <stdint.h>

#define TAPC_FN static __device__ __forceinline__
#define TAPC_INF CUDART_INF
#define TAPC_INFF CUDART_INF_F
#define TAPC_NAN CUDART_NAN
#define TAPC_NANF CUDART_NAN_F

`

// Emit writes the kernels of a graph that is scheduled on a CUDA device. It is a pure function of the graph, the name and the
// version.
func Emit(g *ir.Graph, name, version string) (*Source, error) {
	if err := backends.Scheduled(g, device.String(), device); err != nil {
		return nil, err
	}
	steps, err := schedule.Order(g)
	if err != nil {
		return nil, err
	}
	e := &emitter{g: g, w: cexpr.NewWriter(), buffers: map[ir.NodeID]*schedule.Buffer{}}
	for n := range g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok {
			e.buffers[n.ID] = b
			if b.Space == schedule.Arena {
				e.src.Arena = max(e.src.Arena, b.Offset+b.Bytes)
			}
		}
	}
	var code strings.Builder
	for i, id := range steps {
		switch b := g.Node(id).Body.(type) {
		case *schedule.Transfer:
			e.src.Steps = append(e.src.Steps, Step{From: b.From, To: b.To, Bytes: e.buffers[b.To].Bytes, ScheduledNode: id})
		case *schedule.Kernel:
			a := nest.Analyze(b, e.buffers)
			if err := backends.Ordered(g, "cuda", g.Node(id), a); err != nil {
				return nil, err
			}
			text, err := e.kernel(fmt.Sprintf("k%d", i), id, a)
			if err != nil {
				return nil, err
			}
			code.WriteString(text + "\n")
		}
	}
	e.write(name, version, code.String())
	return &e.src, nil
}

// write puts what kernels use before them.
func (e *emitter) write(name, version, kernels string) {
	prelude, inline := e.w.Prelude(), ""
	if prelude != "" {
		prelude += "\n"
	}
	if e.inline {
		inline = strings.TrimSpace(ptx.Text) + "\n\n"
	}
	e.src.CUDA = fmt.Sprintf(header, name, version) + inline + prelude + kernels
}

type emitter struct {
	g       *ir.Graph
	w       *cexpr.Writer
	buffers map[ir.NodeID]*schedule.Buffer
	src     Source
	inline  bool // kernels use the functions of tapc_device.cuh
}

// kernel writes one kernel and notes its launch: a thread for every point of the free loops.
func (e *emitter) kernel(name string, id ir.NodeID, a *nest.Analysis) (string, error) {
	k := a.Kernel
	if c := k.For(Target); c != nil {
		return e.tree(name, id, a, c)
	}
	n := cnest.New(k, e.buffers, e.w, new(cnest.Text))
	for _, line := range cnest.About(e.g, k) {
		n.Line("// %s", line)
	}
	step := Step{Kernel: name, Grid: 1, Block: 1, ScheduledNode: id}
	for _, l := range n.Free {
		blocks, lanes := k.Loops[l].Extent(), int64(1)
		if levels := k.Loops[l].Levels; len(levels) == 2 && levels[1].Bind == schedule.Lane {
			lanes = levels[0].Tile
			blocks = (blocks + lanes - 1) / lanes
			step.Block = lanes
		}
		if blocks > 0 && step.Grid > math.MaxInt32/blocks {
			return "", diag.Errorf("TAP0951", "cuda", e.g.At(e.g.Node(id), ""), "%s needs more blocks than a grid has", e.g.Name(id)).
				Want("at most 2147483647", "more")
		}
		step.Grid *= blocks
	}
	params := e.params(k, &step)
	n.Open("extern \"C\" __global__ void __launch_bounds__(%d) %s(%s) {", step.Block, name, strings.Join(params, ", "))
	e.point(n, k)
	n.Statements()
	n.Close()
	e.src.Steps = append(e.src.Steps, step)
	if err := e.w.Err(); err != nil {
		return "", diag.Errorf("TAP0950", "cuda", e.g.At(e.g.Node(id), ""), "%s: %v", e.g.Name(id), err)
	}
	return n.String(), nil
}

// params gives the parameters of a kernel, and notes the arguments.
func (e *emitter) params(k *schedule.Kernel, step *Step) []string {
	params := make([]string, len(k.Operands))
	for i, o := range k.Operands {
		constant := ""
		if o.Mode == schedule.Read {
			constant = "const "
		}
		params[i] = fmt.Sprintf("%s%s *__restrict__ p%d", constant, e.w.Stored(o.Type()), i)
		step.Buffers = append(step.Buffers, o.Buffer)
	}
	return params
}

// tree writes the kernel of a config.
func (e *emitter) tree(name string, id ir.NodeID, a *nest.Analysis, c *schedule.Config) (string, error) {
	k := a.Kernel
	f, err := treeOf(e.g, id, name, a, c)
	if err != nil {
		return "", err
	}
	var t cnest.Text
	for _, line := range cnest.Origin(e.g, k) {
		t.Line("// %s", line)
	}
	t.Line("//   %s", c)
	step := Step{Kernel: name, ScheduledNode: id}
	l, err := printTree(&t, e.w, f, e.params(k, &step))
	if err != nil {
		return "", diag.Errorf("TAP0952", "cuda", e.g.At(e.g.Node(id), "/body/configs"), "%s: %v", e.g.Name(id), err)
	}
	step.Grid, step.Block, step.Shared = l.blocks, l.lanes, l.dynamic
	e.inline = e.inline || l.async
	e.src.Steps = append(e.src.Steps, step)
	return t.String(), nil
}

// treeOf is Tree of a node, with an error that says where it is.
func treeOf(g *ir.Graph, id ir.NodeID, name string, a *nest.Analysis, c *schedule.Config) (*tree.Func, error) {
	f, err := Tree(name, a, c)
	if err != nil {
		return nil, diag.Errorf("TAP0952", "cuda", g.At(g.Node(id), "/body/configs"), "%s has a config that it cannot be carried out by: %v", g.Name(id), err)
	}
	return f, nil
}

// Trees writes the trees of the kernels that have a config, in the order of Emit's kernels.
func Trees(g *ir.Graph) (string, error) { return codegen.Trees(g, Target, treeOf) }

// point writes how a thread finds its values of the free loops from its block and lane.
func (e *emitter) point(n *cnest.Nest, k *schedule.Kernel) {
	if len(n.Free) == 0 {
		return
	}
	n.Line("int64_t block = blockIdx.x;")
	for i := len(n.Free) - 1; i >= 0; i-- {
		l := n.Free[i]
		loop, v := k.Loops[l], cnest.Variable(l)
		blocks, lane := loop.Extent(), ""
		scale := int64(1)
		if len(loop.Levels) == 2 && loop.Levels[1].Bind == schedule.Lane {
			scale, lane = loop.Levels[0].Tile, " + threadIdx.x"
			blocks = (blocks + scale - 1) / scale
		}
		part := "block"
		if i > 0 {
			part = fmt.Sprintf("block %% %d", max(blocks, 1))
		}
		n.Line("const int64_t %s = INT64_C(%d) + (%s) * %d%s;", v, loop.Start, part, scale, lane)
		if i > 0 {
			n.Line("block /= %d;", max(blocks, 1))
		}
		if lane != "" && loop.Extent()%scale != 0 {
			n.Line("if (%s >= %d) return;", v, loop.End)
		}
	}
}

// Package cuda is the back end for NVIDIA GPUs: one fused CUDA kernel for every scheduled kernel.
//
// Emit is a pure function from the graph to the text of the kernels and the list of their launches. Where a real CUDA
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
			text, err := e.kernel(fmt.Sprintf("k%d", i), id, a, b.For(Target))
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

// kernel writes one kernel, by the tree of a config, and notes its launch.
func (e *emitter) kernel(name string, id ir.NodeID, a *nest.Analysis, c *schedule.Config) (string, error) {
	k := a.Kernel
	f, err := treeOf(e.g, id, name, a, c)
	if err != nil {
		return "", err
	}
	var t cnest.Text
	for _, line := range append(cnest.Origin(e.g, k), "  "+c.String()) {
		t.Line("// %s", line)
	}
	step := Step{Kernel: name, ScheduledNode: id}
	l, err := printTree(&t, e.w, f, e.params(k, &step), c == nil)
	switch {
	case err != nil:
		return "", diag.Errorf("TAP0952", "cuda", e.g.At(e.g.Node(id), "/body/configs"), "%s: %v", e.g.Name(id), err)
	case l.blocks > math.MaxInt32:
		return "", diag.Errorf("TAP0951", "cuda", e.g.At(e.g.Node(id), ""), "%s needs more blocks than a grid has", e.g.Name(id)).Want("at most 2147483647", "more")
	case e.w.Err() != nil:
		return "", diag.Errorf("TAP0950", "cuda", e.g.At(e.g.Node(id), ""), "%s: %v", e.g.Name(id), e.w.Err())
	}
	step.Grid, step.Block, step.Shared = l.blocks, l.lanes, l.dynamic
	e.inline = e.inline || l.async
	e.src.Steps = append(e.src.Steps, step)
	return t.String(), nil
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

// treeOf makes the tree of a kernel: by its config or, without one, of loops.
func treeOf(g *ir.Graph, id ir.NodeID, name string, a *nest.Analysis, c *schedule.Config) (*tree.Func, error) {
	f, err := Tree(name, a, c)
	if err != nil {
		return nil, diag.Errorf("TAP0952", "cuda", g.At(g.Node(id), "/body/configs"), "%s has a config that it cannot be carried out by: %v", g.Name(id), err)
	}
	return f, nil
}

// Trees writes the trees of all kernels, in the order of Emit's.
func Trees(g *ir.Graph) (string, error) {
	return cnest.Trees(g, Target, func(g *ir.Graph, id ir.NodeID, name string, a *nest.Analysis) (*tree.Func, *schedule.Config, error) {
		c := a.Kernel.For(Target)
		f, err := treeOf(g, id, name, a, c)
		return f, c, err
	})
}

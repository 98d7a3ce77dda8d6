package cuda

import (
	"context"
	"fmt"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cuda/emu"
	"tensortapestry.org/tapc/backends/cuda/toolchain"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/cudashim/launchlist"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/tile"
)

// TestConformance runs the emitted kernels on the CPU through the emulation, with the order of threads permuted.
func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Device{Type: schedule.CUDA}, execute)
}

// TestExamples does the same with the example graphs, and compiles their kernels with the real CUDA compiler.
func TestExamples(t *testing.T) {
	nvcc := toolchain.ForTest(t)
	conformance.Examples(t, "../..", conformance.Device{Type: schedule.CUDA}, func(load reference.Constants) conformance.Execute {
		return func(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
			configured(t, g)
			src, err := Emit(g, "test", "test")
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := nvcc.CompileCubin(context.Background(), src.CUDA, "sm_90", toolchain.Options{}); err != nil {
				t.Fatalf("%v\n%s", err, src.CUDA)
			}
			return executeWith(t, g, in, load)
		}
	})
}

// configured gives the kernels of a graph the configs that are chosen for them.
func configured(t *testing.T, g *ir.Graph) {
	t.Helper()
	if err := tile.Run(g, tile.Options{Choosers: []tile.Chooser{Chooser{}}}); err != nil {
		t.Fatal(err)
	}
}

func execute(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
	t.Helper()
	configured(t, g)
	return executeWith(t, g, in, nil)
}

func executeWith(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor, load reference.Constants) map[string]tensorfile.Tensor {
	t.Helper()
	src, err := Emit(g, "test", "test")
	if err != nil {
		t.Fatal(err)
	}
	return emulated(t, g, in, load, compiled(t, src), src.Steps)
}

// compiled compiles a program for the emulation, until the test ends.
func compiled(t *testing.T, src *Source) *emu.Program {
	t.Helper()
	_, err := emu.HostCompiler()
	testkit.Need(t, testkit.Compilers, err)
	program, err := emu.Compile(context.Background(), src.CUDA, emu.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, src.CUDA)
	}
	t.Cleanup(func() { program.Close() })
	return program
}

// emulated carries out steps of a compiled program, and gives the outputs.
func emulated(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor, load reference.Constants, program *emu.Program, steps []Step) map[string]tensorfile.Tensor {
	t.Helper()
	r := &emulation{t: t, g: g, program: program, data: map[ir.NodeID][]byte{}}
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		t.Fatal(err)
	}
	r.allocate(p, in, load)
	for _, s := range steps {
		r.step(s)
	}
	out := map[string]tensorfile.Tensor{}
	for _, o := range p.Outputs {
		body := tensorops.TensorOf(g, o.Tensor)
		for n := range g.Nodes() {
			if b, ok := n.Body.(*schedule.Buffer); ok && b.Space == schedule.Output && b.Tensor == o.Tensor {
				out[o.Name] = tensorfile.Tensor{DType: body.Type(), Shape: body.Range.Shape(), Data: r.data[n.ID]}
			}
		}
	}
	return out
}

// emulation plays the host: buffers in memory, copies, launches. Arena buffers share one piece of memory as planned.
type emulation struct {
	t       *testing.T
	g       *ir.Graph
	program *emu.Program
	data    map[ir.NodeID][]byte
	arena   []byte
}

func (r *emulation) allocate(p *tensorops.Program, in map[string]tensorfile.Tensor, load reference.Constants) {
	for n := range r.g.Nodes() {
		b, ok := n.Body.(*schedule.Buffer)
		if !ok {
			continue
		}
		if b.Space == schedule.Arena && b.Offset+b.Bytes > int64(len(r.arena)) {
			r.arena = make([]byte, b.Offset+b.Bytes)
		}
	}
	for n := range r.g.Nodes() {
		b, ok := n.Body.(*schedule.Buffer)
		switch {
		case !ok:
		case b.Space == schedule.Arena:
			r.data[n.ID] = r.arena[b.Offset : b.Offset+b.Bytes : b.Offset+b.Bytes]
		default:
			r.data[n.ID] = make([]byte, b.Bytes)
			for _, x := range p.Inputs {
				if x.Tensor == b.Tensor && b.Space == schedule.Input {
					copy(r.data[n.ID], in[x.Name].Data)
				}
			}
			for _, c := range p.Constants {
				if c.Tensor == b.Tensor && b.Space == schedule.Constant {
					x, err := load(c, tensorops.TensorOf(r.g, c.Tensor))
					if err != nil {
						r.t.Fatal(err)
					}
					r.data[n.ID] = x.Data
				}
			}
		}
	}
}

func (r *emulation) step(s Step) {
	if s.Kernel == "" {
		copy(r.data[s.To], r.data[s.From])
		return
	}
	if s.Grid == 0 {
		return
	}
	var buffers []emu.Buffer
	var args []launchlist.Arg
	for i, id := range s.Buffers {
		name := fmt.Sprintf("b%d", i)
		data := make([]byte, max(1, len(r.data[id]))) // an empty buffer has an address too
		copy(data, r.data[id])
		buffers = append(buffers, emu.Buffer{Name: name, Data: data})
		args = append(args, launchlist.Arg{Kind: launchlist.KindBuffer, Buffer: name})
	}
	launch := launchlist.Launch{Kernel: s.Kernel, Grid: launchlist.Dim{s.Grid, 1, 1}, Block: launchlist.Dim{s.Block, 1, 1}, Args: args, Shared: s.Shared}
	if _, err := r.program.Run(context.Background(), buffers, []launchlist.Launch{launch}, emu.Settings{Seed: 7}); err != nil {
		r.t.Fatal(err)
	}
	k := r.g.Node(s.ScheduledNode).Body.(*schedule.Kernel)
	for i, o := range k.Operands {
		if o.Mode == schedule.Write {
			copy(r.data[s.Buffers[i]], buffers[i].Data)
		}
	}
}

package conformance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/standard"
)

// Compiled builds a program of the graph, as tapc build does, and runs it.
func Compiled(cc *toolchain.Compiler, lib *kernels.Library, flags []string) Runner {
	return func(ctx context.Context, g *ir.Graph, loader *constants.Loader, in map[string]tensorfile.Tensor) (map[string]tensorfile.Tensor, error) {
		g, err := schedules(ctx, g, lib)
		if err != nil {
			return nil, err
		}
		src, err := cpu.Prepare(g, "test", "test")
		if err != nil {
			return nil, err
		}
		dir, err := os.MkdirTemp("", "conform-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		exe := filepath.Join(dir, "program")
		values := &reference.Values{Graph: g, Library: lib, Stored: loader.Load}
		err = cpu.Build(ctx, cc, src, func(c tensorops.Const) (tensorfile.Tensor, error) { return values.Load(ctx, c) }, exe, cpu.Options{Version: "test", CPU: "native", Flags: flags})
		if err != nil {
			return nil, err
		}
		return execute(ctx, exe, dir, g, in)
	}
}

// Scheduled takes graphs through all passes, as tapc build does, and evaluates their schedules with the reference evaluator.
func Scheduled(lib *kernels.Library) Runner {
	evaluate := Reference(lib)
	return func(ctx context.Context, g *ir.Graph, loader *constants.Loader, in map[string]tensorfile.Tensor) (map[string]tensorfile.Tensor, error) {
		g, err := schedules(ctx, g, lib)
		if err != nil {
			return nil, err
		}
		return evaluate(ctx, g, loader, in)
	}
}

// schedules takes a graph through the passes of a compilation, and verifies it after each.
func schedules(ctx context.Context, g *ir.Graph, lib *kernels.Library) (*ir.Graph, error) {
	table := standard.Table(lib, cpu.Choosers()...)
	p, err := pipeline.ParsePipeline(table.Standard(pipeline.Request{Last: pipeline.ScheduledKernels, Simplify: true}), table)
	if err != nil {
		return nil, err
	}
	result, err := new(pipeline.Runner).Run(ctx, p, g)
	return result.Graph, err
}

// execute runs a program on files in a folder. Inputs that the program does not take, because no output needs them, stay out.
func execute(ctx context.Context, exe, dir string, g *ir.Graph, in map[string]tensorfile.Tensor) (map[string]tensorfile.Tensor, error) {
	program, err := tensorops.ProgramOf(g)
	if err != nil {
		return nil, err
	}
	given := map[string]tensorfile.Tensor{}
	for name, t := range in {
		given[outside(name)] = t
	}
	input, output := filepath.Join(dir, "in.safetensors"), filepath.Join(dir, "out.safetensors")
	var args []string
	taken := map[string]tensorfile.Tensor{}
	for _, x := range program.Inputs {
		if t, ok := given[x.Name]; ok {
			taken[x.Name] = t
		}
	}
	if len(taken) > 0 {
		if err := tensorfile.WriteSafetensors(input, taken); err != nil {
			return nil, err
		}
		args = append(args, "--input", input)
	}
	for i, o := range program.Outputs {
		args = append(args, "--output", fmt.Sprintf("%s=%s.%d.safetensors", o.Name, output, i))
	}
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = append(os.Environ(), "TAPC_MEMORY=poison") // what is read unwritten shows
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the program: %w: %s", err, strings.TrimSpace(string(text)))
	}
	got := map[string]tensorfile.Tensor{}
	for i, o := range program.Outputs {
		f, err := tensorfile.Open(fmt.Sprintf("%s.%d.safetensors", output, i))
		if err != nil {
			return nil, err
		}
		x, err := f.Load(f.Tensors()[0].Name)
		f.Close()
		if err != nil {
			return nil, err
		}
		want, err := scalar.ParseDType(tensorops.TensorOf(g, o.Tensor).DType)
		if err == nil {
			got[o.Name], err = x.As(want)
		}
		if err != nil {
			return nil, err
		}
	}
	return got, nil
}

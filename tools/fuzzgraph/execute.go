package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"tensortapestry.org/tapc/dialects/application/planfile"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/shard"
	"tensortapestry.org/tapc/passes/simplify"
	"tensortapestry.org/tapc/passes/standard"
)

// backend takes a graph through the passes, runs it and gives its outputs.
type backend func(ctx context.Context, g *graph) (map[string]tensorfile.Tensor, error)

func backendNamed(name string, processors []string) (backend, error) {
	switch name {
	case "reference":
		return runReference, nil
	case "cpu":
		var list []*toolchain.Compiler
		for _, cc := range []string{"gcc", "clang"} {
			os.Setenv("CC", cc)
			if c, err := toolchain.FindCompiler(context.Background()); err == nil {
				list = append(list, c)
			}
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("the back end cpu needs gcc or clang")
		}
		return func(ctx context.Context, g *graph) (map[string]tensorfile.Tensor, error) {
			return runCPU(ctx, g, list, processors)
		}, nil
	}
	return nil, fmt.Errorf("-backend %q: expected cpu or reference", name)
}

// schedules takes a graph to Scheduled Kernels, verifying it after every pass.
func (g *graph) schedules(ctx context.Context) (*ir.Graph, map[string]tensorfile.Tensor, error) {
	x, in := g.build()
	lib := kernels.Builtin()
	var requests []shard.Request
	type step struct {
		name string
		env  *check.Environment // nil where some operations have shards and others no application yet
		run  func() error
	}
	steps := []step{
		{"simplify", tensorops.Environment(), func() error { return g.rewrite(ctx, x) }},
		{"shard", nil, func() error {
			requests = g.requests(x)
			_, err := shard.Run(x, lib, requests)
			return err
		}},
	}
	for _, s := range standard.Steps(lib, lower.Options{}, cpu.Choosers()...) {
		next := step{s.Name, nil, func() error { return s.Run(x) }}
		if s.Gives > pipeline.OperationExpression {
			next.env = s.Gives.Environment()
		}
		steps = append(steps, next)
	}
	for _, s := range steps {
		if err := s.run(); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", s.name, err)
		}
		if s.env == nil {
			continue
		}
		if list := s.env.Verify(ctx, x); list.HasErrors() {
			return nil, nil, fmt.Errorf("after %s the graph breaks constraints of %s: %w", s.name, s.env.Name, list)
		}
	}
	return x, in, nil
}

func (g *graph) rewrite(ctx context.Context, x *ir.Graph) error {
	if !g.simplify {
		return nil
	}
	for _, run := range []func() (rewrite.Stats, error){
		func() (rewrite.Stats, error) { return simplify.Run(ctx, x, nil, rewrite.Options{}) },
		func() (rewrite.Stats, error) { return simplify.CSE(ctx, x, rewrite.Options{}) },
		func() (rewrite.Stats, error) { return simplify.DCE(ctx, x, rewrite.Options{}) },
	} {
		if _, err := run(); err != nil {
			return err
		}
	}
	return nil
}

// requests gives the shards of the operations that are still there and have the same kernel.
func (g *graph) requests(x *ir.Graph) []shard.Request {
	var list []shard.Request
	for n, s := range g.steps {
		label := fmt.Sprintf("op%d", n)
		for node := range x.Nodes() {
			if op, ok := node.Body.(*tensorops.Operation); ok && node.Label == label && op.Kernel == kernels.ID(s.decl.Name) && s.shards != "" && !g.simplify {
				if r, err := planfile.ParseCut(label + "=" + s.shards); err == nil {
					list = append(list, r)
				}
			}
		}
	}
	return list
}

// runReference evaluates the schedule.
func runReference(ctx context.Context, g *graph) (map[string]tensorfile.Tensor, error) {
	x, in, err := g.schedules(ctx)
	if err != nil {
		return nil, err
	}
	var inline constants.Loader
	ev := reference.Evaluator{Library: kernels.Builtin(), Constants: inline.Load}
	return ev.Evaluate(ctx, x, in)
}

// runCPU builds a program with one of the compilers and runs it. Compiler, processor and optimization are functions of the seed.
func runCPU(ctx context.Context, g *graph, compilers []*toolchain.Compiler, processors []string) (map[string]tensorfile.Tensor, error) {
	x, in, err := g.schedules(ctx)
	if err != nil {
		return nil, err
	}
	return runScheduled(ctx, g.seed, x, in, compilers, processors)
}

// runScheduled builds the program of a scheduled graph and runs it.
func runScheduled(ctx context.Context, seed uint64, x *ir.Graph, in map[string]tensorfile.Tensor, compilers []*toolchain.Compiler, processors []string) (map[string]tensorfile.Tensor, error) {
	dir, err := os.MkdirTemp("", "fuzzgraph-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	exe, err := buildScheduled(ctx, seed, x, compilers, processors, dir)
	if err != nil {
		return nil, err
	}
	return runProgram(ctx, exe, x, in, dir, 2)
}

// usualProcessors are what programs are built for.
var usualProcessors = []string{"native", "native", "baseline"}

// buildScheduled builds a scheduled graph in a directory, as its seed says, with further flags.
func buildScheduled(ctx context.Context, seed uint64, x *ir.Graph, compilers []*toolchain.Compiler, processors []string, dir string, flags ...string) (exe string, err error) {
	src, err := cpu.Prepare(x, "fuzz", "fuzz")
	if err != nil {
		return "", err
	}
	rnd := rand.New(rand.NewPCG(seed, 0xc))
	exe = filepath.Join(dir, "program")
	cc := compilers[rnd.IntN(len(compilers))]
	// A graph may well compare a tensor with itself.
	opt := cpu.Options{Version: "fuzz", CPU: processors[rnd.IntN(len(processors))],
		Flags: []string{"-Wall", "-Wextra", "-Werror", "-Wno-error=tautological-compare", []string{"-O1", "-O1", "-O3"}[rnd.IntN(3)]}}
	opt.Flags = append(opt.Flags, flags...)
	var inline constants.Loader
	load := func(c tensorops.Const) (tensorfile.Tensor, error) {
		return inline.Load(c, tensorops.TensorOf(x, c.Tensor))
	}
	if err := cpu.Build(ctx, cc, src, load, exe, opt); err != nil {
		return "", fmt.Errorf("%s: %w", cc.Path, err)
	}
	return exe, nil
}

// runProgram runs a program on its inputs, with some threads.
func runProgram(ctx context.Context, exe string, x *ir.Graph, in map[string]tensorfile.Tensor, dir string, threads int) (map[string]tensorfile.Tensor, error) {
	p, err := tensorops.ProgramOf(x)
	if err != nil {
		return nil, err
	}
	args := []string{"--threads", fmt.Sprint(threads)}
	for _, i := range p.Inputs {
		path, err := writeTensor(dir, i.Name, in[i.Name])
		if err != nil {
			return nil, err
		}
		args = append(args, "--input", i.Name+"="+path)
	}
	files, types := map[string]string{}, map[string]scalar.DType{}
	for _, o := range p.Outputs {
		types[o.Name] = tensorops.TensorOf(x, o.Tensor).Type()
		files[o.Name] = filepath.Join(dir, "out-"+o.Name+suffix(types[o.Name]))
		args = append(args, "--output", o.Name+"="+files[o.Name])
	}
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = append(os.Environ(), "TAPC_MEMORY=poison") // what is read unwritten shows
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the program: %w\n%s", err, text)
	}
	out := map[string]tensorfile.Tensor{}
	for name, path := range files {
		f, err := tensorfile.Open(path)
		if err != nil {
			return nil, err
		}
		t, err := f.Load(f.Tensors()[0].Name)
		f.Close()
		if err == nil {
			out[name], err = t.As(types[name])
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// suffix is the ending of a file that can hold a tensor of an element type.
func suffix(d scalar.DType) string {
	if d == scalar.BFloat16 || d.IsFloat() && d.Bits() == 8 {
		return ".safetensors"
	}
	return ".npy"
}

// writeTensor writes a tensor to a file of its own and gives the file's name.
func writeTensor(dir, name string, t tensorfile.Tensor) (string, error) {
	path := filepath.Join(dir, name+suffix(t.DType))
	if suffix(t.DType) == ".npy" {
		return path, tensorfile.WriteNPY(path, t)
	}
	return path, tensorfile.WriteSafetensors(path, map[string]tensorfile.Tensor{name: t})
}

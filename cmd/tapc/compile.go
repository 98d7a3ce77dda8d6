package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cuda"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/bind"
	"tensortapestry.org/tapc/passes/fuse"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/plan"
	"tensortapestry.org/tapc/passes/shard"
	"tensortapestry.org/tapc/passes/tile"
)

// compileFlags are the flags that build and run share.
type compileFlags struct {
	shards []string
	binds  []string
	target string
	cpu    string
}

var targets = []string{"cpu", "cuda"}

func addCompileFlags(c *cobra.Command) *compileFlags {
	f := &compileFlags{}
	c.Flags().StringArrayVar(&f.shards, "shard", nil, "cut operations into shards along their index: KERNEL=2x2 or LABEL=2x2 (repeatable)")
	c.Flags().StringArrayVar(&f.binds, "bind", nil, "make inputs constants, by name, from a .safetensors or .npz file (repeatable)")
	c.Flags().StringVar(&f.cpu, "cpu", "native", "CPU to compile for: native, x86-64-v3, … (the compiler's -march), or baseline")
	return f
}

// compilation is one graph on its way to a program.
type compilation struct {
	g      *ir.Graph
	lib    *kernels.Library
	flags  *compileFlags
	device schedule.DeviceType
	loader *constants.Loader
}

func (a *app) compile(file string, f *compileFlags) (*compilation, error) {
	g, err := a.load(file)
	if err != nil {
		return nil, err
	}
	c := &compilation{g: g, lib: kernels.Builtin(), flags: f, loader: &constants.Loader{Dir: dirOf(g), Allowed: f.binds}}
	if f.target == "cuda" {
		c.device = schedule.CUDA
	}
	return c, nil
}

// step is one pass of a compilation.
type step struct {
	name  string
	gives pipeline.Stage
	run   func(c *compilation) error
}

// steps lists the passes in order. Sharding comes before apply, which covers what has no shards; lower needs every operation
// applied; fuse works on what lower made; tile binds the loops that fuse left; plan places the buffers that are left.
var steps = []step{
	{"bind", pipeline.OperationExpression, func(c *compilation) error {
		for _, file := range c.flags.binds {
			if _, err := bind.Run(c.g, file); err != nil {
				return err
			}
		}
		return nil
	}},
	{"shard", pipeline.ApplicationExpression, func(c *compilation) error {
		var requests []shard.Request
		for _, text := range c.flags.shards {
			r, err := shard.Parse(text)
			if err != nil {
				return err
			}
			requests = append(requests, r)
		}
		if _, err := shard.Run(c.g, c.lib, requests); err != nil {
			return err
		}
		apply.Run(c.g)
		return nil
	}},
	{"lower", pipeline.ScheduledKernels, func(c *compilation) error { return lower.Run(c.g, c.lib, lower.Options{Target: c.device}) }},
	{"fuse", pipeline.ScheduledKernels, func(c *compilation) error { _, err := fuse.Run(c.g); return err }},
	{"tile", pipeline.ScheduledKernels, func(c *compilation) error { tile.Run(c.g); return nil }},
	{"plan", pipeline.ScheduledKernels, func(c *compilation) error { _, err := plan.Run(c.g); return err }},
}

// lowerTo verifies the graph, runs the passes up to a stage and verifies after each.
func (a *app) lowerTo(ctx context.Context, c *compilation, last pipeline.Stage) error {
	stage := pipeline.StageOf(c.g)
	if err := a.verified(ctx, c.g, stage, ""); err != nil {
		return err
	}
	for _, s := range steps {
		if s.gives > last {
			return nil
		}
		if err := s.run(c); err != nil {
			return err
		}
		stage = max(stage, s.gives)
		if err := a.verified(ctx, c.g, stage, s.name); err != nil {
			return err
		}
	}
	return nil
}

// verified checks the graph; what a pass broke is tapc's fault.
func (a *app) verified(ctx context.Context, g *ir.Graph, stage pipeline.Stage, pass string) error {
	found := stage.Environment().Verify(ctx, g)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	a.report(found)
	switch {
	case !found.HasErrors():
		return nil
	case pass != "":
		return diag.Fault("pass %s left a graph that is no valid %s", pass, stage)
	}
	return errReported{}
}

// loadConst gives the value of a constant.
func (c *compilation) loadConst(x tensorops.Const) (tensorfile.Tensor, error) {
	t, err := c.loader.Load(x, tensorops.TensorOf(c.g, x.Tensor))
	if err != nil {
		return t, diag.Errorf("TAP0702", "constants", c.g.At(c.g.Node(x.Op), "/body/params"), "%s can not be loaded: %v", c.g.Name(x.Op), err)
	}
	return t, nil
}

// programName gives a program's name from its graph's file.
func programName(file string) string {
	name := filepath.Base(file)
	for _, suffix := range []string{".json", ".loom", ".tap", ".tapb"} {
		name = strings.TrimSuffix(name, suffix)
	}
	if name == "" || name == "-" || name == "." {
		return "program"
	}
	return name
}

// executable builds the program at a path.
func (a *app) executable(ctx context.Context, c *compilation, name, path string, cc *cpu.Compiler) error {
	src, err := cpu.Emit(c.g, name, release)
	if err != nil {
		return err
	}
	for _, x := range src.Constants { // missing or unfit data is found before the compiler runs
		if _, err := c.loadConst(x); err != nil {
			return err
		}
	}
	return cc.Build(ctx, src, c.loadConst, path, cpu.Options{Version: release, CPU: c.flags.cpu})
}

// sourceText emits the program as source text.
func sourceText(c *compilation, name string) (string, error) {
	if c.device == schedule.CUDA {
		src, err := cuda.Emit(c.g, name, release)
		if err != nil {
			return "", err
		}
		return src.CUDA, nil
	}
	src, err := cpu.Emit(c.g, name, release)
	if err != nil {
		return "", err
	}
	return src.C, nil
}

// temporary gives a new folder and the function that removes it.
func temporary() (string, func(), error) {
	dir, err := os.MkdirTemp("", "tapc-")
	if err != nil {
		return "", nil, diag.Fault("%v", err)
	}
	return dir, func() { os.RemoveAll(dir) }, nil
}

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
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/interruptible"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/pipeline"
)

// compileFlags are the flags that build and run share.
type compileFlags struct {
	*pipelineFlags
	shards   []string
	binds    []string
	first    string
	optimize int
	leveled  func() bool // the level was asked for
	target   string
	backend  string // of a plugin; "" is tapc's own for the target
	cpu      string
	weights  string // where the constants of a program go: embed or file
	math     *arithmetic
}

var weightWords = []string{"embed", "file"}

var targets = []string{"cpu", "cuda"}

func (a *app) addCompileFlags(c *cobra.Command) *compileFlags {
	f := &compileFlags{target: "cpu", weights: "embed"}
	c.Flags().StringArrayVar(&f.shards, "shard", nil, "cut operations into shards along their index: KERNEL=2x2 or LABEL=2x2 (repeatable)")
	c.Flags().StringArrayVar(&f.binds, "bind", nil, "make inputs constants, by name, from a .safetensors or .npz file (repeatable)")
	c.Flags().StringVar(&f.first, "passes", "", "passes to run on the Operation Expression before any other")
	c.Flags().IntVarP(&f.optimize, "optimize", "O", 1, "0 leaves the operations as they are, which is the default with --shard; 1 simplifies them, values unchanged")
	a.addImportFlags(c)
	f.leveled = func() bool { return c.Flags().Changed("optimize") }
	c.Flags().StringVar(&f.cpu, "cpu", "native", "CPU to compile for: native, x86-64-v3, … (the compiler's -march), baseline, or portable: versions for several, of which the program takes the best")
	f.math = addArithmeticFlags(c)
	f.pipelineFlags = a.addPipelineFlags(c)
	return f
}

// request gives what the flags ask of the standard pipeline, for a graph that shall be taken to a stage.
func (f *compileFlags) request(last pipeline.Stage) pipeline.Request {
	r := pipeline.Request{Last: last, First: f.first, Facts: map[pipeline.Fact][]string{
		pipeline.Bindings: f.binds, pipeline.Shards: f.shards, pipeline.Target: {f.target}}}
	r.Simplify = f.optimize > 0 && (len(f.shards) == 0 || f.leveled()) // what --shard names must still be there
	if f.math.set != 0 {
		r.Facts[pipeline.Permissions] = []string{f.math.set.String()}
	}
	return r
}

// compilation is a graph that was compiled to a stage.
type compilation struct {
	g      *ir.Graph
	flags  *compileFlags
	loader *constants.Loader // of stored constants
	values *reference.Values // of all
}

// compile reads a graph and takes it to a stage.
func (a *app) compile(ctx context.Context, file string, f *compileFlags, last pipeline.Stage) (*compilation, error) {
	if f.optimize < 0 || f.optimize > 1 {
		return nil, diag.Usage("-O%d: expected 0 or 1", f.optimize)
	}
	if err := f.math.check(); err != nil {
		return nil, err
	}
	if err := f.check(ctx); err != nil {
		return nil, err
	}
	p, err := a.parsePasses(a.plugins.table().Standard(f.request(last)))
	if err != nil {
		return nil, err
	}
	g, err := a.load(file)
	if err != nil {
		return nil, err
	}
	a.collectWhileCompiling()
	result, err := f.runPasses(ctx, p, g)
	if err != nil {
		return nil, err
	}
	loader := f.loader(g, p.Paths())
	return &compilation{g: result.Graph, flags: f, loader: loader, values: &reference.Values{Graph: result.Graph, Library: a.plugins.library(), Stored: loader.Load}}, nil
}

// loadConst gives the value of a constant.
func (c *compilation) loadConst(ctx context.Context, x tensorops.Const) (tensorfile.Tensor, error) {
	t, err := c.values.Load(ctx, x)
	if err != nil {
		return t, diag.Errorf("TAP0702", "constants", c.g.At(c.g.Node(x.Op), "/body/params"), "%s can not be loaded: %v", c.g.Name(x.Op), err)
	}
	return t, nil
}

// dataFiles gives the files that constants are read from.
func (c *compilation) dataFiles() []string {
	var files []string
	p, err := tensorops.ProgramOf(c.g)
	if err != nil {
		return nil // no program is built of it
	}
	for _, x := range p.Constants {
		if file, err := c.loader.Path(x.File); err == nil && x.File != "" {
			files = append(files, file)
		}
	}
	return files
}

// programName gives a program's name from its graph's file.
func programName(file string) string {
	name := filepath.Base(file)
	for _, suffix := range []string{".json", ".loom", ".tap", ".tapb"} {
		name = strings.TrimSuffix(name, suffix)
	}
	if name == "" || name == stdName || name == "." {
		return "program"
	}
	return name
}

// executable builds the program at a path.
func (c *compilation) executable(ctx context.Context, name, path string, cc *cpu.Compiler) error {
	return c.binary(ctx, name, path, "exe", cc)
}

// binary builds the program at a path: as an executable, a shared library or an object file, as --emit calls them.
func (c *compilation) binary(ctx context.Context, name, path, emit string, cc *cpu.Compiler) error {
	src, err := emitted(ctx, func() (*cpu.Source, error) { return cpu.Emit(c.g, name, release) })
	if err != nil {
		return err
	}
	load := func(x tensorops.Const) (tensorfile.Tensor, error) { return c.loadConst(ctx, x) }
	for _, x := range src.Constants { // missing or unfit data is found before the compiler runs
		if x.Computed {
			continue
		}
		if _, err := load(x); err != nil {
			return err
		}
	}
	for _, out := range []string{path, path + cpu.WeightsSuffix} {
		if err := c.flags.app.notRead(out, c.dataFiles()...); err != nil {
			return err
		}
	}
	opt := cpu.Options{Version: release, CPU: c.flags.cpu}
	if c.flags.weights == "file" {
		opt.Weights = path + cpu.WeightsSuffix
	}
	switch emit {
	case "lib":
		return cc.BuildLibrary(ctx, src, load, path, opt)
	case "obj":
		return cc.BuildObject(ctx, src, load, path, opt)
	}
	return cc.Build(ctx, src, load, path, opt)
}

// sourceText emits the program as source text.
func (c *compilation) sourceText(ctx context.Context, name string) (string, error) {
	if c.flags.target == schedule.CUDA.String() {
		src, err := emitted(ctx, func() (*cuda.Source, error) { return cuda.Emit(c.g, name, release) })
		if err != nil {
			return "", err
		}
		return src.CUDA, nil
	}
	src, err := emitted(ctx, func() (*cpu.Source, error) { return cpu.Emit(c.g, name, release) })
	if err != nil {
		return "", err
	}
	return src.C, nil
}

// emitted gives what a back end writes, unless the context ends first.
func emitted[T any](ctx context.Context, emit func() (*T, error)) (*T, error) {
	var out *T
	left, err := interruptible.Run(ctx, func() (err error) {
		out, err = emit()
		return err
	})
	if left {
		return nil, err
	}
	return out, err
}

// temporary gives a new folder and the function that removes it.
func temporary() (string, func(), error) {
	dir, err := os.MkdirTemp("", "tapc-")
	if err != nil {
		return "", nil, diag.Fault("%v", err)
	}
	return dir, func() { os.RemoveAll(dir) }, nil
}

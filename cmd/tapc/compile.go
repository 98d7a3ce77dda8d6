package main

import (
	"cmp"
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/cmd/tapc/aliases"
	"tensortapestry.org/tapc/cmd/tapc/content"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/outputflags"
	"tensortapestry.org/tapc/cmd/tapc/programflags"
	"tensortapestry.org/tapc/cmd/tapc/progress"
	"tensortapestry.org/tapc/cmd/tapc/recorded"
	"tensortapestry.org/tapc/cmd/tapc/tune"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/internal/release"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/choose"
	"tensortapestry.org/tapc/passes/pipeline"
)

// compileFlags are the flags that build and run share.
type compileFlags struct {
	*pipelineFlags
	cuts     programflags.Cuts
	binds    []string
	first    string
	optimize int
	given    func(flag string) bool // whether a flag was
	target   string
	backend  string // with its options; "" is tapc's own for the target
	options  outputflags.Flags
	math     programflags.Arithmetic
	made     *recorded.Build // to be recorded in what is made; nil for what is not kept
}

func (a *app) addCompileFlags(c *cobra.Command) *compileFlags {
	f := &compileFlags{target: schedule.Host.String()}
	f.cuts.Add(c.Flags())
	c.Flags().StringArrayVar(&f.binds, "bind", nil, "make inputs constants, by name, from a .safetensors or .npz file (repeatable)")
	c.Flags().StringVar(&f.first, "passes", "", "passes to run on the Operation Expression before any other")
	c.Flags().IntVarP(&f.optimize, "optimize", "O", 1, "0 leaves the operations as they are, which is the default with --shard and --plan; 1 simplifies them, values unchanged")
	flagnames.Texts(c.Flags(), "bind")
	flagnames.Later(c.Flags(), "passes")
	a.addImportFlags(c)
	c.Flags().StringArrayVar(&a.imports.aliases, aliases.Flag, nil, aliases.Help)
	flagnames.Entries(c.Flags(), aliases.Flag)
	f.given = c.Flags().Changed
	f.options.Add(c.Flags(), ownBackends(), func(flag string, words []string) { complete(c, flag, words) })
	f.math.Add(c.Flags())
	complete(c, "precision", programflags.Precisions())
	complete(c, "allow", permission.Names())
	f.pipelineFlags = a.addPipelineFlags(c)
	return f
}

// request gives what the flags ask of the standard pipeline, for a graph of one stage that shall become one of another.
func (f *compileFlags) request(from, last pipeline.Stage) pipeline.Request {
	r := pipeline.Request{From: from, Last: last, First: f.first, Facts: map[pipeline.Fact][]string{
		pipeline.Bindings: f.binds, pipeline.Target: {f.target}}}
	f.cuts.Facts(r.Facts)
	r.Simplify = f.optimize > 0 && (!f.cuts.Given() || f.given("optimize")) // what is cut by name must still be there
	if f.math.Set != 0 {
		r.Facts[pipeline.Permissions] = []string{f.math.Set.String()}
	}
	if len(f.options.Processors) > 0 {
		r.Facts[pipeline.Processors] = []string{strings.Join(f.options.Processors, ",")}
	}
	return r
}

// compilation is a graph that was compiled to a stage.
type compilation struct {
	g      *ir.Graph
	result *pipeline.Result
	flags  *compileFlags
	loader *constants.Loader // of stored constants
	values *reference.Values // of all

	sizes   *backends.Sizes // of a program for several; nil for one
	smaller *compilation    // that of the size before, of several
}

// begin checks the flags and starts the plugins.
func (f *compileFlags) begin(ctx context.Context) error {
	if f.optimize < 0 || f.optimize > 1 {
		return diag.Usage("-O%d: expected 0 or 1", f.optimize)
	}
	if err := firstError(f.cuts.Check(), f.math.Check(f.cuts.Permissions())); err != nil {
		return err
	}
	return f.check(ctx, f.first)
}

// compile reads a graph and takes it to a stage.
func (a *app) compile(ctx context.Context, file string, f *compileFlags, last pipeline.Stage) (*compilation, error) {
	if _, err := a.standardPasses(f.request(pipeline.OperationExpression, last)); err != nil {
		return nil, err
	}
	g, err := a.load(ctx, file)
	if err != nil {
		return nil, err
	}
	return compileGraph(ctx, a, file, f, g, last)
}

// standardPasses gives the passes that do what is asked for.
func (a *app) standardPasses(r pipeline.Request) (pipeline.Pipeline, error) {
	return a.parsePasses(a.plugins.table().Standard(r))
}

// compileGraph takes a graph, which was read from a file, to a stage.
func compileGraph(ctx context.Context, a *app, file string, f *compileFlags, g *ir.Graph, last pipeline.Stage) (*compilation, error) {
	if err := f.cuts.Takes(g, file); err != nil {
		return nil, err
	}
	from := pipeline.StageOf(g)
	switch {
	case from > last:
		return nil, diag.Usage("%s is a graph of %v already, and gives no %v", file, from, last)
	case from == pipeline.ScheduledKernels && f.math.Set != 0:
		return nil, diag.Usage("%s is scheduled: what its program may do to numbers is written there, and takes no flags", file)
	case from != pipeline.ScheduledKernels:
		from = pipeline.OperationExpression
	}
	r := f.request(from, last)
	if tensorops.HasChoices(g) || a.plugins.table().Opens(f.first) {
		r.Facts[pipeline.Choices] = []string{choose.TakeFirst}
	}
	if from != pipeline.ScheduledKernels && composite.Used(g) {
		f.cuts.Inline(g, last, r.Facts)
	}
	p, err := a.standardPasses(r)
	if err == nil {
		_, err = aliases.State(g, a.imports.aliases, a.imports.rooms)
	}
	if err != nil {
		return nil, err
	}
	content.CollectWhileCompiling(a.tuned)
	result, err := f.runPasses(ctx, p, g)
	if err == nil {
		err = tune.Use(ctx, result.Graph, f.options.Tuned, f.tunedProgram(), a.stderr)
	}
	if err != nil {
		return nil, err
	}
	loader := f.loader(g, p.Paths())
	return &compilation{g: result.Graph, result: result, flags: f, loader: loader, values: &reference.Values{Graph: result.Graph, Library: a.plugins.library(), Stored: loader.Load}}, nil
}

// make lets a back end make its output, and tells how long everything took.
func (c *compilation) make(ctx context.Context, goal *goal, file, out string) error {
	a, work := c.flags.app, c.result.Timing.Append(goal.output.Name)
	if m, ok := a.stderr.(*progress.Meter); ok {
		m.Begin(backendWork)
	}
	j := c.job(outputflags.ProgramName(file))
	j.Stage = work.Stage
	err := c.record(ctx, j)
	if err == nil {
		err = a.make(ctx, goal, j, out)
	}
	work.End()
	endProgress(a, err == nil)
	return cmp.Or(err, c.flags.report.tell(ctx, a, c.result))
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

// job is what a back end works on.
func (c *compilation) job(program string) *backends.Job {
	return &backends.Job{Graph: c.g, Sizes: c.sizes, Program: program, Version: release.Version, Load: c.loadConst,
		Writable: func(path string) error { return c.flags.app.notRead(path, c.dataFiles()...) }}
}

// record writes down in a job what it is made from.
func (c *compilation) record(ctx context.Context, j *backends.Job) (err error) {
	b := c.flags.made
	if b == nil {
		return nil
	}
	if s, ok := c.flags.app.sources[c.g.File]; ok {
		b.Content = s.text.Data
	}
	b.Passes, b.Data = c.flags.app.plugins.table().Renamed, c.dataFiles()
	j.Made, err = b.Made(ctx)
	return err
}

// temporary gives a new folder and the function that removes it.
func temporary() (string, func(), error) {
	dir, err := os.MkdirTemp("", "tapc-")
	if err != nil {
		return "", nil, diag.Fault("%v", err)
	}
	return dir, func() { os.RemoveAll(dir) }, nil
}

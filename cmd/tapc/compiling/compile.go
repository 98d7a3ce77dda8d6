// Package compiling takes a graph's file to the stage or the output of a back end that flags ask for: it has the flags of passes and of compiling, runs the
// passes, compiles for several sizes, and looks for the rewrite that a command fails with. It must not import cmd/tapc. Read next: passes.go, compile.go, goal.go.
package compiling

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/cmd/tapc/aliases"
	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/content"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/cmd/tapc/outputflags"
	"tensortapestry.org/tapc/cmd/tapc/programflags"
	"tensortapestry.org/tapc/cmd/tapc/progress"
	"tensortapestry.org/tapc/cmd/tapc/recorded"
	"tensortapestry.org/tapc/cmd/tapc/tune"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/internal/release"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/choose"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/standard"
	"tensortapestry.org/tapc/passes/tile"
)

// Flags are the flags that build and run share.
type Flags struct {
	Passes   *PassFlags
	Cuts     programflags.Cuts
	binds    []string
	model    string // the machine by whose costs passes choose
	first    string
	Optimize int
	Given    func(flag string) bool // whether a flag was
	Target   string
	Backend  string // with its options; "" is tapc's own for the target
	Options  outputflags.Flags
	Math     programflags.Arithmetic
	Made     *recorded.Build // to be recorded in what is made; nil for what is not kept
}

func AddFlags(a *app.App, c *cobra.Command) *Flags {
	f := &Flags{Target: schedule.Host.String()}
	f.Cuts.Add(c.Flags())
	c.Flags().StringArrayVar(&f.binds, "bind", nil, "make inputs constants, by name, from a .safetensors or .npz file (repeatable)")
	c.Flags().StringVar(&f.first, "passes", "", "passes to run on the Operation Expression before any other")
	c.Flags().IntVarP(&f.Optimize, "optimize", "O", 1, "0 leaves the operations as they are, which is the default with --shard and --plan; 1 simplifies them, values unchanged")
	c.Flags().StringVar(&f.model, "cost-model", "", "let fuse, layout and tile choose by the costs of a machine: a name that tapc machine lists, or a machine file (default: by estimates of their own)")
	flagnames.Texts(c.Flags(), "bind")
	flagnames.Later(c.Flags(), "passes")
	flagnames.Check(c.Flags(), "cost-model", machine.Presets(), func(name string) error {
		if machine.Check(name) != nil {
			return diag.Unknown("cost-model", name, machine.Presets())
		}
		return nil
	})
	app.Complete(c, "cost-model", machine.Presets())
	a.Imports.Add(c)
	c.Flags().StringArrayVar(&a.Imports.Aliases, aliases.Flag, nil, aliases.Help)
	flagnames.Entries(c.Flags(), aliases.Flag)
	f.Given = c.Flags().Changed
	f.Options.Add(c.Flags(), app.OwnBackends(), func(flag string, words []string) { app.Complete(c, flag, words) })
	f.Math.Add(c.Flags())
	app.Complete(c, "precision", programflags.Precisions())
	app.Complete(c, "allow", permission.Names())
	f.Passes = AddPassFlags(a, c)
	return f
}

// request gives what the flags ask of the standard pipeline, for a graph of one stage that shall become one of another.
func (f *Flags) request(from, last pipeline.Stage) pipeline.Request {
	r := pipeline.Request{From: from, Last: last, First: f.first, Facts: map[pipeline.Fact][]string{
		pipeline.Bindings: f.binds, pipeline.Target: {f.Target}}}
	f.Cuts.Facts(r.Facts)
	r.Simplify = f.Optimize > 0 && (!f.Cuts.Given() || f.Given("optimize")) // what is cut by name must still be there
	if f.Math.Set != 0 {
		r.Facts[pipeline.Permissions] = []string{f.Math.Set.String()}
	}
	if f.model != "" {
		r.Facts[pipeline.CostModel] = []string{f.model}
	}
	if len(f.Options.Processors) > 0 {
		r.Facts[pipeline.Processors] = []string{strings.Join(f.Options.Processors, ",")}
	}
	return r
}

// Model gives the costs by which the passes choose, for the targets of choosers; nil if they choose by estimates of their own.
func (f *Flags) Model(choosers []tile.Chooser) (cost.Model, error) {
	return standard.Model(f.model, choosers)
}

// CostModel names the machine by whose costs the passes choose, "" for none.
func (f *Flags) CostModel() string { return f.model }

// Compilation is a graph that was compiled to a stage.
type Compilation struct {
	Graph  *ir.Graph
	result *pipeline.Result
	flags  *Flags
	Loader *constants.Loader // of stored constants
	values *reference.Values // of all

	Sizes   *backends.Sizes // of a program for several; nil for one
	smaller *Compilation    // that of the size before, of several
}

// Begin checks the flags and starts the plugins.
func (f *Flags) Begin(ctx context.Context) error {
	if f.Optimize < 0 || f.Optimize > 1 {
		return diag.Usage("-O%d: expected 0 or 1", f.Optimize)
	}
	if err := app.FirstError(f.Cuts.Check(), f.Math.Check(f.Cuts.Permissions())); err != nil {
		return err
	}
	return f.Passes.Check(ctx, f.first)
}

// compile reads a graph and takes it to a stage.
func File(ctx context.Context, a *app.App, file string, f *Flags, last pipeline.Stage) (*Compilation, error) {
	if _, err := standardPasses(a, f.request(pipeline.OperationExpression, last)); err != nil {
		return nil, err
	}
	g, err := graphfiles.Load(ctx, a, file)
	if err != nil {
		return nil, err
	}
	return Graph(ctx, a, file, f, g, last)
}

// standardPasses gives the passes that do what is asked for.
func standardPasses(a *app.App, r pipeline.Request) (pipeline.Pipeline, error) {
	return ParsePasses(a, a.Plugins.Table().Standard(r))
}

// Graph takes a graph, which was read from a file, to a stage.
func Graph(ctx context.Context, a *app.App, file string, f *Flags, g *ir.Graph, last pipeline.Stage) (*Compilation, error) {
	if err := f.Cuts.Takes(g, file); err != nil {
		return nil, err
	}
	from := pipeline.StageOf(g)
	switch {
	case from > last:
		return nil, diag.Usage("%s is a graph of %v already, and gives no %v", file, from, last)
	case from == pipeline.ScheduledKernels && f.Math.Set != 0:
		return nil, diag.Usage("%s is scheduled: what its program may do to numbers is written there, and takes no flags", file)
	case from != pipeline.ScheduledKernels:
		from = pipeline.OperationExpression
	}
	r := f.request(from, last)
	if tensorops.HasChoices(g) || a.Plugins.Table().Opens(f.first) {
		r.Facts[pipeline.Choices] = []string{choose.TakeFirst}
	}
	if from != pipeline.ScheduledKernels && composite.Used(g) {
		f.Cuts.Inline(g, last, r.Facts)
	}
	p, err := standardPasses(a, r)
	if err == nil {
		_, err = aliases.State(g, a.Imports.Aliases, a.Imports.Rooms)
	}
	if err != nil {
		return nil, err
	}
	content.CollectWhileCompiling(a.Tuned)
	result, err := f.Passes.RunPasses(ctx, p, g)
	if err == nil && last > pipeline.OperationExpression {
		err = f.Cuts.Written()
	}
	if err == nil {
		err = tune.Use(ctx, result.Graph, f.Options.Tuned, f.TunedProgram(), a.Stderr)
	}
	if err != nil {
		return nil, err
	}
	loader := f.Passes.Loader(g, p.Paths())
	return &Compilation{Graph: result.Graph, result: result, flags: f, Loader: loader, values: &reference.Values{Graph: result.Graph, Library: a.Plugins.Library(), Stored: loader.Load}}, nil
}

// Make lets a back end make its output, and tells how long everything took.
func (c *Compilation) Make(ctx context.Context, goal *Goal, file, out string) error {
	a, work := c.flags.Passes.App, c.result.Timing.Append(goal.Output.Name)
	if m, ok := a.Stderr.(*progress.Meter); ok {
		m.Begin(backendWork)
	}
	j := c.Job(outputflags.ProgramName(file))
	j.Stage = work.Stage
	err := c.record(ctx, j)
	if err == nil {
		err = makeOutput(ctx, a, goal, j, out)
	}
	work.End()
	a.EndProgress(err == nil)
	return cmp.Or(err, c.flags.Passes.Report.tell(ctx, a, c.result))
}

// LoadConst gives the value of a constant.
func (c *Compilation) LoadConst(ctx context.Context, x tensorops.Const) (tensorfile.Tensor, error) {
	t, err := c.values.Load(ctx, x)
	if err != nil {
		return t, diag.Errorf("TAP0702", "constants", c.Graph.At(c.Graph.Node(x.Op), "/body/params"), "%s can not be loaded: %v", c.Graph.Name(x.Op), err)
	}
	return t, nil
}

// DataFiles gives the files that constants are read from.
func (c *Compilation) DataFiles() []string {
	var files []string
	p, err := tensorops.ProgramOf(c.Graph)
	if err != nil {
		return nil // no program is built of it
	}
	for _, x := range p.Constants {
		if file, err := c.Loader.Path(x.File); err == nil && x.File != "" {
			files = append(files, file)
		}
	}
	return files
}

// Job is what a back end works on.
func (c *Compilation) Job(program string) *backends.Job {
	return &backends.Job{Graph: c.Graph, Sizes: c.Sizes, Program: program, Version: release.Version, Load: c.LoadConst,
		Writable: func(path string) error { return c.flags.Passes.App.NotRead(path, c.DataFiles()...) }}
}

// record writes down in a job what it is made from.
func (c *Compilation) record(ctx context.Context, j *backends.Job) (err error) {
	b := c.flags.Made
	if b == nil {
		return nil
	}
	if s, ok := c.flags.Passes.App.Sources[c.Graph.File]; ok {
		b.Content = s.Text.Data
	}
	b.Passes, b.Data = c.flags.Passes.App.Plugins.Table().Renamed, c.DataFiles()
	j.Made, err = b.Made(ctx)
	return err
}

// TunedProgram is what the flags have kernels tuned for.
func (f *Flags) TunedProgram() tune.Program {
	return tune.Program{Backend: func() (*backends.Backend, error) { return BackendOf(f.Passes.App, f) }, Values: f.Options.Processor,
		Warn: func(d diag.Diagnostic) { f.Passes.App.Report(diag.List{d}) }}
}

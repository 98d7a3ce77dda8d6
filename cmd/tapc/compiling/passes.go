package compiling

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/beside"
	"tensortapestry.org/tapc/cmd/tapc/content"
	"tensortapestry.org/tapc/cmd/tapc/datanames"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/cmd/tapc/progress"
	"tensortapestry.org/tapc/cmd/tapc/valuecheck"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/simplify"
)

// PassFlags are the flags of commands that run passes.
type PassFlags struct {
	App         *app.App
	print       printFlags
	Report      reportFlags
	noVerify    bool
	Values      bool
	seed        uint64
	disable     []string
	Fuel        int
	dumpDir     string
	reproducers string
	DataDir     string
	Plugins     app.PluginFlags
}

// printFlags say when the graph is shown.
type printFlags struct{ before, after, change []string }

// reportFlags say what is told of a run.
type reportFlags struct {
	timing, Trace  string
	Progress       progress.Flag
	sizes          int // for which the passes run, this one with them
	stats, Verbose bool
	Later          bool // more work comes behind the passes, which is told of too
}

// allPasses is the value of the flags that choose passes when they are given alone.
const allPasses = "all"

// AddPassFlags adds the flags to a command; see runner and runPasses for their use.
func AddPassFlags(a *app.App, c *cobra.Command) *PassFlags {
	f := &PassFlags{App: a}
	fs := c.Flags()
	fs.BoolVar(&f.noVerify, "no-verify", false, "do not verify the graph before the first pass and after each")
	fs.BoolVar(&f.Values, "check-values", false, "evaluate the graph before and after each pass on random inputs, and compare")
	fs.Uint64Var(&f.seed, "seed", 0, "seed of the random inputs")
	fs.StringSliceVar(&f.disable, "disable", nil, "leave out a pass, or turn off a rule, one of a file of rules too, by name (repeatable)")
	fs.IntVar(&f.Fuel, "fuel", -1, "stop rewriting after this many applications of rules; negative is never")
	fs.StringVar(&f.dumpDir, "dump-dir", "", "write the graph before the first pass and after each to numbered .tap files in this directory")
	fs.StringVar(&f.reproducers, "reproducer-dir", ".", `directory for a file that repeats the fault of a pass; "" writes none`)
	fs.StringVar(&f.DataDir, "data-dir", "", "directory that data files in the graph are relative to; default: the graph's")
	flagnames.Later(fs, "disable")
	flagnames.Maybe(fs, "reproducer-dir")
	flagnames.Files(fs, flagnames.Folder, "dump-dir", "data-dir", "reproducer-dir")
	f.Plugins.Add(fs)
	f.print.add(c)
	f.Report.add(c)
	for _, flag := range []string{"print-ir-before", "print-ir-after", "print-ir-after-change", "disable"} {
		app.Complete(c, flag, app.Passes().Names())
	}
	return f
}

func (p *printFlags) add(c *cobra.Command) {
	for _, x := range []struct {
		name, doc string
		to        *[]string
	}{
		{"print-ir-before", "show the graph before each pass, or before those named", &p.before},
		{"print-ir-after", "show the graph after each pass, or after those named", &p.after},
		{"print-ir-after-change", "show what each pass changes, or those named, as a diff", &p.change},
	} {
		c.Flags().StringSliceVar(x.to, x.name, nil, x.doc)
		c.Flags().Lookup(x.name).NoOptDefVal = allPasses
		flagnames.Later(c.Flags(), x.name)
	}
}

func (r *reportFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&r.timing, "timing", "", "show the time of each pass, and of the back end with its C compiler, as text or json")
	c.Flags().Lookup("timing").NoOptDefVal = "text"
	r.Progress.Add(c.Flags())
	app.Complete(c, "progress", progress.Words)
	c.Flags().StringVar(&r.Trace, "trace", "", "write the times to a file for chrome://tracing or Perfetto")
	c.Flags().BoolVar(&r.stats, "stats", false, "show the counters of the passes: rules applied and the like")
	c.Flags().BoolVarP(&r.Verbose, "verbose", "v", false, "show what passes say of their work")
	app.Words(c, "timing", []string{"text", "json"})
	flagnames.Files(c.Flags(), flagnames.Written, "trace")
}

// Check starts the plugins and finds what is wrong with the flags, before any other work. The passes are those that the user gives.
func (f *PassFlags) Check(ctx context.Context, passes string) error {
	if err := f.App.StartPlugins(ctx, &f.Plugins, f.Log()); err != nil {
		return err
	}
	t := f.App.Plugins.Table()
	f.App.Stderr = f.Report.Meter(f.App.Stderr)
	for flag, list := range map[string][]string{"--print-ir-before": f.print.before, "--print-ir-after": f.print.after, "--print-ir-after-change": f.print.change} {
		for _, name := range list {
			if name != allPasses && t.Find(name) == nil {
				return diag.Unknown("pass in "+flag, name, t.Names())
			}
		}
	}
	if len(f.disable) == 0 {
		return nil
	}
	known := append(t.Names(), t.Rules()...)
	if p, err := pipeline.ParsePipeline(passes, t); err == nil { // what is wrong with it is said when it is run
		rules, err := simplify.Named(p.Values("rules"), f.App.Plugins.Library())
		if err != nil {
			return err
		}
		known = append(known, rules...)
	}
	for _, name := range f.disable {
		if !slices.Contains(known, name) {
			return diag.Unknown("pass or rule in --disable", name, known)
		}
	}
	return nil
}

// Runner makes the runner that the flags describe, for a graph as it was loaded.
func (f *PassFlags) Runner(ctx context.Context, p pipeline.Pipeline, g *ir.Graph) *pipeline.Runner {
	loader := f.Loader(g, p.Paths())
	dir := loader.Dir
	r := &pipeline.Runner{Load: loader.Load, NoVerify: f.noVerify, Disable: f.disable, Dir: dir, DumpDir: f.dumpDir,
		Reproducers: pipeline.Reproducers{Dir: f.reproducers, Input: f.App.Origins[g].Again},
		Print:       pipeline.Printing{Before: choice(f.print.before), After: choice(f.print.after), Changes: choice(f.print.change), To: f.App.Stderr},
		Files:       func(name string, data []byte) error { return f.App.WriteData(ctx, name, data) },
		Report:      func(d diag.Diagnostic) { f.App.Report(diag.List{d}) }}
	r.Reproducers.Carry = func(name string, g *ir.Graph, paths []string) (map[string]string, error) {
		return carry(name, g, loader.Path, paths)
	}
	r.Reproducers.Flags = append(r.Reproducers.Flags, f.Plugins.Arguments()...)
	for _, file := range f.App.KernelFiles {
		r.Reproducers.Flags = append(r.Reproducers.Flags, "--kernels="+file)
		r.Reproducers.Paths = append(r.Reproducers.Paths, file)
	}
	if f.Fuel >= 0 {
		r.Fuel = &f.Fuel
	}
	if f.Values {
		r.Values = &pipeline.Values{Equal: valuecheck.Equal(f.App.Plugins.Library(), dir, p.Paths()), Seed: f.seed}
	}
	r.Log = f.Log()
	return r
}

// Log gives where passes tell of their work; nil is nowhere.
func (f *PassFlags) Log() *slog.Logger {
	if !f.Report.Verbose {
		return nil
	}
	return slog.New(slog.NewTextHandler(f.App.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutTime}))
}

func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func choice(names []string) pipeline.Choice {
	return pipeline.Choice{All: slices.Contains(names, allPasses), Names: names}
}

// ParsePasses reads a pipeline of the table's passes; its text is kept for excerpts.
func ParsePasses(a *app.App, text string) (pipeline.Pipeline, error) {
	a.Sources[pipeline.SourceName] = app.Source{Text: &content.Content{Data: []byte(text)}}
	return pipeline.ParsePipeline(text, a.Plugins.Table())
}

// RunPasses takes a graph through a pipeline as the flags say, and shows the times and counters that they ask for, also of a
// run that failed.
func (f *PassFlags) RunPasses(ctx context.Context, p pipeline.Pipeline, g *ir.Graph) (*pipeline.Result, error) {
	runner := f.Runner(ctx, p, g)
	if m, ok := f.App.Stderr.(*progress.Meter); ok {
		steps := slices.Repeat(p.Names(), max(1, f.Report.sizes))
		if f.Report.Later {
			steps = append(steps, backendWork)
		}
		m.Plan(steps...)
		runner.Print.Begin = m.Begin
	}
	result, err := runner.Run(ctx, p, g)
	if err != nil || !f.Report.Later {
		f.App.EndProgress(err == nil)
	}
	if err == nil && f.Report.Later {
		return result, nil
	}
	if told := f.Report.tell(ctx, f.App, result); err == nil {
		err = told
	}
	return result, err
}

// tell shows times and counters.
func (r *reportFlags) tell(ctx context.Context, a *app.App, result *pipeline.Result) error {
	var b strings.Builder
	switch r.timing {
	case "text":
		result.Timing.WriteTiming(&b)
	case "json":
		result.Timing.WriteJSON(&b)
	}
	if r.stats {
		result.Stats.Write(&b)
	}
	if _, err := io.WriteString(a.Stderr, b.String()); err != nil {
		return diag.Fault("standard error: %w", err)
	}
	if r.Trace == "" {
		return nil
	}
	return a.WriteFile(ctx, r.Trace, result.Timing.WriteTrace)
}

// Meter puts a meter before standard error, if progress is to be shown there and none is.
func (r *reportFlags) Meter(stderr io.Writer) io.Writer {
	form := r.Progress.Form(stderr)
	if _, is := stderr.(*progress.Meter); is || form == progress.None || form == progress.Terminal && r.Verbose {
		return stderr
	}
	return progress.New(stderr, form)
}

// backendWork is what progress says while a back end works.
const backendWork = "waiting for the back end and its compiler"

// Loader gives what finds and loads the data files that a graph names, which was read from a file: in the folder of that file or
// in the one that the flags name. A pipeline may name further files.
func (f *PassFlags) Loader(g *ir.Graph, paths []string) *constants.Loader {
	l := graphfiles.LoaderOf(f.App, g)
	l.Allowed = paths
	if f.DataDir != "" {
		l.Dir = f.DataDir
	}
	return l
}

// carry copies what a graph and paths name into the folder beside a reproducer.
func carry(reproducer string, g *ir.Graph, path func(string) (string, error), paths []string) (map[string]string, error) {
	copies, names := beside.For(reproducer), map[string]string{}
	for _, p := range paths {
		name, err := copies.Add(p)
		if err != nil {
			return nil, err
		}
		names[p] = name
	}
	err := datanames.Graph(g, func(file string) (string, error) {
		from, err := path(file)
		if err != nil {
			return file, nil // no name that could be read where the graph was
		}
		return copies.Add(from)
	})
	if err == nil {
		err = copies.Write()
	}
	if err != nil {
		return nil, err
	}
	return names, nil
}

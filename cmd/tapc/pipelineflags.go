package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/content"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/progress"
	"tensortapestry.org/tapc/cmd/tapc/valuecheck"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/simplify"
)

// pipelineFlags are the flags of commands that run passes.
type pipelineFlags struct {
	app         *app
	print       printFlags
	report      reportFlags
	noVerify    bool
	values      bool
	seed        uint64
	disable     []string
	fuel        int
	dumpDir     string
	reproducers string
	dataDir     string
	plugins     pluginFlags
}

// printFlags say when the graph is shown.
type printFlags struct{ before, after, change []string }

// reportFlags say what is told of a run.
type reportFlags struct {
	timing, trace  string
	progress       progress.Flag
	sizes          int // for which the passes run, this one with them
	stats, verbose bool
	later          bool // more work comes behind the passes, which is told of too
}

// allPasses is the value of the flags that choose passes when they are given alone.
const allPasses = "all"

// addPipelineFlags adds the flags to a command; see runner and runPasses for their use.
func (a *app) addPipelineFlags(c *cobra.Command) *pipelineFlags {
	f := &pipelineFlags{app: a}
	fs := c.Flags()
	fs.BoolVar(&f.noVerify, "no-verify", false, "do not verify the graph before the first pass and after each")
	fs.BoolVar(&f.values, "check-values", false, "evaluate the graph before and after each pass on random inputs, and compare")
	fs.Uint64Var(&f.seed, "seed", 0, "seed of the random inputs")
	fs.StringSliceVar(&f.disable, "disable", nil, "leave out a pass, or turn off a rule, one of a file of rules too, by name (repeatable)")
	fs.IntVar(&f.fuel, "fuel", -1, "stop rewriting after this many applications of rules; negative is never")
	fs.StringVar(&f.dumpDir, "dump-dir", "", "write the graph before the first pass and after each to numbered .tap files in this directory")
	fs.StringVar(&f.reproducers, "reproducer-dir", ".", `directory for a file that repeats the fault of a pass; "" writes none`)
	fs.StringVar(&f.dataDir, "data-dir", "", "directory that data files in the graph are relative to; default: the graph's")
	flagnames.Later(fs, "disable")
	flagnames.Maybe(fs, "reproducer-dir")
	flagnames.Files(fs, flagnames.Folder, "dump-dir", "data-dir", "reproducer-dir")
	f.plugins.add(fs)
	f.print.add(c)
	f.report.add(c)
	for _, flag := range []string{"print-ir-before", "print-ir-after", "print-ir-after-change", "disable"} {
		complete(c, flag, passes().Names())
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
	r.progress.Add(c.Flags())
	complete(c, "progress", progress.Words)
	c.Flags().StringVar(&r.trace, "trace", "", "write the times to a file for chrome://tracing or Perfetto")
	c.Flags().BoolVar(&r.stats, "stats", false, "show the counters of the passes: rules applied and the like")
	c.Flags().BoolVarP(&r.verbose, "verbose", "v", false, "show what passes say of their work")
	words(c, "timing", []string{"text", "json"})
	flagnames.Files(c.Flags(), flagnames.Written, "trace")
}

// check starts the plugins and finds what is wrong with the flags, before any other work. The passes are those that the user gives.
func (f *pipelineFlags) check(ctx context.Context, passes string) error {
	if err := f.app.startPlugins(ctx, &f.plugins, f.log()); err != nil {
		return err
	}
	t := f.app.plugins.table()
	f.app.stderr = f.report.meter(f.app.stderr)
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
		rules, err := simplify.Named(p.Values("rules"), f.app.plugins.library())
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

// runner makes the runner that the flags describe, for a graph as it was loaded.
func (f *pipelineFlags) runner(ctx context.Context, p pipeline.Pipeline, g *ir.Graph) *pipeline.Runner {
	loader := f.loader(g, p.Paths())
	dir := loader.Dir
	r := &pipeline.Runner{Load: loader.Load, NoVerify: f.noVerify, Disable: f.disable, Dir: dir, DumpDir: f.dumpDir,
		Reproducers: pipeline.Reproducers{Dir: f.reproducers, Input: f.app.origins[g].again},
		Print:       pipeline.Printing{Before: choice(f.print.before), After: choice(f.print.after), Changes: choice(f.print.change), To: f.app.stderr},
		Files:       func(name string, data []byte) error { return f.app.writeData(ctx, name, data) },
		Report:      func(d diag.Diagnostic) { f.app.report(diag.List{d}) }}
	r.Reproducers.Carry = func(name string, g *ir.Graph, paths []string) (map[string]string, error) {
		return carry(name, g, loader.Path, paths)
	}
	r.Reproducers.Flags = append(r.Reproducers.Flags, f.plugins.arguments()...)
	for _, file := range f.app.kernelFiles {
		r.Reproducers.Flags = append(r.Reproducers.Flags, "--kernels="+file)
		r.Reproducers.Paths = append(r.Reproducers.Paths, file)
	}
	if f.fuel >= 0 {
		r.Fuel = &f.fuel
	}
	if f.values {
		r.Values = &pipeline.Values{Equal: valuecheck.Equal(f.app.plugins.library(), dir, p.Paths()), Seed: f.seed}
	}
	r.Log = f.log()
	return r
}

// log gives where passes tell of their work; nil is nowhere.
func (f *pipelineFlags) log() *slog.Logger {
	if !f.report.verbose {
		return nil
	}
	return slog.New(slog.NewTextHandler(f.app.stderr, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutTime}))
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

// parsePasses reads a pipeline of the table's passes; its text is kept for excerpts.
func (a *app) parsePasses(text string) (pipeline.Pipeline, error) {
	a.sources[pipeline.SourceName] = source{&form{}, &content.Content{Data: []byte(text)}}
	return pipeline.ParsePipeline(text, a.plugins.table())
}

// runPasses takes a graph through a pipeline as the flags say, and shows the times and counters that they ask for, also of a
// run that failed.
func (f *pipelineFlags) runPasses(ctx context.Context, p pipeline.Pipeline, g *ir.Graph) (*pipeline.Result, error) {
	runner := f.runner(ctx, p, g)
	if m, ok := f.app.stderr.(*progress.Meter); ok {
		steps := slices.Repeat(p.Names(), max(1, f.report.sizes))
		if f.report.later {
			steps = append(steps, backendWork)
		}
		m.Plan(steps...)
		runner.Print.Begin = m.Begin
	}
	result, err := runner.Run(ctx, p, g)
	if err != nil || !f.report.later {
		endProgress(f.app, err == nil)
	}
	if err == nil && f.report.later {
		return result, nil
	}
	if told := f.report.tell(ctx, f.app, result); err == nil {
		err = told
	}
	return result, err
}

// tell shows times and counters.
func (r *reportFlags) tell(ctx context.Context, a *app, result *pipeline.Result) error {
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
	if _, err := io.WriteString(a.stderr, b.String()); err != nil {
		return diag.Fault("standard error: %w", err)
	}
	if r.trace == "" {
		return nil
	}
	return a.writeFile(ctx, r.trace, result.Timing.WriteTrace)
}

// writeData writes a file whole or not at all, and the directories that it needs.
func (a *app) writeData(ctx context.Context, name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return diag.Fault("%w", err)
	}
	return a.writeFile(ctx, name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

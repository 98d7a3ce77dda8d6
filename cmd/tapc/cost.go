package main

import (
	"cmp"
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/compiling"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/cmd/tapc/guide"
	"tensortapestry.org/tapc/cmd/tapc/outputflags"
	"tensortapestry.org/tapc/cmd/tapc/prices"
	"tensortapestry.org/tapc/cmd/tapc/programflags"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/standard"
	"tensortapestry.org/tapc/passes/tile"
)

// costFlags say what is priced, and on what.
type costFlags struct {
	compile *compiling.Flags
	threads int
	use     string // the command
	others  bool   // what else kernels could be carried out as is priced, too
}

func addCostFlags(c *cobra.Command, f *compiling.Flags) *costFlags {
	x := &costFlags{compile: f, use: c.Name()}
	f.Cuts.Priced()
	c.Flags().Lookup("machine").Usage = "machine that prices are for: a name that tapc machine lists, or the path of a machine file"
	c.Flags().IntVar(&x.threads, "threads", 0, "threads that the program uses (default: all cores of the machine)")
	c.Flags().Lookup("cpu").Usage = "CPU that kernels are decided for, as build has it: native, x86-64-v3, … (default: the target of the machine's file, this machine's with --tuned, otherwise " + usualTarget() + ")"
	app.Complete(c, "machine", machine.Presets())
	return x
}

// usualTarget is what kernels for CPUs are decided for where nothing says more.
func usualTarget() string {
	_, target := app.OwnBackends().For(schedule.Host).Configs.Target()
	return target
}

func costCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "cost FILE --machine MACHINE", Short: "Say what a program takes on a machine, without running it", Long: prices.Help, Args: app.NeedFiles(1, 1),
		Example: "  tapc cost model.onnx --machine=laptop\n  tapc cost model.tap --machine=8xh100 --target=cuda --json\n  tapc cost model.tap --machine=./mine.yaml --trace=timeline.json"}
	f := addCostFlags(c, compiling.AddFlags(a, c))
	own := app.OwnBackends()
	c.Flags().StringVar(&f.compile.Target, "target", f.compile.Target, "what the program runs on: "+guide.WordList(compiling.Targets(own)))
	app.Words(c, "target", compiling.Targets(own))
	asJSON := app.JSONFlag(c)
	c.Flags().Lookup("trace").Usage = "write when each kernel runs to a file for chrome://tracing or Perfetto"
	return a.Command(c, func(ctx context.Context, args []string) error {
		trace := f.compile.Passes.Report.Trace
		f.compile.Passes.Report.Trace = ""
		r, err := f.report(ctx, a, args[0])
		if err != nil {
			return err
		}
		if trace != "" {
			err = a.WriteFile(ctx, trace, r.Trace)
		}
		write := r.Print
		if *asJSON {
			write = r.JSON
		}
		return cmp.Or(err, a.WriteFile(ctx, app.Standard, func(w io.Writer) error { return write(w) }))
	})
}

// explain writes why a program takes the time or the memory that it takes, or moves what it moves.
func (f *costFlags) explain(ctx context.Context, a *app.App, args []string, asJSON bool) error {
	if args[0] == "transfer" {
		m, err := f.mesh(ctx, a, args[1])
		if err != nil {
			return err
		}
		return a.WriteFile(ctx, app.Standard, func(w io.Writer) error { return m.Explain(w, strings.Join(args[2:], ""), asJSON) })
	}
	f.others = args[0] == "time"
	r, err := f.price(ctx, a, args[1])
	if err != nil {
		return err
	}
	return a.WriteFile(ctx, app.Standard, func(w io.Writer) error {
		switch {
		case args[0] == "memory" && len(args) == 3:
			return r.ExplainTensor(w, args[2], asJSON)
		case args[0] == "memory":
			return r.ExplainMemory(w, asJSON)
		}
		return r.Explain(w, strings.Join(args[2:], ""), asJSON)
	})
}

// report prices a program on one device, or on those that a plan or --devices says.
func (f *costFlags) report(ctx context.Context, a *app.App, file string) (prices.Priced, error) {
	if plan, err := f.compile.Cuts.Mesh(); plan != nil || err != nil || f.compile.Cuts.Devices() > 1 && f.compile.Cuts.Machine() != "" {
		return f.mesh(ctx, a, file)
	}
	return f.price(ctx, a, file)
}

// mesh prices a graph with the plan that the flags name: on its mesh, or on the devices of its schedule.
func (f *costFlags) mesh(ctx context.Context, a *app.App, file string) (m prices.Mesh, err error) {
	plan, err := f.compile.Cuts.Mesh()
	if err == nil {
		err = f.begin(ctx)
	}
	if err != nil {
		return m, err
	}
	if !f.compile.Cuts.Scheduled(plan) {
		return f.meshOf(ctx, a, file, plan)
	}
	x, err := compiling.File(ctx, a, file, f.compile, pipeline.ScheduledKernels)
	if err != nil {
		return m, err
	}
	defer x.Loader.Close()
	on, err := machine.Find(f.compile.Cuts.Machine())
	s, err2 := f.settings()
	if err := cmp.Or(err, err2); err != nil {
		return m, err
	}
	return prices.OfDevices(x.Graph, on, s, f.compile.Target, f.compile.Cuts.Devices())
}

// meshOf propagates a plan through a graph, schedules it and prices it on the devices of the mesh.
func (f *costFlags) meshOf(ctx context.Context, a *app.App, file string, plan *planfile.Plan) (m prices.Mesh, err error) {
	g, err := graphfiles.Load(ctx, a, file)
	if err != nil {
		return m, err
	}
	flags := *f.compile
	if plan != nil {
		flags.Math.Set |= plan.Permissions
	}
	r, on, err := flags.Cuts.Propagate(ctx, g, plan, a.Plugins.Library(), flags.Math.Set, flags.Target)
	if err != nil {
		return m, err
	}
	flags.Cuts, flags.Optimize = programflags.Cuts{}, 0
	x, err := compiling.Graph(ctx, a, file, &flags, g, pipeline.ScheduledKernels)
	if err != nil {
		return m, err
	}
	defer x.Loader.Close()
	s, err := f.settings()
	if err != nil {
		return m, err
	}
	return prices.OfMesh(x.Graph, on, s, r, flags.Target)
}

// price compiles a graph to a schedule, and prices it.
func (f *costFlags) price(ctx context.Context, a *app.App, file string) (*prices.Report, error) {
	if f.compile.Cuts.Machine() == "" {
		return nil, diag.Usage("prices are for a machine: expected --machine=NAME, of those that tapc machine lists, or --machine=FILE")
	}
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	x, err := compiling.File(ctx, a, file, f.compile, pipeline.ScheduledKernels)
	if err != nil {
		return nil, err
	}
	defer x.Loader.Close()
	r, err := f.priceOf(ctx, x, file)
	if err != nil {
		return nil, err
	}
	return r, r.Walk(f.compile.Target, f.compile.Cuts.Devices())
}

// begin checks the flags and starts the plugins.
func (f *costFlags) begin(ctx context.Context) error {
	a := f.compile.Passes.App
	if f.threads < 0 {
		return diag.Usage("--threads=%d: expected a number of threads", f.threads)
	}
	b, err := compiling.BackendOf(a, f.compile)
	if err == nil {
		err = f.compile.Decide(ctx, b, pipeline.ScheduledKernels, f.use, f.compile.Cuts.Machine())
	}
	return cmp.Or(err, f.compile.Begin(ctx))
}

// priceOf prices what was compiled.
func (f *costFlags) priceOf(ctx context.Context, x *compiling.Compilation, file string) (*prices.Report, error) {
	m, err := machine.Find(f.compile.Cuts.Machine())
	if err != nil {
		return nil, err
	}
	s, err := f.settings()
	if err != nil {
		return nil, err
	}
	d, err := m.Device("", f.compile.Target)
	if err != nil {
		return nil, err
	}
	var memory []backends.MemoryTerm
	if b := app.OwnBackends().Find(f.compile.Target); b != nil && b.Memory != nil {
		if memory, err = b.Memory(ctx, x.Job(outputflags.ProgramName(file)), cmp.Or(s.Units, d.Units)); err != nil {
			return nil, err
		}
	}
	return prices.Of(x.Graph, m, s, memory)
}

// settings are what prices depend on beside a schedule and a machine.
func (f *costFlags) settings() (price.Settings, error) {
	choosers, err := tile.Chosen(app.OwnBackends().Choosers(), strings.Join(f.compile.Options.Processors, ","))
	s := price.Settings{Units: int64(f.threads), Targets: standard.Priced(choosers)}
	if f.others {
		s.Others = standard.Others(choosers)
	}
	return s, err
}

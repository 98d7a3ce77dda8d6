package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/compiling"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/cmd/tapc/guide"
	"tensortapestry.org/tapc/cmd/tapc/recorded"
	"tensortapestry.org/tapc/dialects/schedule"
)

const buildHead = `Compile a graph file to an executable.

The program needs neither tapc nor Go; PROGRAM --help says what it takes. Constants
that the graph names in data files beside it, or that --bind names, travel inside or,
with --weights=file, in a file beside the program, PROGRAM.weights. What the program has
in memory at most is known (PROGRAM --describe); it ends with exit status 3 before it
begins where that cannot be had.

--emit=lib writes a shared library to -o instead, and --emit=obj an object file to link
into a program of your own (with -pthread -lm). Beside either stands its C header, -o with
.h for its suffix: functions that create an instance, run it on your buffers, describe
it and destroy it, and what each buffer holds. --name says what their names begin with.
docs/libraries.md has the same for Python and Go. --emit=c -o FOLDER writes all that it
takes to build the program elsewhere.

--emit also stops earlier and writes what there is then, to -o or standard output:
`

const buildTail = `Without a C compiler, build says what to install and ends with exit status 3.`

// buildHelp is the help text, with what is written of graphs and of the texts of back ends.
func buildHelp() string {
	var b strings.Builder
	b.WriteString(buildHead)
	for _, g := range compiling.Graphs {
		fmt.Fprintf(&b, "  %-13s %s\n", g.Name, g.Doc)
	}
	for _, x := range app.OwnBackends() {
		for _, o := range x.Outputs {
			if o.Text != nil {
				fmt.Fprintf(&b, "  %-13s %s (--target=%v)\n", o.Name, o.Doc, x.Devices[0])
			}
		}
	}
	return b.String() + buildTail
}

func buildCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "build FILE -o PROGRAM", Short: "Compile a graph file to an executable", Long: buildHelp(), Args: app.NeedFiles(1, 1),
		Example: "  tapc build model.loom.json -o model\n  tapc build model.tap --shard 'op:linear=2x2' -o model\n" +
			"  tapc build model.onnx --emit=lib --cpu=portable -o libmodel.so\n  tapc build model.tap --cc=aarch64-linux-gnu-gcc -o model\n" +
			"  tapc build model.loom.json --target=cuda --emit=cuda -o model.cu"}
	f := compiling.AddFlags(a, c)
	own := app.OwnBackends()
	out := c.Flags().StringP("output", "o", "", "file to write; \"-\" is standard output")
	emit := c.Flags().String("emit", own[0].Outputs[0].Name, "what to write: "+guide.WordList(compiling.Emits(own)))
	c.Flags().StringVar(&f.Backend, "backend", "", "what makes programs: NAME or NAME{OPTION=VALUE,...}, "+guide.WordList(own.Names())+" or a plugin's, which writes its files into the directory -o")
	c.Flags().StringVar(&f.Target, "target", f.Target, "what the program runs on: "+guide.WordList(compiling.Targets(own)))
	app.Complete(c, "emit", compiling.Emits(own))
	app.Complete(c, "target", compiling.Targets(own))
	flagnames.Words(c.Flags(), "target", schedule.DeviceWords())
	flagnames.Later(c.Flags(), "emit", "backend")
	flagnames.Files(c.Flags(), flagnames.Placed, "output")
	return a.Command(c, func(ctx context.Context, args []string) error {
		f.Made = &recorded.Build{Flags: recorded.Given(c.Flags()), Model: args[0], Folder: f.Passes.DataDir, Output: *out}
		return buildGraph(ctx, a, args[0], *out, *emit, c.Flags().Changed("emit"), f)
	})
}

func buildGraph(ctx context.Context, a *app.App, file, out, emit string, given bool, f *compiling.Flags) error {
	if err := f.Begin(ctx); err != nil {
		return err
	}
	if a.Imports.Analyze {
		_, err := graphfiles.Load(ctx, a, file) // ends with the report
		return err
	}
	g, err := compiling.NewGoal(ctx, a, f, emit, given)
	if err != nil {
		return err
	}
	if out, err = g.Place(out); err != nil {
		return err
	}
	f.Passes.Report.Later = g.Output != nil
	if g.Output != nil {
		if _, err := g.Output.Tools(ctx, g.Values); err != nil {
			return err
		}
	}
	c, err := compiling.Sizes(ctx, a, file, f, g)
	if err != nil {
		return err
	}
	defer c.Close()
	if g.Output == nil {
		return graphfiles.Store(ctx, a, out, "", c.Graph, c.Loader, graphfiles.Shown{})
	}
	return c.Make(ctx, g, file, out)
}

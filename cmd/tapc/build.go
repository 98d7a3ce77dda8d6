package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/flagnames"
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
	for _, g := range graphs {
		fmt.Fprintf(&b, "  %-13s %s\n", g.name, g.doc)
	}
	for _, x := range ownBackends() {
		for _, o := range x.Outputs {
			if o.Text != nil {
				fmt.Fprintf(&b, "  %-13s %s (--target=%v)\n", o.Name, o.Doc, x.Devices[0])
			}
		}
	}
	return b.String() + buildTail
}

func (a *app) buildCommand() *cobra.Command {
	c := &cobra.Command{Use: "build FILE -o PROGRAM", Short: "Compile a graph file to an executable", Long: buildHelp(), Args: needFiles(1, 1),
		Example: "  tapc build model.loom.json -o model\n  tapc build model.tap --shard 'op:linear=2x2' -o model\n" +
			"  tapc build model.onnx --emit=lib --cpu=portable -o libmodel.so\n  tapc build model.tap --cc=aarch64-linux-gnu-gcc -o model\n" +
			"  tapc build model.loom.json --target=cuda --emit=cuda -o model.cu"}
	f := a.addCompileFlags(c)
	own := ownBackends()
	out := c.Flags().StringP("output", "o", "", "file to write; \"-\" is standard output")
	emit := c.Flags().String("emit", own[0].Outputs[0].Name, "what to write: "+guide.WordList(emits(own)))
	c.Flags().StringVar(&f.backend, "backend", "", "what makes programs: NAME or NAME{OPTION=VALUE,...}, "+guide.WordList(own.Names())+" or a plugin's, which writes its files into the directory -o")
	c.Flags().StringVar(&f.target, "target", f.target, "what the program runs on: "+guide.WordList(targets(own)))
	complete(c, "emit", emits(own))
	complete(c, "target", targets(own))
	flagnames.Words(c.Flags(), "target", schedule.DeviceWords())
	flagnames.Later(c.Flags(), "emit", "backend")
	flagnames.Files(c.Flags(), flagnames.Placed, "output")
	return a.command(c, func(ctx context.Context, args []string) error {
		f.made = &recorded.Build{Flags: recorded.Given(c.Flags()), Model: args[0], Folder: f.dataDir, Output: *out}
		return a.build(ctx, args[0], *out, *emit, c.Flags().Changed("emit"), f)
	})
}

func (a *app) build(ctx context.Context, file, out, emit string, given bool, f *compileFlags) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	if a.imports.analyze {
		_, err := a.load(ctx, file) // ends with the report
		return err
	}
	g, err := a.goal(ctx, f, emit, given)
	if err != nil {
		return err
	}
	if out, err = g.place(out); err != nil {
		return err
	}
	f.report.later = g.output != nil
	if g.output != nil {
		if _, err := g.output.Tools(ctx, g.values); err != nil {
			return err
		}
	}
	c, err := compileSizes(ctx, a, file, f, g)
	if err != nil {
		return err
	}
	defer c.close()
	if g.output == nil {
		return a.store(ctx, out, "", c.g, c.loader, shown{})
	}
	return c.make(ctx, g, file, out)
}

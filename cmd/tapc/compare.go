package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/compare"
	"tensortapestry.org/tapc/cmd/tapc/compiling"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/cmd/tapc/portfiles"
	"tensortapestry.org/tapc/cmd/tapc/progress"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/release"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/pipeline"
)

// compareFlags are the flags of compare.
type compareFlags struct {
	runFlags
	against, python, tensors, picture string
	program, size                     string // of several sizes
	rounds                            int
	within                            compare.Bound
}

// tensorWords are the values of --tensors.
var tensorWords = []string{"auto", "always", "never"}

func compareCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "compare MODEL --against=onnxruntime|reference|PROGRAM", Short: "Compare a model's program with something else", Long: compare.Help, Args: app.NeedFiles(1, 1),
		Example: "  tapc compare model.onnx --against=onnxruntime --picture=model.svg\n  tapc compare model.tap --against=reference --tensors=always\n  tapc compare model.onnx --against=./older --json"}
	f, o := compiling.AddFlags(a, c), &compareFlags{}
	o.given = func(flag string) bool { return flag == "random" }
	fs := c.Flags()
	fs.StringVar(&o.against, "against", "", "what to compare with: onnxruntime, reference, or an executable")
	fs.StringVar(&o.python, "python", "", "Python that has ONNX Runtime (default: $TAPC_PEERS_PYTHON, else python3)")
	fs.StringArrayVar(&o.inputs, "input", nil, "input NAME=FILE, or FILE for all inputs by name (repeatable)")
	fs.Int64Var(&o.random, "random", 1, "fill inputs that are not given at random, from this seed")
	fs.IntVar(&o.on.threads, "threads", 0, "threads to run on (default: all cores)")
	fs.IntVar(&o.rounds, "rounds", 10, "rounds in which both sides are timed; 0 times nothing")
	fs.Float64Var(&o.within.Tolerance, "tolerance", 1e-4, "error, relative to a tensor's greatest magnitude, beyond which values part (default: a step of the type in those of 16 bits and less, 1e-4 in others)")
	fs.Lookup("tolerance").DefValue = "0" // which help leaves out
	fs.StringVar(&o.tensors, "tensors", "auto", "compare tensors inside the model: auto, where outputs part; always; or never")
	fs.StringVar(&o.picture, "picture", "", "write a picture to this file, as SVG")
	flagnames.Entries(fs, "input")
	flagnames.Later(fs, "against")
	flagnames.Texts(fs, "python")
	flagnames.Files(fs, flagnames.Written, "picture")
	asJSON := app.JSONFlag(c)
	app.Words(c, "tensors", tensorWords)
	return a.Command(c, func(ctx context.Context, args []string) error {
		o.within.Step = !fs.Changed("tolerance")
		if err := app.FirstError(compare.Check(o.against, o.python, o.rounds, o.on.threads, o.within.Tolerance), f.Begin(ctx)); err != nil {
			return err
		}
		r, err := compareSizes(ctx, a, args[0], f, o)
		if err != nil {
			return err
		}
		if o.picture != "" {
			if err := a.WriteFile(ctx, o.picture, r[0].WritePicture); err != nil {
				return err
			}
		}
		write := r.Write
		if *asJSON {
			write = r.WriteJSON
		}
		if err := a.WriteFile(ctx, app.Standard, func(w io.Writer) error { return write(w) }); err != nil || r.Agree() {
			return err
		}
		return &diag.StatusError{Status: diag.ExitInput, Err: app.Reported{}}
	})
}

// compareSizes compares at each size that the flags ask for.
func compareSizes(ctx context.Context, a *app.App, file string, f *compiling.Flags, o *compareFlags) (compare.Series, error) {
	goal, err := compiling.NewGoal(ctx, a, f, runnable, true)
	if err != nil {
		return nil, err
	}
	if _, err := goal.Output.Tools(ctx, goal.Values); err != nil {
		return nil, err
	}
	each, names, err := compare.Sizes(a.Imports.Dims, o.inputs, o.picture)
	if err != nil || file == app.Standard {
		return nil, app.FirstError(err, diag.Usage("compare takes a model in a file"))
	}
	dir, remove, err := app.Temporary()
	if err != nil {
		return nil, err
	}
	defer remove()
	if len(each) > 1 {
		c, err := compiling.Sizes(ctx, a, file, f, goal)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		o.program = filepath.Join(dir, "program")
		if err := c.Make(ctx, goal, file, o.program); err != nil {
			return nil, err
		}
	}
	var all compare.Series
	for i, size := range each {
		a.Imports.Dims, o.size = size, names[i]
		r, err := compareModel(ctx, a, file, f, o, goal, filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// compareModel compares as the flags say, at one size.
func compareModel(ctx context.Context, a *app.App, file string, f *compiling.Flags, o *compareFlags, goal *compiling.Goal, dir string) (*compare.Report, error) {
	a.Imports.Files = o.inputs
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, diag.Fault("%w", err)
	}
	files, err := portfiles.Convert(dir, o.inputs, nil)
	if err != nil {
		return nil, err
	}
	o.inputs = files.Inputs
	j := &compare.Job{Model: file, Size: o.size, Against: o.against, Python: o.python, Title: "tapc " + release.Version, Dir: dir, Threads: o.on.threads, Rounds: o.rounds,
		Within: o.within, Inside: o.tensors}
	if form, text, name, err := graphfiles.OpenGraph(ctx, a, file, ""); err != nil {
		return nil, err
	} else if form.Name == "onnx" {
		x, err := form.Imports(a, text.Data, name)
		if err != nil {
			return nil, err
		}
		j.Foreign, j.Known = x.Foreign, x.Options.Bind
	}
	j.Meter = func() *progress.Meter { return progress.New(a.Stderr, f.Passes.Report.Progress.Form(a.Stderr)) }
	j.Build = func(ctx context.Context, path string, wanted func(string) bool) (*compare.Built, error) {
		return comparedProgram(ctx, a, file, f, o, goal, path, wanted)
	}
	return j.Run(ctx)
}

// comparedProgram builds a model with tensors inside as outputs, those whose names are wanted.
func comparedProgram(ctx context.Context, a *app.App, file string, f *compiling.Flags, o *compareFlags, goal *compiling.Goal, path string, wanted func(string) bool) (*compare.Built, error) {
	b := &compare.Built{}
	a.Stderr = f.Passes.Report.Meter(a.Stderr) // that of the build before has ended
	compiled := func(last pipeline.Stage) (*compiling.Compilation, error) {
		g, err := graphfiles.Load(ctx, a, file)
		if err == nil && wanted != nil {
			b.Makers = compare.MakersOf(g)
			b.Inside, err = compare.Expose(g, wanted)
		}
		if err != nil {
			return nil, err
		}
		return compiling.Graph(ctx, a, file, f, g, last)
	}
	c, err := compiled(goal.Last)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	p, err := tensorops.ProgramOf(c.Graph)
	if err != nil {
		return nil, err
	}
	in, err := inputs(c, p, &o.runFlags)
	if err != nil {
		return nil, err
	}
	for _, x := range p.Inputs {
		b.Inputs = append(b.Inputs, compare.Named{Name: x.Name, Tensor: in[x.Name]})
	}
	b.Outputs = names(p.Outputs)
	b.Reference = func(ctx context.Context) (map[string]tensorfile.Tensor, error) {
		c, err := compiled(pipeline.OperationExpression)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		if err := reference.CheckMemory(c.Graph); err != nil {
			return nil, err
		}
		ev := reference.Evaluator{Library: a.Plugins.Library(), Constants: func(x tensorops.Const, _ *tensorops.Tensor) (tensorfile.Tensor, error) { return c.LoadConst(ctx, x) }}
		return ev.Evaluate(ctx, c.Graph, in)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, diag.Fault("%w", err)
	}
	b.Path = filepath.Join(path, "program")
	if wanted == nil && o.program != "" {
		return b, os.Symlink(o.program, b.Path)
	}
	return b, c.Make(ctx, goal, file, b.Path)
}

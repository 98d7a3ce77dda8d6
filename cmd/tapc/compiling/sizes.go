package compiling

import (
	"context"
	"io"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/cmd/tapc/outputflags"
	"tensortapestry.org/tapc/cmd/tapc/sizes"
	"tensortapestry.org/tapc/dialects/schedule/padding"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/dims"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Sizes compiles a file at every size that --dim asks for, and gives the graph of the greatest, with those of all.
func Sizes(ctx context.Context, a *app.App, file string, f *Flags, goal *Goal) (*Compilation, error) {
	if _, several, _ := dims.Split(a.Imports.Dims); len(several) > 0 {
		a.Imports.Files = nil // the program finds the sizes of its inputs
	}
	var err error
	if a.Imports.Rooms, err = sizes.Rooms(&a.Imports.Dims, a.Imports.Aliases, file != app.Standard, func() (*ir.Graph, error) { return graphfiles.Load(ctx, a, file) }); err != nil {
		return nil, err
	}
	output := goal.Output
	if output != nil && output.Text != nil && !goal.folder {
		output = nil // a text is of one size
	}
	var last *Compilation
	s, err := sizes.Compile(&a.Imports.Dims, output, file != app.Standard, func(left int) (backends.Version, error) {
		f.Passes.Report.sizes = left
		c, err := File(ctx, a, file, f, goal.Last)
		if err != nil {
			return backends.Version{}, err
		}
		c.smaller, last = last, c
		return backends.Version{Graph: c.Graph, Load: c.LoadConst}, nil
	})
	if err != nil {
		last.Close()
		return nil, err
	}
	last.Sizes = s
	return last, nil
}

// ExplainSizes writes what sizes.Explain says of a file.
func ExplainSizes(ctx context.Context, a *app.App, args []string, f *Flags) error {
	if err := sizes.OneFile(args[1:], app.Standard); err != nil {
		return err
	}
	lower, err := ParsePasses(a, "lower{target="+f.Target+"}")
	if err != nil {
		return err
	}
	var last *Compilation
	defer func() { last.Close() }()
	text, err := sizes.Explain(&a.Imports.Dims, func() (padding.Schedule, error) {
		c, err := File(ctx, a, args[1], f, pipeline.ApplicationExpression)
		if err != nil {
			return padding.Schedule{}, err
		}
		c.smaller, last = last, c
		result, err := f.Passes.RunPasses(ctx, lower, c.Graph)
		if err != nil {
			return padding.Schedule{}, err
		}
		c.Graph, c.values.Graph = result.Graph, result.Graph
		return padding.Schedule{Graph: c.Graph, Load: func(x tensorops.Const) (tensorfile.Tensor, error) { return c.LoadConst(ctx, x) }}, nil
	}, func() ([]backends.Shared, error) { return f.common(ctx, args[1]) })
	if err != nil {
		return err
	}
	return a.WriteFile(ctx, app.Standard, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}

// common says what versions of a file's program have in common on the target; nothing if they have code of their own.
func (f *Flags) common(ctx context.Context, file string) ([]backends.Shared, error) {
	b := app.OwnBackends().Find(f.Target)
	if b == nil || b.Common == nil {
		return nil, nil
	}
	c, err := Sizes(ctx, f.Passes.App, file, f, &Goal{Output: &b.Outputs[0], Last: pipeline.ScheduledKernels})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return b.Common(ctx, c.Job(outputflags.ProgramName(file)))
}

// Close closes the data files.
func (c *Compilation) Close() {
	for ; c != nil; c = c.smaller {
		c.Loader.Close()
	}
}

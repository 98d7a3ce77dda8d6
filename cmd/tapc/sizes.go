package main

import (
	"context"
	"io"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/cmd/tapc/outputflags"
	"tensortapestry.org/tapc/cmd/tapc/sizes"
	"tensortapestry.org/tapc/dialects/schedule/padding"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/dims"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/pipeline"
)

// compileSizes compiles a file at every size that --dim asks for, and gives the graph of the greatest, with those of all.
func compileSizes(ctx context.Context, a *app, file string, f *compileFlags, goal *goal) (*compilation, error) {
	if _, several, _ := dims.Split(a.imports.dims); len(several) > 0 {
		a.imports.files = nil // the program finds the sizes of its inputs
	}
	var err error
	if a.imports.rooms, err = sizes.Rooms(&a.imports.dims, a.imports.aliases, file != stdName, func() (*ir.Graph, error) { return a.load(ctx, file) }); err != nil {
		return nil, err
	}
	output := goal.output
	if output != nil && output.Text != nil && !goal.folder {
		output = nil // a text is of one size
	}
	var last *compilation
	s, err := sizes.Compile(&a.imports.dims, output, file != stdName, func(left int) (backends.Version, error) {
		f.report.sizes = left
		c, err := a.compile(ctx, file, f, goal.last)
		if err != nil {
			return backends.Version{}, err
		}
		c.smaller, last = last, c
		return backends.Version{Graph: c.g, Load: c.loadConst}, nil
	})
	if err != nil {
		last.close()
		return nil, err
	}
	last.sizes = s
	return last, nil
}

// explainSizes writes what sizes.Explain says of a file.
func explainSizes(ctx context.Context, a *app, args []string, f *compileFlags) error {
	if err := sizes.OneFile(args[1:], stdName); err != nil {
		return err
	}
	lower, err := a.parsePasses("lower{target=" + f.target + "}")
	if err != nil {
		return err
	}
	var last *compilation
	defer func() { last.close() }()
	text, err := sizes.Explain(&a.imports.dims, func() (padding.Schedule, error) {
		c, err := a.compile(ctx, args[1], f, pipeline.ApplicationExpression)
		if err != nil {
			return padding.Schedule{}, err
		}
		c.smaller, last = last, c
		result, err := f.runPasses(ctx, lower, c.g)
		if err != nil {
			return padding.Schedule{}, err
		}
		c.g, c.values.Graph = result.Graph, result.Graph
		return padding.Schedule{Graph: c.g, Load: func(x tensorops.Const) (tensorfile.Tensor, error) { return c.loadConst(ctx, x) }}, nil
	}, func() ([]backends.Shared, error) { return f.common(ctx, args[1]) })
	if err != nil {
		return err
	}
	return a.writeFile(ctx, stdName, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}

// common says what versions of a file's program have in common on the target; nothing if they have code of their own.
func (f *compileFlags) common(ctx context.Context, file string) ([]backends.Shared, error) {
	b := ownBackends().Find(f.target)
	if b == nil || b.Common == nil {
		return nil, nil
	}
	c, err := compileSizes(ctx, f.app, file, f, &goal{output: &b.Outputs[0], last: pipeline.ScheduledKernels})
	if err != nil {
		return nil, err
	}
	defer c.close()
	return b.Common(ctx, c.job(outputflags.ProgramName(file)))
}

// close closes the data files.
func (c *compilation) close() {
	for ; c != nil; c = c.smaller {
		c.loader.Close()
	}
}

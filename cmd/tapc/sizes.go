package main

import (
	"context"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/cmd/tapc/sizes"
	"tensortapestry.org/tapc/internal/dims"
)

// compileSizes compiles a file at every size that --dim asks for, and gives the graph of the greatest, with those of all.
func compileSizes(ctx context.Context, a *app, file string, f *compileFlags, goal *goal) (*compilation, error) {
	if _, several, _ := dims.Split(a.imports.dims); len(several) > 0 {
		a.imports.files = nil // the program finds the sizes of its inputs
	}
	var last *compilation
	s, err := sizes.Compile(&a.imports.dims, goal.output, file != stdName, func() (backends.Version, error) {
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

// close closes the data files.
func (c *compilation) close() {
	for ; c != nil; c = c.smaller {
		c.loader.Close()
	}
}

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tensortapestry.org/tapc/tools/gengraph/gen"
)

// shapesOf reads the shapes of graphs to build.
func shapesOf(text string) ([]string, error) {
	if text == "all" {
		return gen.TextShapes(), nil
	}
	shapes := strings.Split(text, ",")
	for _, s := range shapes {
		if !slices.Contains(gen.TextShapes(), s) {
			return nil, fmt.Errorf("-build: expected all or some of %s, found %q", strings.Join(gen.TextShapes(), ", "), s)
		}
	}
	return shapes, nil
}

// build times "tapc build --emit=c" on graphs of each shape, from the file to the C program.
func (s *settings) build(ctx context.Context, dir string, stdout io.Writer) error {
	tapc, err := s.findTapc(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%-12s %9s %10s %10s %10s %9s\n", "shape", "ops", "tapc", "processor", "µs/op", "MiB")
	for _, shape := range s.shapes {
		for _, n := range s.ops {
			r := &runner{args: func(in string) []string {
				return []string{tapc, "build", "--emit=c", "--reproducer-dir=", in, "-o", filepath.Join(dir, "out.c")}
			}}
			if err := s.repeat(ctx, dir, shape, n, r); err != nil {
				return err
			}
			took := median(r.seconds)
			fmt.Fprintf(stdout, "%-12s %9d %9.3fs %9.3fs %10.1f %9.0f\n", shape, n, took, median(r.cpu), took*1e6/float64(n), median(r.mib))
		}
	}
	return nil
}

// repeat writes a graph and runs one program on it as often as asked.
func (s *settings) repeat(ctx context.Context, dir, shape string, n int, r *runner) error {
	path := filepath.Join(dir, "in.tap")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := gen.WriteText(f, shape, n); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	for range s.rounds {
		if err := r.once(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

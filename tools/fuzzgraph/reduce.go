package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tensortapestry.org/tapc/ir/text"
)

// reduce leaves out as many steps of a graph that fails as it can while it still fails, and then shards and rewrites.
func (g *graph) reduce(ctx context.Context, run backend) *graph {
	small := &graph{seed: g.seed, tensors: g.tensors, steps: slices.Clone(g.steps), simplify: g.simplify, joins: g.joins}
	fails := func() bool { return small.kept() > 0 && small.try(ctx, run, nil) != nil && ctx.Err() == nil }
	for size := len(small.steps); size > 0; size /= 2 {
		for at := 0; at < len(small.steps); at += size {
			before := slices.Clone(small.steps)
			for i := at; i < min(at+size, len(small.steps)); i++ {
				small.steps[i].off = true
			}
			if !fails() {
				small.steps = before
			}
		}
	}
	for i := range small.steps {
		if old := small.steps[i].shards; old != "" && !small.steps[i].off {
			if small.steps[i].shards = ""; !fails() {
				small.steps[i].shards = old
			}
		}
	}
	if small.simplify {
		if small.simplify = false; !fails() {
			small.simplify = true
		}
	}
	return small
}

// save writes a graph that fails, its inputs, and what is wrong.
func (g *graph) save(dir string, fault error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	x, in := g.build()
	var b bytes.Buffer
	if err := text.Write(&b, x, text.Options{}); err != nil {
		return err
	}
	command := "tapc run graph.tap"
	for i := range g.tensors {
		if t, ok := in[nameOf(i)]; ok {
			path, err := writeTensor(dir, nameOf(i), t)
			if err != nil {
				return err
			}
			command += " --input " + nameOf(i) + "=" + filepath.Base(path)
		}
	}
	for i, s := range g.steps {
		if !s.off && s.shards != "" {
			command += fmt.Sprintf(" --shard op%d=%s", i, s.shards)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "graph.tap"), b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "fault.txt"), fmt.Appendf(nil, "seed %d\n%v\n\n%s\n", g.seed, fault, command), 0o644)
}

// Package standard is the pass table: the one list of tapc's passes. The passes of a row that says so are, in the order of the rows, the
// standard pipeline: what tapc build runs, and what tests of back ends and plugins start from.
//
// It must not import a back end. Read next: a row, such as passes/fuse/pass.go, then passes/pipeline, which runs them.
package standard

import (
	"context"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/bind"
	"tensortapestry.org/tapc/passes/choose"
	"tensortapestry.org/tapc/passes/collect"
	"tensortapestry.org/tapc/passes/expand"
	"tensortapestry.org/tapc/passes/fuse"
	"tensortapestry.org/tapc/passes/inline"
	"tensortapestry.org/tapc/passes/layout"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/memory"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/precompute"
	"tensortapestry.org/tapc/passes/propagate"
	"tensortapestry.org/tapc/passes/recompute"
	"tensortapestry.org/tapc/passes/shard"
	"tensortapestry.org/tapc/passes/sign"
	"tensortapestry.org/tapc/passes/simplify"
	"tensortapestry.org/tapc/passes/split"
	"tensortapestry.org/tapc/passes/tile"
)

// Table lists the passes in the order of a compilation, for graphs that use the kernels of a library. What a pass needs, when it runs and
// what it comes after are in its row. Kernels get configs for the targets of the choosers.
func Table(lib *kernels.Library, choosers ...tile.Chooser) *pipeline.Table {
	inlined, cut := inline.Passes(lib)
	return &pipeline.Table{Passes: slices.Concat([]pipeline.Pass{bind.Pass(), inlined, expand.Pass(lib), choose.Pass(lib, prices(lib, choosers))}, simplify.Passes(lib), []pipeline.Pass{
		precompute.Pass(lib),
		recompute.Pass(),
		sign.Pass(lib),
		split.Pass(lib),
		propagate.Pass(lib, apply.Run, split.One),
		shard.Pass(lib, apply.Run, split.All),
		shard.Refine(lib, apply.Run),
		shard.Coarsen(lib, apply.Run),
		cut,
		apply.Pass(lib),
		lower.Pass(lib),
		fuse.Pass(func(targets, machine string) (fuse.Options, error) {
			chosen, err := tile.Chosen(choosers, targets)
			if err != nil {
				return fuse.Options{}, err
			}
			m, err := decided(chosen, machine)
			return fuse.Options{Pairs: slices.ContainsFunc(chosen, tile.Chooser.Pairs), Model: m}, err
		}),
		layout.Pass(func(targets, machine string) (cost.Model, error) {
			chosen, err := tile.Chosen(choosers, targets)
			if err != nil {
				return nil, err
			}
			return decided(chosen, machine)
		}),
		tile.Pass(Model, choosers...),
		memory.Pass(),
		collect.Pass(),
		pipeline.Verify(),
	})}
}

// Step is one pass: its name in the pass table, the stage of the graph that it leaves, and how it runs.
type Step struct {
	Name  string
	Gives pipeline.Stage
	Run   func(g *ir.Graph) error
}

// Steps gives the passes from Operation Expression to Scheduled Kernels, in order: the standard pipeline without simplification.
func Steps(lib *kernels.Library, opt lower.Options, choosers ...tile.Chooser) []Step {
	t := Table(lib, choosers...)
	p, err := pipeline.ParsePipeline(t.Standard(pipeline.Request{Last: pipeline.ScheduledKernels, Facts: map[pipeline.Fact][]string{pipeline.Composites: {""}, pipeline.Choices: {choose.TakeFirst},
		pipeline.Target: {opt.Target.String()}, pipeline.Permissions: {opt.Allow.String()}}}), t)
	if err != nil {
		panic("the standard pipeline is none: " + err.Error())
	}
	steps := make([]Step, len(p.Steps))
	for i, s := range p.Steps {
		steps[i] = Step{s.Pass.Name, s.Pass.Gives, func(g *ir.Graph) error {
			_, err := s.Alone(context.Background(), g) // tapc's own passes change the graph in place
			return err
		}}
	}
	return steps
}

// Run takes a graph of Operation or Application Expression to Scheduled Kernels. Operations that have no
// application get one.
func Run(g *ir.Graph, lib *kernels.Library, opt lower.Options, choosers ...tile.Chooser) error {
	for _, s := range Steps(lib, opt, choosers...) {
		if err := s.Run(g); err != nil {
			return err
		}
	}
	return nil
}

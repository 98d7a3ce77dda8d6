// Package standard is the sequence of passes that takes a graph from one stage to the next when nobody asks for another: what
// tapc build runs, and what tests of back ends and plugins start from.
//
// It must not import a back end. Read next: cmd/tapc, which runs the same sequence through passes/pipeline.
package standard

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/fuse"
	"tensortapestry.org/tapc/passes/layout"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/plan"
	"tensortapestry.org/tapc/passes/tile"
)

// Step is one pass: its name in the pass table, the stage of the graph that it leaves, and how it runs.
type Step struct {
	Name  string
	Gives pipeline.Stage
	Run   func(g *ir.Graph) error
}

// Steps gives the passes from Operation Expression to Scheduled Kernels, in order.
func Steps(lib *kernels.Library, opt lower.Options) []Step {
	return []Step{
		{"apply", pipeline.ApplicationExpression, func(g *ir.Graph) error { apply.Run(g); return nil }},
		{"lower", pipeline.ScheduledKernels, func(g *ir.Graph) error { return lower.Run(g, lib, opt) }},
		{"fuse", pipeline.ScheduledKernels, func(g *ir.Graph) error { _, err := fuse.Run(g); return err }},
		{"layout", pipeline.ScheduledKernels, func(g *ir.Graph) error { layout.Run(g); return nil }},
		{"tile", pipeline.ScheduledKernels, func(g *ir.Graph) error { tile.Run(g, tile.Options{}); return nil }},
		{"plan", pipeline.ScheduledKernels, func(g *ir.Graph) error { _, err := plan.Run(g); return err }},
	}
}

// Run takes a graph of Operation or Application Expression to Scheduled Kernels. Operations that have no
// application get one.
func Run(g *ir.Graph, lib *kernels.Library, opt lower.Options) error {
	for _, s := range Steps(lib, opt) {
		if err := s.Run(g); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

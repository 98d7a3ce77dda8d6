package conformance

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/standard"
)

//go:embed corpus/*.tap
var corpus embed.FS

// staged is a graph of a known stage.
type staged struct {
	*ir.Graph
	stage pipeline.Stage
}

// graphs gives the corpus and the subject's own graphs, each at every stage that it can be taken to, for a type of device.
func (s *Subject) graphs(target schedule.DeviceType) ([]staged, error) {
	all, err := Corpus()
	if err != nil {
		return nil, err
	}
	var out []staged
	for _, g := range append(all, s.Graphs...) {
		stage := pipeline.StageOf(g)
		out = append(out, staged{g, stage})
		for stage < pipeline.ScheduledKernels {
			next := g.Clone()
			if err := raise(next, stage, target); err != nil {
				return nil, fmt.Errorf("%s: %w", g.File, err)
			}
			stage++
			out = append(out, staged{next, stage})
			g = next
		}
	}
	return out, nil
}

// raise takes a graph one stage on.
func raise(g *ir.Graph, from pipeline.Stage, target schedule.DeviceType) error {
	for _, s := range standard.Steps(kernels.Builtin(), lower.Options{Target: target}) {
		if s.Gives != from+1 {
			continue
		}
		if err := s.Run(g); err != nil {
			return err
		}
	}
	return nil
}

// Corpus gives the kit's small graphs of Operation Expression, in a fixed order. Each call makes new ones.
func Corpus() ([]*ir.Graph, error) {
	names, err := fs.Glob(corpus, "corpus/*.tap")
	if err != nil {
		return nil, err
	}
	var out []*ir.Graph
	for _, name := range names {
		data, err := corpus.ReadFile(name)
		if err != nil {
			return nil, err
		}
		g, err := text.Read(data, strings.TrimPrefix(name, "corpus/"), dialects.Registry())
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

// Large gives a graph of Operation Expression with n operations: chains of linear, relu and neg, each chain a hundred long.
func Large(n int) *ir.Graph {
	const chain = 100
	g := ir.New()
	g.File = fmt.Sprintf("large-%d", n)
	g.Grow(2*n + n/chain + 2)
	square := zspace.MustShape(4, 4)
	tensor := func(label string) ir.Selection {
		return ir.Select(g.Add(&tensorops.Tensor{DType: "float32", Range: square}, label).ID, square)
	}
	weight := tensor("A")
	var last ir.Selection
	for i := range n {
		if i%chain == 0 {
			last = tensor(fmt.Sprintf("x%d", i/chain))
		}
		op := &tensorops.Operation{Kernel: "op:neg", Inputs: ir.NewPorts(map[string]ir.Selection{"tensor": last})}
		switch i % 3 {
		case 0:
			op.Kernel, op.Inputs = "op:linear", ir.NewPorts(map[string]ir.Selection{"A": weight, "x": last})
		case 1:
			op.Kernel = "op:relu"
		}
		last = tensor(fmt.Sprintf("t%d", i))
		op.Outputs = ir.NewPorts(map[string]ir.Selection{"result": last})
		g.Add(op, fmt.Sprintf("op%d", i))
	}
	return g
}

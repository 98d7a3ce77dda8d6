package simplify_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/standard"
)

// TestRulesOffAndNodesShuffled takes random programs through the standard pipeline with some rules and passes turned off and the nodes
// in another order: for every subset and order, the observed values are those of the program as it was. A rule or pass that is
// right only behind another, or only where producers come first in the file, shows here.
func TestRulesOffAndNodesShuffled(t *testing.T) {
	table := standard.Table(kernels.Builtin())
	text := table.Standard(pipeline.Request{Last: pipeline.ScheduledKernels, Simplify: true})
	p, err := pipeline.ParsePipeline(text, table)
	if err != nil {
		t.Fatal(err)
	}
	applied, off, turn := 0, 0, testkit.Turns(t, 8)
	for seed := range uint64(800) {
		if !turn() {
			continue
		}
		rnd := rand.New(rand.NewPCG(seed, 9))
		g := newProgram(rnd, 5+rnd.IntN(30))
		nameTensors(g)
		in := inputsOf(t, g, rnd)
		want := evaluate(t, g, in)
		disabled := someOf(rnd, table)
		shuffled := shuffle(g, rnd)
		before := dump(shuffled)
		result, err := (&pipeline.Runner{Disable: disabled}).Run(context.Background(), p, shuffled)
		if err == nil {
			err = sameValues(want, evaluate(t, result.Graph, in))
		}
		for _, name := range disabled {
			if n := result.Rules[name]; n > 0 && err == nil {
				err = fmt.Errorf("the rule %s is off and was applied %d times", name, n)
			}
		}
		if err != nil {
			t.Fatalf("seed %d, without %q: %v\n%s", seed, disabled, err, before)
		}
		applied, off = applied+result.Applied, off+len(disabled)
	}
	if applied == 0 || off == 0 {
		t.Errorf("%d applications of rules, %d turned off: the programs test too little", applied, off)
	}
}

// nameTensors gives every tensor a name that does not depend on where it is in the graph.
func nameTensors(g *ir.Graph) {
	for n := range g.Nodes() {
		if n.Body.Kind() == tensorops.TensorKind && n.Label == "" {
			n.Label = fmt.Sprintf("t%d", n.ID)
		}
	}
}

// someOf chooses among the rules and among the passes that a pipeline can do without: few, half or most of them.
func someOf(rnd *rand.Rand, table *pipeline.Table) []string {
	share := []float64{0.1, 0.5, 0.9}[rnd.IntN(3)]
	var out []string
	for _, name := range append(table.Rules(), "precompute", "layout") {
		if rnd.Float64() < share {
			out = append(out, name)
		}
	}
	return out
}

// shuffle gives the graph with its nodes in another order.
func shuffle(g *ir.Graph, rnd *rand.Rand) *ir.Graph {
	var nodes []*ir.Node
	for n := range g.Nodes() {
		nodes = append(nodes, n)
	}
	rnd.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	at := map[ir.NodeID]ir.NodeID{}
	for i, n := range nodes {
		at[n.ID] = ir.NodeID(i)
	}
	out := ir.New()
	for _, n := range nodes {
		body := n.Body
		if op, ok := body.(*tensorops.Operation); ok {
			moved := *op
			moved.Inputs, moved.Outputs = movePorts(op.Inputs, at), movePorts(op.Outputs, at)
			body = &moved
		}
		out.Add(body, n.Label)
	}
	return out
}

func movePorts(ports ir.Ports, at map[ir.NodeID]ir.NodeID) ir.Ports {
	out := ports.Clone()
	out.All(func(_, _ int, s *ir.Selection) { s.Tensor = at[s.Tensor] })
	return out
}

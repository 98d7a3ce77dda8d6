package main

import (
	"context"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/standard"
	"tensortapestry.org/tapc/passes/tile"
)

// What docs/search.md says of configs, that are no row of the table: of the kernels of a program, the config of one changes its own price and that of no other, so that the best of all together are
// the best of each.
func TestConfigsAreChosenOneByOne(t *testing.T) {
	source := chain(2, 256)
	g, err := text.Read([]byte(source), "chain", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	m, err := machine.Preset("laptop")
	if err != nil {
		t.Fatal(err)
	}
	apply.Run(g)
	choosers := []tile.Chooser{cpu.Backend().Configs}
	p, err := pipeline.ParsePipeline("lower{target=cpu},fuse,layout,tile,memory", standard.Table(kernels.Builtin(), choosers...))
	if err != nil {
		t.Fatal(err)
	}
	out, err := (&pipeline.Runner{}).Run(context.Background(), p, g)
	if err != nil {
		t.Fatal(err)
	}
	prices := func(g *ir.Graph) map[ir.NodeID]price.Interval {
		list, err := price.Program(g, m, price.Settings{Targets: standard.Priced(choosers)})
		if err != nil {
			t.Fatal(err)
		}
		all := map[ir.NodeID]price.Interval{}
		for _, k := range list {
			all[k.Node] = k.Time
		}
		return all
	}
	before, tried, changed := prices(out.Graph), 0, 0
	for id := range before {
		k := out.Graph.Node(id).Body.(*schedule.Kernel)
		own := 0
		for _, c := range append([]tile.Candidate{{}}, choosers[0].Candidates(nest.Analyze(k, whole.Buffers(out.Graph)))...) { // the first is loops
			if c.Refused != nil || own == 20 {
				continue
			}
			other := out.Graph.Clone()
			body := *k
			if body.Configs = nil; c.Config != nil {
				body.Configs = []schedule.Config{*c.Config}
			}
			other.Node(id).Body = &body
			own, tried = own+1, tried+1
			for of, now := range prices(other) {
				switch {
				case of == id && now != before[of]:
					changed++
				case of != id && now != before[of]:
					t.Errorf("%s as %s changes the price of %s from %v to %v", k.Name, c.Config, out.Graph.Name(of), before[of], now)
				}
			}
		}
	}
	if len(before) < 2 || tried < 20 || changed == 0 {
		t.Errorf("of %d kernels %d configs were tried, %d of which have another price", len(before), tried, changed)
	}
}

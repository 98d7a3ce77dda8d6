package variants_test

import (
	"math"
	"testing"

	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/layouts"
	"tensortapestry.org/tapc/search/variants"
	"tensortapestry.org/tapc/tools/bench/search/graphs"
)

// The pipelines that are published are in the space, without micro-batches: GPipe (Huang and others, 2019), whose stages are one device each, takes what one device takes and a
// transfer between each two stages; and what is found in its memory is no slower. With -v it prints the table of docs/search.md.
func TestPublishedPipelines(t *testing.T) {
	model := graphs.Transformer{Type: "bfloat16", Layers: 8, Batch: 1, Tokens: 2048, Width: 4096, Inner: 16384, Heads: 32, KeyHeads: 32, Depth: 128}
	for _, preset := range []string{"8xa100", "8xh100", "8xb200"} {
		on := func(devices int64, memory float64, stages int) (*variants.Space, search.Price) {
			x := spaceOn(t, model.Text(), preset, devices, func(s *layouts.Settings) { s.MaxMemory, s.Stages = memory, stages }, layouts.Words...)
			best := search.Price{Costs: []float64{math.Inf(1), 0, 0}}
			for _, trial := range x.Prove(2).Trials {
				if p := x.Price(trial); p.Beyond == 0 && p.Costs[0] < best.Costs[0] {
					best = p
				}
			}
			return x, best
		}
		row := func(name string, p search.Price) {
			t.Logf("| %s | %s | %.2f ms | %.0f MB | %.1f MB |", preset, name, 1e3*p.Costs[0], p.Costs[1]/1e6, p.Costs[2]/1e6)
		}
		_, alone := on(1, 0, 1)
		row("one device", alone)
		_, gpipe := on(8, 0, 8)
		row("8 stages of one device (GPipe, 2019)", gpipe)
		_, two := on(8, 0, 2)
		row("2 stages of 4 devices", two)
		_, fit := on(8, gpipe.Costs[1], 1)
		row("the fastest found in the memory of GPipe", fit)
		if sent := gpipe.Costs[0] - alone.Costs[0]; sent < 0 || sent > 0.1*alone.Costs[0] {
			t.Errorf("%s: GPipe takes %v, one device %v", preset, gpipe.Costs, alone.Costs)
		}
		if rows := float64(2 * 2048 * 4096); math.Abs(gpipe.Costs[2]-7*rows/8) > 1 {
			t.Errorf("%s: a device sends %v bytes, expected those of a stream between each two stages, %v", preset, gpipe.Costs[2], 7*rows/8)
		}
		if gpipe.Costs[1] > alone.Costs[1]/4 || fit.Costs[0] > gpipe.Costs[0] {
			t.Errorf("%s: GPipe %v, one device %v, found %v", preset, gpipe.Costs, alone.Costs, fit.Costs)
		}
	}
}

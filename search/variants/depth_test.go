package variants_test

import (
	"context"
	"runtime"
	"testing"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/search/layouts"
	"tensortapestry.org/tapc/search/variants"
	"tensortapestry.org/tapc/tools/bench/search/graphs"
)

// Layers that repeat are looked at and planned once: what four times as many take more is reading them, and numbers of each operation. Work is counted by what is allocated, from the text of the graph to a plan
// that is simulated.
func TestWorkIsFlatInDepth(t *testing.T) {
	m, err := machine.Preset("16x8xh100")
	if err != nil {
		t.Fatal(err)
	}
	lib := kernels.Builtin()
	work := func(layers int) (looked, planned float64) {
		source := []byte(graphs.Llama8B(layers, 1, 4096).Text())
		looked = allocated(func() {
			g, err := text.Read(source, "g.tap", dialects.Registry())
			if err != nil {
				t.Fatal(err)
			}
			if found := lib.CheckOperations(g, false); len(found) > 0 {
				t.Fatal(found)
			}
		})
		g, err := text.Read(source, "g.tap", dialects.Registry())
		if err != nil {
			t.Fatal(err)
		}
		planned = allocated(func() {
			x, err := variants.New(context.Background(), g, lib, layouts.Settings{Machine: m, Devices: 128, Objectives: layouts.Objectives[:2], Allow: permission.Reassociate, Parts: layouts.Words})
			if err != nil {
				t.Fatal(err)
			}
			for _, trial := range x.Prove(1).Trials[:1] {
				if _, err := x.Walk(trial); err != nil {
					t.Fatal(err)
				}
			}
		})
		return looked, planned
	}
	work(2) // what is made once
	looked, planned := work(32)
	more, most := work(128)
	if each := (more - looked) / (96 * 14); each > 64 { // it is 32, and was 256 where each was bound
		t.Errorf("each further operation is read and looked at with %.0f objects", each)
	}
	if ratio := (more + most) / (looked + planned); ratio > 1.25 { // it is 1.19, and was 1.44
		t.Errorf("four times the layers take %.2f of the objects", ratio)
	}
}

// allocated is how many objects a function allocates.
func allocated(f func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs)
}

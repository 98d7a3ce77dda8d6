package main

import (
	"context"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/standard"
	"tensortapestry.org/tapc/passes/tile"
	"tensortapestry.org/tapc/search/layouts"
	"tensortapestry.org/tapc/search/variants"
)

// What docs/search.md says of workspaces, which are not in the memory of a plan: of one plan, the buffers of its program are what is planned for any processor, and workspaces are others for
// each processor that it can be built for. On a GPU there are none.
func TestWorkspacesAreOfProcessors(t *testing.T) {
	source := chain(2, 1200)
	seen := map[int64]string{}
	for _, processor := range []string{"cpu_v16_r16_l512k", "cpu_v32_r16_l512k", "cpu_v64_r32_l1024k", "cpu_v64_r32_l2048k"} {
		buffers, workspaces := stated(t, source, "cpu", `tile{for="`+processor+`"},`)
		if want := planned(t, source, "laptop"); float64(buffers) != want {
			t.Errorf("%s: buffers of %d bytes, planned are %v", processor, buffers, want)
		}
		if workspaces == 0 {
			t.Errorf("%s: no workspaces", processor)
		}
		t.Log(processor, workspaces)
		seen[workspaces] = processor
	}
	if len(seen) < 2 {
		t.Errorf("workspaces are the same for all processors: %v", seen)
	}
	if buffers, workspaces := stated(t, source, "cuda", ""); workspaces != 0 || float64(buffers) < planned(t, source, "8xh100") {
		t.Errorf("a GPU: buffers of %d bytes and workspaces of %d, planned are %v", buffers, workspaces, planned(t, source, "8xh100"))
	}
}

// Rows that are whole pages apart get a line of the cache between them, which plans do not count: a 64th of what lives in such rows at most, and nothing where rows are of another length.
func TestPaddedRowsAreBounded(t *testing.T) {
	for _, c := range []struct {
		size   int
		padded bool
	}{{1024, true}, {2048, true}, {1000, false}, {1040, false}} {
		source := chain(2, c.size)
		want := planned(t, source, "laptop")
		buffers, _ := stated(t, source, "cpu", `tile{for="cpu_v64_r32_l1024k"},`)
		switch got := float64(buffers); {
		case c.padded && (got <= want || got > want*(1+1.0/64)):
			t.Errorf("rows of %d: %v bytes, planned are %v: expected more, by a 64th at most", c.size, got, want)
		case !c.padded && got != want:
			t.Errorf("rows of %d: %v bytes, planned are %v", c.size, got, want)
		}
	}
}

// planned gives the memory of the one plan of a graph for one device.
func planned(t *testing.T, source, preset string) float64 {
	t.Helper()
	m, err := machine.Preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	g, err := text.Read([]byte(source), "chain", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	x, err := variants.New(t.Context(), g, kernels.Builtin(), layouts.Settings{Machine: m, Devices: 1, Objectives: layouts.Objectives})
	if err != nil {
		t.Fatal(err)
	}
	f, _, _, ok := x.Enumerate(limit)
	if !ok || len(f.Points) != 1 {
		t.Fatalf("%d plans of one device", len(f.Points))
	}
	return f.Points[0].Price.Costs[1]
}

// stated gives what the schedule of a graph says of its buffers and workspaces.
func stated(t *testing.T, source, target, tiles string) (buffers, workspaces int64) {
	t.Helper()
	g, err := text.Read([]byte(source), "chain", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	apply.Run(g)
	table := standard.Table(kernels.Builtin(), []tile.Chooser{cpu.Backend().Configs}...)
	p, err := pipeline.ParsePipeline("lower{target="+target+"},fuse,layout,"+tiles+"memory", table)
	if err != nil {
		t.Fatal(err)
	}
	out, err := (&pipeline.Runner{}).Run(context.Background(), p, g)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range schedule.Held(out.Graph) {
		buffers, workspaces = buffers+h.Arena+h.Kept, workspaces+h.Device+h.Private
	}
	return buffers, workspaces
}

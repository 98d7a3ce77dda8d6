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
	planned := func(preset string) float64 {
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
	stated := func(target, tiles string) (buffers, workspaces int64) {
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
	seen := map[int64]string{}
	for _, processor := range []string{"cpu_v16_r16_l512k", "cpu_v32_r16_l512k", "cpu_v64_r32_l1024k", "cpu_v64_r32_l2048k"} {
		buffers, workspaces := stated("cpu", `tile{for="`+processor+`"},`)
		if want := planned("laptop"); float64(buffers) != want {
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
	if buffers, workspaces := stated("cuda", ""); workspaces != 0 || float64(buffers) < planned("8xh100") {
		t.Errorf("a GPU: buffers of %d bytes and workspaces of %d, planned are %v", buffers, workspaces, planned("8xh100"))
	}
}

package cuda

import (
	"fmt"

	"tensortapestry.org/tapc/backends/codegen"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// Target is the processor that kernels are decided for: one with asynchronous copies to shared memory.
const Target = "sm_80"

// limits are those of the target: what a block may ask for at its launch, and its lanes.
var limits = tree.Limits{Shared: 163 << 10, Lanes: 1024}

// contractionTiles are the macro-tiles and register tiles to choose from: rows and columns of a block, and of a lane.
var contractionTiles = [][4]int64{{128, 128, 8, 8}, {128, 64, 8, 4}, {64, 128, 4, 8}, {64, 64, 4, 4}, {32, 64, 4, 4}, {64, 32, 4, 4}, {32, 32, 2, 2}, {16, 64, 2, 4}, {8, 128, 1, 4}, {128, 8, 4, 1}}

const (
	stepK   = 16 // products between barriers
	stages  = 2  // tiles of an operand: one is copied while the other is multiplied
	maxLine = 1024
)

// Candidates gives the configs that a kernel can have besides none, which is a lane for each cell of its results.
func Candidates(a *nest.Analysis) []schedule.Config {
	var out []schedule.Config
	add := func(stages ...schedule.Stage) { out = append(out, schedule.Config{Target: Target, Stages: stages}) }
	if c, ok := nest.Of[*nest.Contraction](a.Forms); ok && c.Computed == nil {
		for _, t := range contractionTiles {
			add(contraction(a.Kernel, c, t, true))
		}
		return out
	}
	if c, ok := nest.Of[*nest.BackToBack](a.Forms); ok && c.Middle != nil {
		for _, rows := range []int64{32, 16, 8} {
			lanes := int64(256)
			width := lanes / rows
			first := contraction(c.Stages[0], c.First, tileOf(rows, lanes, 64), true)
			last := contraction(c.Stages[2], c.Last, tileOf(rows, lanes, c.Last.Col.Extent), false)
			add(first, reduction(rows, width), last)
		}
		return out
	}
	if r, ok := nest.Of[*nest.Rows](a.Forms); ok && !r.Free {
		for lanes := int64(1); lanes <= maxLine && (lanes < 2*r.Lane.Extent || lanes == 1); lanes *= 2 {
			add(reduction(max(1, 128/lanes), lanes))
			if lanes > codegen.WarpLanes {
				out[len(out)-1].Stages[0].Tiles[0].Sizes[0] = 1
			}
		}
	}
	return out
}

// tileOf gives a tile of some rows for so many lanes, about so many columns wide.
func tileOf(rows, lanes, cols int64) [4]int64 {
	laneM := int64(2)
	if rows < 16 {
		laneM = 1
	}
	across := lanes / (rows / laneM)
	laneN := max(1, min(4, (cols+across-1)/across))
	return [4]int64{rows, across * laneN, laneM, laneN}
}

func contraction(k *schedule.Kernel, c *nest.Contraction, t [4]int64, left bool) schedule.Stage {
	s := schedule.Stage{Algorithm: schedule.Contraction, Micro: "fma", Tiles: []schedule.Tiling{
		{Role: schedule.RoleM, Sizes: []int64{t[0], t[2]}}, {Role: schedule.RoleN, Sizes: []int64{t[1], t[3]}}, {Role: schedule.RoleK, Sizes: []int64{stepK}}}}
	if left {
		s.Placements = append(s.Placements, schedule.Placement{Operand: k.Operands[c.Left].Name, Depth: stages})
	}
	s.Placements = append(s.Placements, schedule.Placement{Operand: k.Operands[c.Right].Name, Depth: stages})
	return s
}

func reduction(lines, lanes int64) schedule.Stage {
	return schedule.Stage{Algorithm: schedule.Reduction, Tiles: []schedule.Tiling{
		{Role: schedule.RoleLine, Sizes: []int64{lines}}, {Role: schedule.RoleElement, Sizes: []int64{lanes}}}}
}

// Tree makes the tree of a kernel and a config of the target, or of loops without one, and holds it to the target's limits. The error says
// what does not fit.
func Tree(name string, a *nest.Analysis, c *schedule.Config) (*tree.Func, error) {
	f, err := codegen.Blocks(name, a, c)
	if err != nil {
		return nil, err
	}
	if err := tree.Verify(f, limits); err != nil {
		return nil, fmt.Errorf("the tree is not sound: %w", err)
	}
	return f, nil
}

package tile

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// PackScopes are the scopes of the memory that operands are packed into.
var PackScopes = map[Pack]schedule.Scope{Prepacked: schedule.ConstantScope, UpFront: schedule.DeviceScope, PerMacroTile: schedule.PrivateScope}

// stage gives what a config says of a contraction.
func (p *productPlan) stage(k *schedule.Kernel, c *nest.Contraction) schedule.Stage {
	s := schedule.Stage{Algorithm: schedule.Contraction, Threads: p.threads(c)}
	if c.Row.Inner() >= 0 {
		s.Tiles = append(s.Tiles, schedule.Tiling{Role: schedule.RoleM, Sizes: []int64{p.rows, p.tile.Rows}})
	}
	s.Tiles = append(s.Tiles, schedule.Tiling{Role: schedule.RoleN, Sizes: []int64{p.cols, p.tile.Vectors * p.lanes, p.lanes}})
	if len(c.Reduction) > 0 {
		s.Tiles = append(s.Tiles, schedule.Tiling{Role: schedule.RoleK, Sizes: []int64{p.fold}})
	}
	add := func(operand int, pack Pack) {
		if scope, ok := PackScopes[pack]; ok {
			s.Placements = append(s.Placements, schedule.Placement{Operand: k.Operands[operand].Name, Scope: scope, Depth: 1})
		}
	}
	add(c.Left, p.Left)
	add(c.Right, p.rightPack(c))
	return s
}

// rightPack says how the right operand is packed: by each task for itself where no other needs its panels.
func (p *productPlan) rightPack(c *nest.Contraction) Pack {
	others, panel := int64(1), PanelBytes/int64(c.Sum.Type.Size())
	for _, d := range c.Batch {
		if d.Step(c.Views[c.Right]) == 0 {
			others = nest.SaturatingProduct(others, d.Extent)
		}
	}
	if p.Right == UpFront && p.Left != PerMacroTile && p.rows >= c.Row.Extent && others == 1 && p.cols%panel == 0 {
		return PerMacroTile
	}
	return p.Right
}

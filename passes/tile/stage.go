package tile

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// PackScopes are the scopes of the memory that operands are packed into.
var PackScopes = map[Pack]schedule.Scope{Prepacked: schedule.ConstantScope, UpFront: schedule.DeviceScope, PerMacroTile: schedule.PrivateScope}

// tiling is how a dimension is cut, if it has loops.
func tiling(r schedule.Role, d nest.Dim, sizes ...int64) []schedule.Tiling {
	if d.Inner() < 0 {
		return nil
	}
	return []schedule.Tiling{{Role: r, Sizes: sizes}}
}

// tiles says how the dimensions of a contraction are cut, for register tiles of some rows and columns.
func (p *productPlan) tiles(c *nest.Contraction, tileRows, tileCols int64) []schedule.Tiling {
	out := append(tiling(schedule.RoleM, c.Row, p.rows, tileRows), tiling(schedule.RoleN, c.Col, p.cols, tileCols, p.lanes)...)
	if n := len(c.Reduction); n > 0 {
		out = append(out, tiling(schedule.RoleK, c.Reduction[n-1], p.fold)...)
	}
	return out
}

// stage gives what a config says of a contraction whose right operand is packed in some way.
func (p *productPlan) stage(k *schedule.Kernel, c *nest.Contraction, right Pack) schedule.Stage {
	s := schedule.Stage{Algorithm: schedule.Contraction, Tiles: p.tiles(c, p.tile.Rows, p.tile.Vectors*p.lanes), Threads: p.threads(c)}
	add := func(operand int, pack Pack) {
		if scope, ok := PackScopes[pack]; ok {
			s.Placements = append(s.Placements, schedule.Placement{Operand: k.Operands[operand].Name, Scope: scope, Depth: 1})
		}
	}
	add(c.Left, p.Left)
	add(c.Right, right)
	return s
}

// rightPack says how the right operand is packed: by each task for itself where no other needs its panels.
func (p *productPlan) rightPack(c *nest.Contraction) Pack {
	others, panel := nest.Points(nest.Followed(c.Batch, c.Views[c.Right], false)), schedule.PanelBytes/int64(c.Sum.Type.Size())
	if p.Right == UpFront && p.Left != PerMacroTile && p.rows >= c.Row.Extent && others == 1 && p.cols%panel == 0 {
		return PerMacroTile
	}
	return p.Right
}

package tile

import (
	"testing"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// TestRegisterTile holds tiles to whole panels or whole parts of one, and to the registers that there are.
func TestRegisterTile(t *testing.T) {
	for _, target := range []Target{{Vector: 16, Registers: 16}, {Vector: 32, Registers: 16}, {Vector: 64, Registers: 32}} {
		for rows := int64(1); rows < 40; rows++ {
			for _, cols := range []int64{1, 5, 8, 16, 24, 31, 48, 72, 96, 100, 200, 1000} {
				for _, paneled := range []bool{false, true} {
					x := registerTile(target.registerTiles(rows, cols, target.lanes(4), 300, 0, maxRows, paneled))
					if width := x.Vectors * target.Vector; width%schedule.PanelBytes != 0 && schedule.PanelBytes%width != 0 {
						t.Errorf("%d × %d: tiles of %d bytes, expected a part or a multiple of %d", rows, cols, width, schedule.PanelBytes)
					}
					columns := x.Vectors // in registers for several rows, one at a time for one
					if x.Rows == 1 {
						columns = 1
					}
					if x.Rows < 1 || x.Rows > rows || x.Rows*x.Vectors+columns+cost.Spare > target.Registers || paneled && RowPanel%x.Rows != 0 {
						t.Errorf("%d × %d: tile %+v does not fit %+v", rows, cols, x, target)
					}
				}
			}
		}
	}
}

// TestNearPieces: a small constant is not cut where rows make pieces enough, and is where they do not.
func TestNearPieces(t *testing.T) {
	for _, x := range []struct {
		rows, pieces int64
		whole        bool
	}{{1000, 8, true}, {40, 8, false}} {
		c := &nest.Contraction{Sum: &scalar.Expr{Op: scalar.Reduce, Type: scalar.Float32}, Left: 0, Right: 1,
			Row: nest.Dim{Loops: []int{0}, Extent: x.rows}, Col: nest.Dim{Loops: []int{1}, Extent: 256}, Reduction: []nest.Dim{{Loops: []int{2}, Extent: 256}},
			Views: []nest.View{{Steps: []int64{256, 0, 1}}, {Steps: []int64{0, 1, 256}}}}
		p := Default.plan(c, Packing{Right: Prepacked})
		pieces := (x.rows + p.rows - 1) / p.rows * ((256 + p.cols - 1) / p.cols)
		if pieces < x.pieces || (p.cols >= 256) != x.whole {
			t.Errorf("%d rows: %d pieces of %d by %d, expected %d or more, of all columns: %v", x.rows, pieces, p.rows, p.cols, x.pieces, x.whole)
		}
	}
}

package tile

import "testing"

// TestRegisterTile holds tiles to whole panels or whole parts of one, and to the registers that there are.
func TestRegisterTile(t *testing.T) {
	for _, target := range []Target{{Vector: 16, Registers: 16}, {Vector: 32, Registers: 16}, {Vector: 64, Registers: 32}} {
		for rows := int64(1); rows < 40; rows++ {
			for _, cols := range []int64{1, 5, 8, 16, 24, 31, 48, 72, 96, 100, 200, 1000} {
				for _, paneled := range []bool{false, true} {
					x := target.registerTile(rows, cols, target.lanes(4), 300, maxRows, paneled)
					if width := x.Vectors * target.Vector; width%PanelBytes != 0 && PanelBytes%width != 0 {
						t.Errorf("%d × %d: tiles of %d bytes, expected a part or a multiple of %d", rows, cols, width, PanelBytes)
					}
					if x.Rows < 1 || x.Rows > rows || x.Rows*x.Vectors+x.Vectors+spare > target.Registers || paneled && RowPanel%x.Rows != 0 {
						t.Errorf("%d × %d: tile %+v does not fit %+v", rows, cols, x, target)
					}
				}
			}
		}
	}
}

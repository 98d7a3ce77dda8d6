package winograd

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// Decided is what a config says of a convolution on transformed tiles.
type Decided struct {
	found *nest.Winograd
	piece winogradPiece
	cut   blocking.Cut
}

// Read reads a stage of a config, for vectors of a target. The error says why a convolution cannot be carried out so.
func Read(t isa.Target, found *nest.Winograd, s *schedule.Stage) (Decided, error) {
	d := Decided{piece: winogradPiece{images: 1, of: found.Images()}, cut: blocking.Cut{Thread: s.Threads}}
	if s.Micro != "" || len(s.Placements) > 0 {
		return d, fmt.Errorf("tasks transform and keep what they need in memory of their own: expected no micro-kernel and no placements")
	}
	down, err := blocking.TwoSizes(s, schedule.RoleDown, found.Down.Dim)
	if err != nil {
		return d, err
	}
	if _, ok := panels.WinogradForms[down[1]]; !ok {
		return d, fmt.Errorf("there is no transformation for tiles of %d results", down[1])
	}
	d.found = found.Of(down[1])
	across, err := blocking.TwoSizes(s, schedule.RoleAcross, found.Across.Dim)
	if err != nil {
		return d, err
	}
	if across[1] != down[1] {
		return d, fmt.Errorf("tiles of %d by %d results: expected square ones", down[1], across[1])
	}
	d.piece.down, d.piece.across = min(down[0]/down[1], d.found.Down.Tiles(down[1])), min(across[0]/down[1], d.found.Across.Tiles(down[1]))
	if err := d.readImages(s); err != nil {
		return d, err
	}
	return d, d.readChannels(int64(t.Lanes(4)), s)
}

// readImages reads how many images a task has.
func (d *Decided) readImages(s *schedule.Stage) error {
	images := s.Tile(schedule.RoleImage)
	if (d.piece.of >= 0) != (len(images) == 1) || len(images) == 1 && images[0] < 1 {
		return fmt.Errorf("image is cut into %v: expected one size where a filter has several images", images)
	}
	if d.piece.of < 0 {
		return nil
	}
	d.piece.images = min(images[0], d.found.Batch[d.piece.of].Extent)
	if d.piece.images > 1 && (d.piece.down < d.found.Down.Tiles(d.found.Size) || d.piece.across < d.found.Across.Tiles(d.found.Size)) {
		return fmt.Errorf("a task has %d images and not all tiles of each", d.piece.images)
	}
	return nil
}

// readChannels reads how channels of results are cut.
func (d *Decided) readChannels(lanes int64, s *schedule.Stage) error {
	const panel = schedule.PanelBytes / 4
	out, err := blocking.Columns(lanes, d.found.Out, s)
	if err != nil {
		return err
	}
	if panel%lanes != 0 || out.TileCols%panel != 0 && panel%out.TileCols != 0 {
		return fmt.Errorf("a register tile of %d channels: expected whole panels of %d, or a part of one", out.TileCols, panel)
	}
	in := d.found.In.Extent
	d.piece.out, d.cut.Cols, d.cut.TileCols = out.Cols, out.Cols, out.TileCols
	d.cut.Fold, d.cut.Block = in, nest.PartialSumOf(in)
	return nil
}

package blocking

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/passes/tile"
)

// TestRounds packs right operands of any size in rounds: what is chosen can be carried out, takes at most MaxPacked bytes where more than one register
// tile's panels do not, and packs all at once where all of it is no more.
func TestRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		panel := rapid.SampledFrom([]int64{8, 16, 64}).Draw(t, "panel")
		tileCols := rapid.SampledFrom([]int64{panel / 4, panel, 3 * panel}).Draw(t, "tile")
		b := upFront(panel, tileCols, rapid.Int64Range(1, 100_000).Draw(t, "columns"), rapid.Int64Range(1, 1<<20).Draw(t, "length"), rapid.Int64Range(1, 200).Draw(t, "groups"))
		b.Rounds.Right = rounds(b)
		if err := checkRounds(b); err != nil {
			t.Fatalf("%d panels at once: %v", b.Rounds.Right, err)
		}
		groups, columns := b.Chunk()
		bytes := groups * b.PanelsOf(columns) * b.Length * schedule.PanelBytes
		switch whole := b.PanelsOf(b.C.Col.Extent) * b.Length * schedule.PanelBytes; {
		case groups < 1 || groups > b.Outer || columns < 1 || columns > b.C.Col.Extent || groups > 1 && columns < b.C.Col.Extent:
			t.Fatalf("%d groups of %d columns at once, of %d of %d", groups, columns, b.Outer, b.C.Col.Extent)
		case bytes > MaxPacked && (groups > 1 || b.PanelsOf(columns) > panelStep(b)):
			t.Fatalf("%d bytes at once: expected %d at most", bytes, MaxPacked)
		case (b.Rounds.Right == 0) != (whole*b.Outer <= MaxPacked):
			t.Fatalf("%d panels at once, where all take %d bytes", b.Rounds.Right, whole*b.Outer)
		case whole <= MaxPacked && groups < b.Outer && (groups+1)*whole <= MaxPacked:
			t.Fatalf("%d groups at once, where one more has room", groups)
		}
	})
}

// TestCheckRounds refuses rounds that end within register tiles, or within groups.
func TestCheckRounds(t *testing.T) {
	for _, c := range []struct {
		name    string
		right   int64
		edit    func(b *Blocking)
		refused string
	}{
		{"all at once", 0, nil, ""},
		{"whole tiles", 6, nil, ""},
		{"parts of tiles", 7, nil, "expected a multiple of 3"},
		{"all of a group", 10, nil, ""},
		{"some groups", 40, nil, ""},
		{"parts of groups", 45, nil, "some of the 5 groups, of 10 each"},
		{"more groups than there are", 60, nil, "some of the 5 groups"},
		{"packed by each task", 6, func(b *Blocking) { b.Pack.Right = tile.PerMacroTile }, "packed into device memory"},
		{"rows", 0, func(b *Blocking) { b.Rounds.Left = 12 }, "that of the right one"},
	} {
		b := upFront(16, 48, 150, 100, 5)
		b.Rounds.Right = c.right
		if c.edit != nil {
			c.edit(b)
		}
		if err := checkRounds(b); (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, expected %q", c.name, err, c.refused)
		}
	}
}

// upFront is a contraction whose right operand is packed before anything is multiplied.
func upFront(panel, tileCols, columns, length, groups int64) *Blocking {
	return &Blocking{C: &nest.Contraction{Col: nest.Dim{Extent: columns}}, Pack: tile.Packing{Right: tile.UpFront}, Cut: Cut{TileCols: tileCols},
		Sizes: Sizes{Panel: panel, Length: length, Outer: groups}}
}

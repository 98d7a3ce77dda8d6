package blocking

import (
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/passes/tile"
)

// Memory is what a contraction has for itself while it runs, in bytes: in the workspace of all threads what is packed before anything is multiplied, in that
// of each thread what its task packs, and its unfinished sums.
type Memory struct {
	Device int64 // of the first workspace: panels of columns, behind which are
	Rows   int64 // panels of rows, or the copy of an operand with zeros around,
	Groups int64 // and the sums of groups

	Private int64 // of the second: panels of rows, behind which are
	Columns int64 // those of columns,
	Open    int64 // and unfinished sums, if they are too many for the stack

	Sums int64 // bytes of these, wherever they are
}

// Workspaces gives them as a config states them.
func (m Memory) Workspaces() []schedule.Workspace { return schedule.WorkspacesOf(m.Device, m.Private) }

// Unfinished gives the memory of tasks that pack some bytes, and behind them have so many of unfinished sums.
func Unfinished(packed, sums int64) Memory {
	m := Memory{Private: packed, Open: packed, Sums: sums}
	if sums > tile.MaxSums {
		m.Private += isa.Align(sums, tile.PanelBytes)
	}
	return m
}

// Memory says what the contraction has for itself.
func (b *Blocking) Memory() Memory {
	packed, columns, sums := int64(0), int64(0), int64(0)
	if b.Pack.Left == tile.PerMacroTile {
		packed = b.PieceLeft()
	}
	if b.Pack.Right == tile.PerMacroTile {
		columns = packed
		packed += b.Share()
	}
	switch {
	case b.C.Transposed:
		sums = b.TransposedBytes()
	case b.Split():
		sums = b.OpenBytes()
	}
	m := Unfinished(packed, sums)
	m.Columns = columns
	add := func(bytes int64) (from int64) {
		from = isa.Align(m.Device, tile.PanelBytes)
		m.Device = from + bytes
		return from
	}
	if b.Pack.Right == tile.UpFront {
		groups, columns := b.Chunk()
		add(groups * b.PanelsOf(columns) * b.Length * tile.PanelBytes)
	}
	switch {
	case b.Pack.Left == tile.UpFront:
		m.Rows = add(b.Layout(b.C.Left, b.C.Row, tile.RowPanel).Bytes())
	case b.C.Padded != nil:
		m.Rows = add(b.C.Padded.Elements() * int64(b.D.Size()))
	}
	if b.Cut.Groups > 0 {
		m.Groups = add(GroupBytes(b, b.Cut))
	}
	return m
}

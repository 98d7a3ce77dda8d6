package backtoback

import (
	"fmt"
	"maps"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/rows"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/tile"
)

// Decided is what a config says of contractions back to back.
type Decided struct {
	found    *nest.BackToBack
	products [2]blocking.Decided
	blocks   [2]*blocking.Blocking // what these decide
	middle   *rows.Kernel          // the stage between them; nil if there is none
	rows     int64                 // of a block
	threads  bool
}

// Complete makes the choices of stages whose tiles and placements are given.
func Complete(t isa.Target, buffers map[ir.NodeID]*schedule.Buffer, found *nest.BackToBack, stages []schedule.Stage) {
	if found.Middle != nil && len(stages) == 3 && nest.VectorsOnly(found.Stages[1]) {
		all := maps.Clone(buffers)
		maps.Copy(all, found.WorkspaceBuffers())
		rows.CompleteLanes(t, found.Stages[1], all, found.Middle, &stages[1])
	}
	for i, x := range []*nest.Contraction{found.First, found.Last} {
		blocking.CompleteStage(t, found.Stages[2*i], x, &stages[i*(len(stages)-1)])
	}
	if d, err := Read(t, &nest.Analysis{Buffers: buffers}, found, stages); err == nil {
		d.completeRounds(stages)
	}
}

// completeRounds says how many panels are packed at once where all of both products take more than blocking.MaxPacked: those of as many groups.
func (d *Decided) completeRounds(stages []schedule.Stage) {
	bytes, all := int64(0), d.groups()
	for _, b := range d.blocks {
		if b.Pack.Right == tile.UpFront {
			bytes += panelBytes(b)
		}
	}
	groups := max(1, blocking.MaxPacked/max(1, bytes))
	if !d.together() || groups >= all {
		return
	}
	for i, b := range d.blocks {
		if s := &stages[i*(len(stages)-1)]; b.Pack.Right == tile.UpFront {
			blocking.Place(s, b.K.Operands[b.C.Right].Name, groups*b.PanelsOf(b.C.Col.Extent))
		}
	}
}

// Read reads the stages of a config, for vectors of a target. The error says why a kernel cannot be carried out so.
func Read(t isa.Target, a *nest.Analysis, found *nest.BackToBack, stages []schedule.Stage) (Decided, error) {
	d := Decided{found: found, rows: 1}
	want := []schedule.Algorithm{schedule.Contraction, schedule.Rows, schedule.Contraction}
	if found.Middle == nil {
		want = []schedule.Algorithm{schedule.Contraction, schedule.Contraction}
	}
	for i, s := range stages {
		if len(stages) != len(want) || s.Algorithm != want[i] || s.Micro != "" || i > 0 && s.Threads {
			return d, fmt.Errorf("its stages are not %v, of which the first says whether threads share blocks", want)
		}
	}
	buffers := maps.Clone(a.Buffers)
	maps.Copy(buffers, found.WorkspaceBuffers())
	for i, x := range []*nest.Contraction{found.First, found.Last} {
		k, s := found.Stages[2*i], &stages[i*(len(stages)-1)]
		if !product.Fits(k, buffers, x) {
			return d, fmt.Errorf("it has values of a type that there are no vectors of, or may read outside of an operand")
		}
		read, err := blocking.ReadStage(t, k, x, s, i == 0)
		if err != nil {
			return d, err
		}
		b := blocking.New(t, k, x, read)
		if b.Split() && b.OpenBytes() > tile.MaxSums {
			return d, fmt.Errorf("%d bytes of unfinished sums: expected %d at most, as they are on the stack", b.OpenBytes(), tile.MaxSums)
		}
		if i == 0 {
			d.rows, d.threads = max(1, read.Rows), s.Threads
		} else if read.Rows != d.products[0].Rows {
			return d, fmt.Errorf("blocks of %d rows and of %d: expected the same", d.products[0].Rows, read.Rows)
		}
		d.products[i], d.blocks[i] = read, b
	}
	if err := d.checkRounds(); err != nil || found.Middle == nil {
		return d, err
	}
	if s := &stages[1]; s.Tile(schedule.RoleLine) != nil || s.Tile(schedule.RoleK) != nil || len(s.Stream) > 0 {
		return d, fmt.Errorf("the lines between contractions back to back are those of a block, and are kept: expected no line, no k and no stream")
	}
	if !nest.VectorsOnly(found.Stages[1]) {
		return d, fmt.Errorf("there are no vectors of what is computed between the contractions")
	}
	if err := rows.CheckLanes(t, found.Stages[1], found.Middle, &stages[1]); err != nil {
		return d, err
	}
	k, err := blocking.Rows(found.Stages[1], found.Middle, &stages[1])
	if err == nil {
		d.middle = rows.Of(t, k, buffers, found.Middle, stages[1].Lanes)
	}
	return d, err
}

// panelBytes is the size of the panels of one group.
func panelBytes(b *blocking.Blocking) int64 {
	return b.PanelsOf(b.C.Col.Extent) * b.Length * schedule.PanelBytes
}

// groups is how many groups of panels are packed at once, as many of both products.
func (d *Decided) groups() int64 {
	n := int64(1)
	for _, b := range d.blocks {
		if b.Pack.Right == tile.UpFront {
			groups, _ := b.Chunk()
			n = max(n, groups)
		}
	}
	return n
}

// checkRounds says why the right operands of both products cannot be packed in rounds.
func (d *Decided) checkRounds() error {
	var rounds []int64
	for _, b := range d.blocks {
		if b.Pack.Right == tile.UpFront {
			groups, _ := b.Chunk()
			rounds = append(rounds, groups)
		}
	}
	if several := d.blocks[0].Rounds.Right+d.blocks[1].Rounds.Right > 0; several && (!d.together() || len(slices.Compact(rounds)) > 1) {
		return fmt.Errorf("panels of %v groups are packed at once: expected as many of both contractions, which follow the same dimensions", rounds)
	}
	return nil
}

// together says whether the operands that are packed follow the same dimensions.
func (d *Decided) together() bool {
	return d.blocks[0].Pack.Right != tile.UpFront || d.blocks[1].Pack.Right != tile.UpFront || slices.Equal(groupLoops(d.blocks[0]), groupLoops(d.blocks[1]))
}

// groupLoops gives the loops that the right operand's panels follow, outermost first.
func groupLoops(b *blocking.Blocking) []int {
	var out []int
	for _, a := range b.Groups() {
		out = append(out, a.Loops...)
	}
	return out
}

package backtoback

import (
	"fmt"
	"maps"

	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/rows"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/passes/tile"
)

// Decided is what a config says of contractions back to back.
type Decided struct {
	found    *nest.BackToBack
	products [2]blocking.Decided
	middle   *schedule.Kernel // the stage between them, its loops cut; nil if there is none
	rows     int64            // of a block
	threads  bool
}

// Complete makes the choices of stages whose tiles and placements are given.
func Complete(t isa.Target, found *nest.BackToBack, stages []schedule.Stage) {
	for i, x := range []*nest.Contraction{found.First, found.Last} {
		blocking.CompleteStage(t, found.Stages[2*i], x, &stages[i*(len(stages)-1)])
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
		b := blocking.Blocking{C: x, D: x.Sum.Type, N: t.Lanes(x.Sum.Type.Size()), Cut: read.Cut}
		if b.Split() && b.OpenBytes() > tile.MaxSums {
			return d, fmt.Errorf("%d bytes of unfinished sums: expected %d at most, as they are on the stack", b.OpenBytes(), tile.MaxSums)
		}
		if i == 0 {
			d.rows, d.threads = max(1, read.Rows), s.Threads
		} else if read.Rows != d.products[0].Rows {
			return d, fmt.Errorf("blocks of %d rows and of %d: expected the same", d.products[0].Rows, read.Rows)
		}
		d.products[i] = read
	}
	if found.Middle == nil {
		return d, nil
	}
	if stages[1].Tile(schedule.RoleLine) != nil {
		return d, fmt.Errorf("the lines between contractions back to back are those of a block: expected no line")
	}
	if !rows.Fits(found.Stages[1]) {
		return d, fmt.Errorf("there are no vectors of what is computed between the contractions")
	}
	var err error
	d.middle, err = blocking.Rows(found.Stages[1], found.Middle, &stages[1])
	return d, err
}

package tile_test

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/nest/scan"
	"tensortapestry.org/tapc/passes/tile"
)

// decided describes how a kernel is carried out: as a form, with the levels of its dimensions.
func decided(k *schedule.Kernel, form nest.Form) string {
	d := description{k: k}
	switch f := form.(type) {
	case nil:
		d.add("loops")
	case *nest.LowPrecision:
		how := "A and B packed"
		if f.Unpacked {
			how = "A unpacked"
		}
		d.add("%s, groups of %d, %s%s", f.Name(), f.Group, how, copyOf(f.C))
		d.contraction(f.C)
	case *nest.Winograd:
		d.add("%s", f.Name())
		d.dims("down", f.Down.Dim)
		d.dims("across", f.Across.Dim)
		d.dims("m", f.Out)
		d.dims("k", f.In)
		d.dims("batch", f.Batch...)
	case *nest.Contraction:
		d.add("%s, %s%s", f.Name(), packing(tile.PackingOf(f)), copyOf(f))
		d.contraction(f)
	case *nest.BackToBack:
		d.add("%s", f.Name())
	case *scan.Scans:
		d.add("%s", f.Name())
		for i, s := range k.Statements {
			for _, x := range f.Forms[i] {
				d.add("%v of %s", x.Kind, s.Name)
			}
		}
	case *nest.Rows:
		d.add("%s", f.Name())
		role := "reduced lanes"
		if f.Free {
			role = "lanes"
		}
		d.dims(role, f.Lane)
		d.dims("reduction", f.Reduction...)
		d.dims("outer", f.Outer...)
		if len(f.Splits) > 0 {
			d.add("split at %v", f.Splits)
		}
	}
	d.rest()
	return strings.Join(d.parts, " | ")
}

// description collects what is said of a kernel.
type description struct {
	k     *schedule.Kernel
	parts []string
	said  []int // loops
}

func (d *description) add(format string, args ...any) {
	d.parts = append(d.parts, fmt.Sprintf(format, args...))
}

func (d *description) contraction(c *nest.Contraction) {
	if d.k.Sums > 0 {
		d.add("sums of %d", d.k.Sums)
	}
	d.dims("m", c.Row)
	d.dims("n", c.Col)
	d.dims("k", c.Reduction...)
	d.dims("batch", c.Batch...)
}

// dims says how dimensions are cut: a dimension of several loops by its innermost one.
func (d *description) dims(role string, dims ...nest.Dim) {
	for _, x := range dims {
		if x.Inner() < 0 {
			continue
		}
		d.said = append(d.said, x.Loops...)
		d.add("%s %d%s", role, x.Extent, levels(d.k.Loops[x.Inner()]))
	}
}

// rest says how the loops are cut of which nothing is said yet, those of one value aside.
func (d *description) rest() {
	for i, l := range d.k.Loops {
		if !slices.Contains(d.said, i) && l.Extent() != 1 {
			d.add("%s %d%s", l.Name, l.Extent(), levels(l))
		}
	}
}

// levels lists the tiles of a loop from the outermost level on, with what carries them out if that is not a serial loop.
func levels(l schedule.Loop) string {
	out := ""
	for i, x := range l.Levels {
		if i == len(l.Levels)-1 && x.Bind == schedule.Serial {
			break
		}
		out += " /"
		if x.Bind != schedule.Serial {
			out += x.Bind.String() + " "
		}
		out += fmt.Sprint(x.Tile)
	}
	return out
}

// packing says how the operands of a contraction are packed.
func packing(p tile.Packing) string { return fmt.Sprintf("A %v, B %v", p.Left, p.Right) }

// copyOf says which other copies a contraction makes.
func copyOf(c *nest.Contraction) string {
	out := ""
	if c.Padded != nil {
		out += ", A padded"
	}
	if c.Window != nil {
		out += ", B from windows"
	}
	if c.Transposed {
		out += ", accumulators transposed"
	}
	return out
}

// stages describes how a target cuts the stages of contractions back to back.
func (t target) stages(k *schedule.Kernel, c *nest.BackToBack) []string {
	rows := int64(1)
	if c.Row >= 0 {
		rows = k.Loops[c.Row].Levels[0].Tile
	}
	t.Cut(c, rows)
	out := []string{stage(c.Stages[0], c.First)}
	if c.Middle != nil {
		out = append(out, "    "+decided(c.Stages[1], c.Middle))
	}
	return append(out, stage(c.Stages[2], c.Last))
}

func stage(k *schedule.Kernel, c *nest.Contraction) string {
	d := description{k: k}
	d.add("    %s, %s%s", c.Name(), packing(tile.StagePacking(c)), copyOf(c))
	d.contraction(c)
	return strings.Join(d.parts, " | ")
}

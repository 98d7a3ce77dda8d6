package price

import (
	"slices"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/work"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/zspace"
)

// What a unit reads that another one has in a cache of its own, since it touched it last, travels from there: what each unit touches follows from how tasks are dealt out, a range of as many
// to each.

// mostSampled bounds for how many units it is followed which of them touched what.
const mostSampled = 8

// mostHeld bounds in how many ways units are known to have touched a box since it was written.
const mostHeld = 4

// boxes are what each of the first units touches of a buffer.
type boxes []zspace.Range

// levelled is a dimension that tasks follow: its loops, and how much of it a task has.
type levelled struct {
	dim  nest.Dim
	tile int64
}

// tasks is how many there are along it.
func (l levelled) tasks() int64 { return (l.dim.Extent + l.tile - 1) / max(l.tile, 1) }

// dealt gives the dimensions that the tasks of a kernel follow, outermost first; none if nobody knows.
func dealt(x *pricing) (list []levelled) {
	if c, ok := x.product(); ok {
		for _, d := range c.Batch {
			list = append(list, levelled{d, 1})
		}
		return append(list, levelled{c.Row, x.tile(schedule.RoleM, c.Row)}, levelled{c.Col, x.tile(schedule.RoleN, c.Col)})
	}
	if c, ok := nest.Of[*nest.BackToBack](x.analysis.Forms); ok && len(x.stages) > 1 {
		for _, d := range c.First.Batch {
			list = append(list, levelled{d, 1})
		}
		return append(list, levelled{c.First.Row, x.tile(schedule.RoleM, c.First.Row)})
	}
	if r, ok := nest.Of[*nest.Rows](x.analysis.Forms); ok {
		for _, d := range r.Outer {
			list = append(list, levelled{d, 1})
		}
		if r.Free {
			list = append(list, levelled{r.Lane, 1})
		}
	}
	return list
}

// portions gives the loops of each of the first units that share a kernel, of one that has done it before others have begun all; nil where nobody knows, or nothing is known of what units have from
// each other.
func portions(x *pricing) (list []zspace.Range) {
	k := x.analysis.Kernel
	switch {
	case !exchanges(x.device).Known():
		return nil
	case alone(x):
		return []zspace.Range{k.Space()}
	}
	dims, tasks := dealt(x), int64(1)
	for _, d := range dims {
		tasks *= d.tasks()
	}
	if tasks < x.units {
		return nil
	}
	for u := range min(x.units, mostSampled) {
		box := k.Space()
		from, to, each := tasks*u/x.units, tasks*(u+1)/x.units-1, tasks
		for _, d := range dims {
			each /= d.tasks()
			first, last := from/each, to/each
			restrict(box, k, d.dim, first*d.tile, min((last+1)*d.tile, d.dim.Extent)-1)
			if first != last { // the rest is in one of both with any value
				break
			}
			from, to = from%each, to%each
		}
		list = append(list, box)
	}
	return list
}

// alone says whether one unit carries a kernel out, or the one that begins it has done it before others have begun.
func alone(x *pricing) bool {
	steps, err := x.compute()
	if err != nil || x.units == 1 {
		return true
	}
	sum := 0.0
	for _, s := range steps {
		sum += total(s[s.longest()]).Value
	}
	return sum*float64(x.units-1) < x.device.Region.Value
}

// restrict leaves of the loops of a dimension the box of its values from a first to a last one.
func restrict(box zspace.Range, k *schedule.Kernel, d nest.Dim, first, last int64) {
	each := d.Extent
	for _, l := range d.Loops {
		each /= k.Loops[l].Extent()
		a, b := first/each, last/each
		box.Start[l], box.End[l] = k.Loops[l].Start+a, k.Loops[l].Start+b+1
		if a != b {
			return
		}
		first, last = first%each, last%each
	}
}

// touchedBy gives what each of the first units touches through an operand, of what all do.
func touchedBy(x *pricing, t work.Touch) (list boxes) {
	for _, box := range x.loops {
		lo, hi, err := x.analysis.Kernel.Operands[t.Operand].Access.Hull(box)
		if err != nil {
			return nil
		}
		for d := range hi {
			hi[d]++
		}
		part, ok := (zspace.Range{Start: lo, End: hi}).Intersect(t.Box)
		if !ok {
			part = zspace.Range{Start: lo, End: lo.Clone()}
		}
		list = append(list, part)
	}
	return list
}

// touchedOf gives it of each touch of a kernel; nil where nobody knows.
func touchedOf(x *pricing) (list []boxes) {
	if len(x.loops) == 0 {
		return nil
	}
	for _, t := range x.work.Touches {
		list = append(list, touchedBy(x, t))
	}
	return list
}

// exchanges gives the bytes a second that a unit reads of what another has in its own caches.
func exchanges(d *machine.Device) (f machine.Figure) {
	for _, c := range d.Caches {
		if c.Units == 1 && c.Exchange.Known() {
			f = c.Exchange
		}
	}
	return f
}

// foreign is the part of a box that all units together have from each other's caches, more than 1 where several have the same: what a unit touches that it has not touched since it was written.
// Before says how units have touched it.
func foreign(now boxes, before []boxes, box zspace.Range, units int64) (part float64) {
	whole := cells(box)
	if len(before) == 0 || len(now) == 0 || whole == 0 {
		return 0
	}
	for u, want := range now {
		own := 0.0 // the most of it that this unit has
		for _, had := range before {
			if u >= len(had) {
				continue
			}
			if both, ok := want.Intersect(had[u]); ok {
				own = max(own, cells(both))
			}
		}
		part += (cells(want) - own) / whole
	}
	return part * float64(units) / float64(len(now))
}

func cells(r zspace.Range) float64 {
	n, _ := r.BigSize().Float64()
	return n
}

// held is how units have touched a box once they touch it again: what is written only the unit that writes it has.
func held(before []boxes, now boxes, write bool) []boxes {
	switch {
	case len(now) == 0:
		return nil
	case write:
		return []boxes{now}
	case slices.ContainsFunc(before, func(b boxes) bool {
		return slices.EqualFunc(b, now, func(a, b zspace.Range) bool { return a.Contains(b) })
	}):
		return before
	case len(before) == mostHeld:
		before = before[1:]
	}
	return append(slices.Clip(before), now)
}

// packedAcross is how many bytes of what a product packs for all units these read of panels that others packed.
func packedAcross(x *pricing) (bytes float64) {
	c, ok := x.product()
	if !ok || len(x.loops) < 2 {
		return 0
	}
	for _, p := range x.stages[0].Placements {
		i := slices.IndexFunc(x.analysis.Kernel.Operands, func(o schedule.Operand) bool { return o.Name == p.Operand })
		if p.Scope != schedule.DeviceScope || i != c.Left && i != c.Right {
			continue
		}
		j := slices.IndexFunc(x.work.Touches, func(t work.Touch) bool { return t.Operand == i })
		along := []nest.Dim{c.Row}
		if i == c.Right {
			along[0] = c.Col
		}
		n := float64(arithmetic(x.work.Type).Size())
		for _, d := range slices.Concat(along, nest.Followed(c.Batch, c.Views[i], true), c.Reduction) {
			n *= float64(d.Extent)
		}
		times := 0.0 // that all units together need each panel
		for _, b := range touchedBy(x, x.work.Touches[j]) {
			times += cells(b) / max(1, cells(x.work.Touches[j].Box)) * float64(x.units) / float64(len(x.loops))
		}
		bytes += n * max(0, times-1)
	}
	return bytes
}

package price

import (
	"math"
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

// levelled is a dimension that tasks follow: its loops, how much of it a task has, and what is computed at once, which the last task fills.
type levelled struct {
	dim        nest.Dim
	tile, full int64
}

// tasks is how many there are along it.
func (l levelled) tasks() int64 { return (l.dim.Extent + l.tile - 1) / max(l.tile, 1) }

// sizes are what the tasks along it have of it.
func (l levelled) sizes() (list []float64) {
	for at := int64(0); at < l.dim.Extent; at += max(l.tile, 1) {
		list = append(list, float64((min(l.tile, l.dim.Extent-at)+l.full-1)/l.full*l.full))
	}
	return list
}

// tasks is how many there are that units may share; many, if nobody knows.
func tasks(x *pricing) int64 {
	dims, n := dealt(x), int64(1)
	if len(dims) == 0 {
		return math.MaxInt64
	}
	for _, d := range dims {
		n = nest.SaturatingProduct(n, d.tasks())
	}
	return n
}

// share leaves a kernel as many units as it has tasks, and one that takes no longer for it than calling others.
func share(x *pricing) {
	if !x.kind.Has(schedule.Thread) {
		x.even = 1
		return
	}
	x.units = max(1, min(x.units, tasks(x))) // of an empty kernel there are none
	if x.even = 1 / x.uneven(); alone(x) {
		x.units, x.even = 1, 1
	}
}

// uneven is how much longer the unit works that works longest than if all had as much to do: each takes the next task when it has done one, and the last along a dimension may be smaller.
func (x *pricing) uneven() float64 {
	if n := tasks(x); x.units == 1 || n == 0 || n > mostTasks*x.units {
		return 1
	}
	sizes, sum, busy := []float64{1}, 0.0, make([]float64, x.units)
	for _, d := range dealt(x) {
		outer := sizes
		sizes = nil
		for _, o := range outer {
			for _, s := range d.sizes() {
				sizes = append(sizes, o*s)
			}
		}
	}
	for _, s := range sizes {
		next := 0
		for i, b := range busy {
			if b < busy[next] {
				next = i
			}
		}
		busy[next], sum = busy[next]+s, sum+s
	}
	return slices.Max(busy) * float64(x.units) / sum
}

// dealt gives the dimensions that the tasks of a kernel follow, outermost first; none if nobody knows.
func dealt(x *pricing) (list []levelled) {
	add := func(d nest.Dim, tile, full int64) { list = append(list, levelled{d, max(tile, 1), max(full, 1)}) }
	each := func(dims []nest.Dim) {
		for _, d := range dims {
			add(d, 1, 1)
		}
	}
	if c, ok := x.product(); ok {
		each(c.Batch)
		add(c.Row, x.tile(schedule.RoleM, c.Row), 1)
		lanes := int64(1)
		if tiles := x.stages[0].Tile(schedule.RoleN); len(tiles) > 0 {
			lanes = tiles[len(tiles)-1]
		}
		add(c.Col, x.tile(schedule.RoleN, c.Col), lanes)
		return list
	}
	if c, ok := nest.Of[*nest.BackToBack](x.analysis.Forms); ok && len(x.stages) > 1 {
		each(c.First.Batch)
		add(c.First.Row, x.tile(schedule.RoleM, c.First.Row), 1)
		return list
	}
	if r, ok := nest.Of[*nest.Rows](x.analysis.Forms); ok && x.algorithm() == schedule.Rows && x.stages[0].Tile(schedule.RoleK) == nil {
		each(r.Outer)
		if line := x.stages[0].Tile(schedule.RoleLine); line != nil && len(list) > 0 { // which are computed together
			list[len(list)-1].tile = min(line[0], list[len(list)-1].dim.Extent)
		}
		if r.Free {
			add(r.Lane, x.tile(schedule.RoleElement, r.Lane), 1)
		}
	}
	return list
}

// portions gives the loops of each of the first units that share a kernel; nil where nobody knows, or nothing is known of what units have from each other.
func portions(x *pricing) (list []zspace.Range) {
	k := x.analysis.Kernel
	switch {
	case !exchanges(x.device).Known():
		return nil
	case x.units == 1:
		return []zspace.Range{k.Space()}
	}
	dims, tasks := dealt(x), tasks(x)
	if len(dims) == 0 {
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

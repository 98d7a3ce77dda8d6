package price

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// pack adds the time of copying operands into panels: elements that are neighbours go as vectors, which takes two operations of them, those two apart are shuffled
// out of vectors, others go one by one. Where a window leaves an image, it is found out before which lanes do, for each place of the window.
func (x *pricing) pack(a *adding) {
	c, ok := nest.Of[*nest.Contraction](x.analysis.Forms)
	if !ok || !x.kind.Has(schedule.Thread) {
		return
	}
	for _, p := range x.stages[0].Placements {
		i := slices.IndexFunc(x.analysis.Kernel.Operands, func(o schedule.Operand) bool { return o.Name == p.Operand })
		if p.Scope == schedule.ConstantScope || i != c.Left && i != c.Right {
			continue
		}
		along := c.Row
		if i == c.Right {
			along = c.Col
		}
		n := float64(along.Extent)
		for _, d := range c.Batch {
			if d.Step(c.Views[i]) != 0 {
				n *= float64(d.Extent)
			}
		}
		if i == c.Right && p.Scope == schedule.DeviceScope {
			n *= handedOut(x, c)
		}
		if c.Window != nil && i == c.Right {
			a.name("borders of windows", masked*n*x.places(c), rowVector, x.work.Type)
		}
		for _, d := range c.Reduction {
			n *= float64(d.Extent)
		}
		neighbours, apart, single := packed, packedApart, 1.0
		if c.Window != nil && i == c.Right {
			line := along.Extent
			if l := along.Inner(); l >= 0 {
				line = x.analysis.Kernel.Loops[l].Extent()
			}
			ends := lineEnds(line, max(1, x.target.Vector/int64(c.Sum.Type.Size())))
			neighbours, apart, single = packedWindows, packedApart*(1-ends)+packedEnds*ends, singleWindows
		}
		switch along.Step(c.Views[i]) {
		case 1:
			a.name("packing", neighbours*n, rowVector, x.work.Type)
		case 2:
			a.name("packing", apart*n, rowVector, x.work.Type)
		default:
			a.name("packing one by one", single*n, rowGather, x.work.Type)
		}
	}
	if c.Transposed {
		results := float64(c.Row.Extent * c.Col.Extent)
		for _, d := range c.Batch {
			results *= float64(d.Extent)
		}
		a.name("turning results", transposed*results, rowVector, x.work.Type)
	}
}

// lineEnds is the part of the vectors of windows' elements in which a line of results ends and the next one begins: one for each line, but for the lines that end with a vector.
func lineEnds(line, lanes int64) float64 {
	of := int64(1) // so many lines one ends with a vector
	for line*of%lanes != 0 {
		of++
	}
	return min(1, float64(lanes)/float64(max(1, line))*(1-1/float64(of)))
}

// places is at how many places of its window a contraction asks whether elements are there.
func (x *pricing) places(c *nest.Contraction) float64 {
	if c.Window.Guard == nil {
		return 0
	}
	return float64(nest.SaturatingProduct(c.GuardExtents(x.analysis.Kernel)...))
}

// How many operations on vectors take as long as copying an element into a panel, one of windows whose neighbours are neighbours, one that is two apart from the next, also where a vector of them goes on in the
// next line of an image; as finding out whether an element of a window is there; and as turning a result round that neighbouring rows have as neighbours. And how many elements that are read one by one take as
// long as one of a few that are neighbours in the copy of a left factor alone.
const (
	packed        = 12.0
	packedWindows = 6.0
	packedApart   = 16.0
	packedEnds    = 54.0
	masked        = 100
	transposed    = 16
	singleWindows = 3.5 // elements that are read one by one, for one of a window whose neighbours are farther apart
	singleCopies  = 2.3
)

// copying adds the time of copying a left factor, with zeros around it or its channels innermost, and of reading the copy, in the nearest cache that has both. Where the innermost elements of the copy were no neighbours, they
// are transposed, or go one by one if they are too few for that.
func copying(x *pricing, a *adding) {
	c, ok := nest.Of[*nest.Contraction](x.analysis.Forms)
	if !ok || c.Padded == nil || !x.kind.Has(schedule.Thread) {
		return
	}
	p, size := c.Padded, float64(x.analysis.Kernel.Operands[c.Left].Type().Size())
	inner, read, written := p.Dims[len(p.Dims)-1], cells(p.Live), float64(p.Elements())
	if p.Buffer.Strides[inner.Dim] != 1 {
		if inner.Extent() < max(1, x.target.Vector/int64(size)) {
			a.name("copying the left factor, one by one", singleCopies*read, rowGather, x.work.Type)
		} else {
			a.name("copying the left factor, transposed", packed*read, rowVector, x.work.Type)
		}
		return
	}
	list := levels(x.device, x.units)
	at := slices.IndexFunc(list, func(l level) bool { return l.bytes >= (read+written)*size })
	if at < 0 {
		at = len(list) - 1
	}
	a.terms = append(a.terms, Term{"copying the left factor in " + list[at].name, list[at].over((read+written)*size, written*size)})
}

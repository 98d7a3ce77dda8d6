package access

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Wholly says whether an access goes to each coordinate of a range once.
func Wholly(a zspace.AffineMap, box, all zspace.Range) bool {
	first, last, err := a.Hull(box)
	if err != nil || box.BigSize().Cmp(all.BigSize()) != 0 {
		return false
	}
	for d := range first {
		if first[d] != all.Start[d] || last[d] != all.End[d]-1 {
			return false
		}
	}
	return true
}

// Reversed gives the loops of a mover, of which an access is known, from those of a kernel that stores what it reads. Where several
// loops make one coordinate, the kernel's loop of it is cut into as many.
func Reversed(c *schedule.Kernel, out int, read zspace.AffineMap, box zspace.Range) (zspace.AffineMap, bool) {
	digits := map[int][]int64{} // by loop of the kernel: the steps that it is cut into
	for d, row := range read.Projection {
		steps := stepsOf(row, box)
		if len(steps) < 2 {
			continue
		}
		l, ok := Unit(c.Operands[out].Access.Projection[d], c.Loops)
		if !ok || l < 0 || digits[l] != nil || c.Loops[l].Start != 0 || len(c.Loops[l].Of) > 0 || !mixed(row, box, steps, c.Loops[l].Extent()) {
			return zspace.AffineMap{}, false
		}
		digits[l] = steps
	}
	if len(digits) > 0 && !cutLoops(c, digits) {
		return zspace.AffineMap{}, false
	}
	return solved(c, out, read, box)
}

// stepsOf gives the factors of a row's loops of more than one value, greatest first.
func stepsOf(row []int64, box zspace.Range) []int64 {
	var steps []int64
	for j, f := range row {
		if f != 0 && box.End[j]-box.Start[j] > 1 {
			steps = append(steps, f)
		}
	}
	slices.Sort(steps)
	slices.Reverse(steps)
	return steps
}

// mixed says whether the loops of a row are the digits of numbers from 0 to below an extent.
func mixed(row []int64, box zspace.Range, steps []int64, extent int64) bool {
	for i := len(steps) - 1; i >= 0; i-- {
		above := extent
		if i > 0 {
			above = steps[i-1]
		}
		n := int64(0)
		for j, f := range row {
			if f == steps[i] && box.End[j]-box.Start[j] > 1 {
				n += box.End[j] - box.Start[j]
			}
		}
		if steps[i] < 1 || n != above/steps[i] || above%steps[i] != 0 {
			return false
		}
	}
	return steps[len(steps)-1] == 1
}

// cutLoops cuts loops of a kernel into loops with some steps.
func cutLoops(k *schedule.Kernel, digits map[int][]int64) bool {
	c := &cutter{k: k, at: map[int]*scalar.Expr{}}
	for l := range k.Loops {
		c.digits = append(c.digits, []int64{1})
		if steps := digits[l]; steps != nil {
			c.digits[l] = steps
		}
	}
	accesses := make([][]linear, len(k.Operands))
	for i := range accesses {
		var ok bool
		if accesses[i], ok = c.follow(i); !ok {
			return false
		}
	}
	c.rewrite(accesses)
	return true
}

// solved gives the loops of a mover from those of a kernel whose stored coordinates have a loop for each of the mover's.
func solved(c *schedule.Kernel, out int, read zspace.AffineMap, box zspace.Range) (zspace.AffineMap, bool) {
	x := zspace.AffineMap{Projection: make(zspace.Matrix, len(box.Start)), Offset: box.Start.Clone()}
	for j := range x.Projection {
		x.Projection[j] = make([]int64, len(c.Loops))
	}
	known := make([]bool, len(box.Start))
	write := c.Operands[out].Access
	for d, row := range read.Projection {
		steps := stepsOf(row, box)
		constant := write.Offset[d] - read.Offset[d] // of what the mover's loops make
		for j, f := range row {
			if box.End[j]-box.Start[j] == 1 {
				constant -= f * box.Start[j]
			}
		}
		for j, f := range row {
			switch {
			case f == 0 || box.End[j]-box.Start[j] == 1:
			case known[j]:
				return x, false
			case len(steps) > 1: // a digit of its own
				l := slices.Index(write.Projection[d], f)
				if l < 0 || constant != 0 || box.Start[j] != 0 {
					return x, false
				}
				x.Projection[j][l], known[j] = 1, true
			case f != 1 && f != -1:
				return x, false
			default:
				known[j], x.Offset[j] = true, f*constant
				for l, g := range write.Projection[d] {
					x.Projection[j][l] = f * g
				}
			}
		}
	}
	for j, k := range known {
		if !k && box.End[j]-box.Start[j] > 1 {
			return x, false
		}
	}
	return x, true
}

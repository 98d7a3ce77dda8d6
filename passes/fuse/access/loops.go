package access

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// LoopsOf gives the loops of a kernel that writes all of a buffer, from those of one that reads it through an operand. Where several loops of
// the writer make one coordinate, as those of an interleave or of a reshape that joins dimensions do, the loops of the reader that walk along it are cut
// into as many: the reader is changed, and parts are the loops that each of its loops became. ok is false, and the reader may be of no use, where the
// reader goes from one of the writer's loops to another between the ends of both.
func LoopsOf(reader *schedule.Kernel, operand int, writer *schedule.Kernel, write zspace.AffineMap, whole zspace.Range) (loops zspace.AffineMap, parts [][]int, ok bool) {
	read, space := reader.Operands[operand].Access, writer.Space()
	c := &cutter{k: reader, at: map[int]*scalar.Expr{}, digits: slices.Repeat([][]int64{{1}}, len(reader.Loops))}
	for d, row := range write.Projection {
		if steps := stepsOf(row, space); len(steps) > 1 && (!mixed(row, space, steps, whole.End[d]-whole.Start[d]) || !c.cutAt(read.Projection[d], steps)) {
			return loops, nil, false
		}
	}
	values := make([]linear, len(writer.Loops))
	for j, l := range writer.Loops {
		values[j] = linear{constant: l.Start}
	}
	for d, row := range write.Projection {
		if !c.solve(values, writer, row, c.along(read, d, write.Offset[d])) {
			return loops, nil, false
		}
	}
	for j, p := range values {
		if p.factors == nil && space.End[j]-space.Start[j] != 1 {
			return loops, nil, false
		}
	}
	accesses := make([][]linear, len(reader.Operands), len(reader.Operands)+1)
	for i := range accesses {
		if accesses[i], ok = c.follow(i); !ok {
			return loops, nil, false
		}
	}
	for l, next := 0, 0; l < len(c.digits); l++ {
		parts = append(parts, nil)
		for range c.digits[l] {
			parts[l], next = append(parts[l], next), next+1
		}
	}
	reader.Operands = append(reader.Operands, schedule.Operand{}) // which leads to the writer's loops
	c.rewrite(append(accesses, values))
	last := len(accesses)
	loops, reader.Operands = reader.Operands[last].Access, reader.Operands[:last:last]
	return loops, parts, true
}

// cutAt cuts the loops that a row follows where its value passes multiples of some steps.
func (c *cutter) cutAt(row []int64, steps []int64) bool {
	for l, f := range row {
		loop := c.k.Loops[l]
		if f == 0 || loop.Extent() == 1 {
			continue
		}
		for _, step := range steps {
			at := step / max(f, -f)
			if step%f != 0 || at <= 1 || at >= loop.Extent() || slices.Contains(c.digits[l], at) {
				continue
			}
			if loop.Start != 0 || len(loop.Of) > 0 || loop.Extent()%at != 0 {
				return false
			}
			c.digits[l] = append(c.digits[l], at)
		}
		slices.Sort(c.digits[l])
		slices.Reverse(c.digits[l])
		for i, at := range c.digits[l][1:] {
			if c.digits[l][i]%at != 0 {
				return false
			}
		}
	}
	return true
}

// along gives a coordinate of an access, from an origin, in terms of digits.
func (c *cutter) along(a zspace.AffineMap, d int, origin int64) linear {
	x := linear{factors: map[digit]int64{}, constant: a.Offset[d] - origin}
	for l, f := range a.Projection[d] {
		for _, step := range c.digits[l] {
			x.factors[digit{l, step}] += f * step
		}
	}
	return x
}

// solve finds the loops of a writer that make a coordinate, from its value.
func (c *cutter) solve(values []linear, writer *schedule.Kernel, row []int64, x linear) bool {
	space := writer.Space()
	for j, f := range row {
		if space.End[j]-space.Start[j] == 1 {
			x.constant -= f * space.Start[j]
		}
	}
	steps := stepsOf(row, space)
	for j, f := range row {
		extent := space.End[j] - space.Start[j]
		if f == 0 || extent == 1 {
			continue
		}
		if values[j].factors != nil || f < 0 || len(steps) == 1 && f != 1 || len(steps) > 1 && space.Start[j] != 0 {
			return false
		}
		one, ok := x, x.small()
		if f > 1 {
			one, ok = c.divided(x.clone(), f, true)
		}
		if ok && f < steps[0] {
			one, ok = c.divided(one.clone(), extent, false)
		}
		if values[j] = one; !ok {
			return false
		}
	}
	return true
}

func (x linear) clone() linear {
	out := linear{factors: map[digit]int64{}, constant: x.constant}
	for d, f := range x.factors {
		out.factors[d] = f
	}
	return out
}

// Package copies says which bytes a transfer copies, in runs, for whoever carries one out. It must not import a back end. Read next: dialects/schedule,
// whose transfers they are.
package copies

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/zspace"
)

// Copy is a transfer in bytes: from a byte of one buffer to a byte of the other, runs of Bytes, one for each point of Steps.
type Copy struct {
	From, To, Bytes int64
	Steps           []Step // outermost first
}

// Step is one dimension of a copy: how many runs, and how many bytes they are apart.
type Step struct{ Count, From, To int64 }

// Of gives the bytes that a transfer between two buffers copies, in as few runs as their layouts allow; all zero if there are none.
func Of(t *schedule.Transfer, from, to *schedule.Buffer) Copy {
	box, size := t.Box(from), int64(from.Type().Size())
	if box.Empty() {
		return Copy{}
	}
	c := Copy{Bytes: size}
	for d, n := range box.Shape() {
		c.From += (box.Start[d] - from.Range.Start[d]) * from.Strides[d] * size
		c.To += (box.Start[d] - to.Range.Start[d]) * to.Strides[d] * size
		if n > 1 {
			c.Steps = append(c.Steps, Step{n, from.Strides[d] * size, to.Strides[d] * size})
		}
	}
	slices.SortStableFunc(c.Steps, func(a, b Step) int { return int(max(-1, min(1, b.To-a.To))) })
	for n := len(c.Steps); n > 0 && c.Steps[n-1].From == c.Bytes && c.Steps[n-1].To == c.Bytes; n-- {
		c.Bytes *= c.Steps[n-1].Count
		c.Steps = c.Steps[:n-1]
	}
	return c
}

// Runs calls f with the places of each run.
func (c Copy) Runs(f func(from, to int64)) {
	var walk func(steps []Step, from, to int64)
	walk = func(steps []Step, from, to int64) {
		if len(steps) == 0 {
			f(from, to)
			return
		}
		for range steps[0].Count {
			walk(steps[1:], from, to)
			from, to = from+steps[0].From, to+steps[0].To
		}
	}
	if c.Bytes > 0 {
		walk(c.Steps, c.From, c.To)
	}
}

// Part gives the elements of a box of an array, both row-major, whose elements have a type.
func Part(data []byte, dtype string, whole, box zspace.Range) []byte {
	from := &schedule.Buffer{DType: dtype, Range: whole, Strides: zspace.RowMajor(whole.Shape())}
	to := &schedule.Buffer{DType: dtype, Range: box, Strides: zspace.RowMajor(box.Shape())}
	c := Of(&schedule.Transfer{Range: box}, from, to)
	var out []byte
	c.Runs(func(at, _ int64) { out = append(out, data[at:at+c.Bytes]...) })
	return out
}

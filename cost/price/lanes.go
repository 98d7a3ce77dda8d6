package price

import (
	"tensortapestry.org/tapc/cost/work"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/nest/few"
)

// rowVectors gives how rows are cut into vectors: the elements of a row, how many of them a vector has, and how many it could have; ok is false if there are no rows,
// or nobody knows how long vectors are.
func (x *pricing) rowVectors() (r *nest.Rows, lanes, full int64, ok bool) {
	r, ok = nest.Of[*nest.Rows](x.analysis.Forms)
	if !ok || x.target.Vector == 0 || x.algorithm() != schedule.Rows {
		return nil, 0, 0, false
	}
	size := int64(x.work.Type.Size())
	for i, o := range x.analysis.Kernel.Operands {
		if r.Lane.Step(r.Views[i]) != 0 {
			size = max(size, int64(o.Type().Size()))
		}
	}
	full = max(1, x.target.Vector/size)
	if lanes = x.stages[0].Lanes; lanes == 0 {
		lanes = full
	}
	return r, lanes, full, true
}

// lengths gives the lengths of the parts of a row, each of which has vectors of its own.
func lengths(r *nest.Rows) (list []int64) {
	from := int64(0)
	for _, to := range r.Splits {
		list, from = append(list, to-from), to
	}
	return append(list, r.Lane.Extent-from)
}

// vectors says how full the vectors of a row are. Room is how many elements they could have, by how many they have: the last one is not full, nor is any where
// vectors are shorter than those of the processor. Partial is the part of the elements that are in vectors that are not full.
func (x *pricing) vectors() (room, partial float64) {
	r, lanes, full, ok := x.rowVectors()
	if !ok {
		return 1, 0
	}
	for _, n := range lengths(r) {
		room += float64((n + lanes - 1) / lanes * full)
		partial += float64(n % lanes)
	}
	row := float64(r.Lane.Extent)
	return room / row, partial / row
}

// written is how many elements that are read one by one take as long as one that is written so: it is taken out of a vector first.
const written = 3.3

// fewElements counts a kernel of rows of few elements as it is carried out, with a row in each of so many lanes. What it goes over several times is read once, and stays in registers.
func fewElements(a *nest.Analysis, found *nest.Rows, lanes int64) (*nest.Analysis, *work.Work, bool) {
	r, ok := few.Rows(a.Kernel, a.Buffers, found, sweepsOf(a.Kernel, found), lanes)
	if !ok {
		return a, nil, false
	}
	w := work.OfRows(a.Kernel, a.Buffers, r)
	w.Gathers = 0
	for _, t := range w.Touches {
		n := t.Bytes / float64(a.Kernel.Operands[t.Operand].Type().Size())
		switch step := r.Lane.Step(r.Views[t.Operand]); {
		case step == 0 || step == 1 || step == 2 && !t.Write: // which are shuffled out of vectors
		case t.Write && step != 2:
			w.Gathers += written * n
		default:
			w.Gathers += n
		}
	}
	return &nest.Analysis{Kernel: a.Kernel, Buffers: a.Buffers, Forms: nest.Forms{r}}, w, true
}

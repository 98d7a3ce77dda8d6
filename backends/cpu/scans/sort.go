package scans

import (
	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/dialects/schedule/nest/scan"
)

// room is the number of places that are collected before they are put in order. The first 2k cells are sorted; of what follows, those that
// do not come before the last of the best k are passed over, and others collected. When 2k are held they are sorted again, and the best kept.
// That takes n log k at worst, and little more than reading if few are collected.
func room(s *scan.Selection) int64 { return min(s.Count, 2*s.First) }

// selectBlock cells are compared together with the last of the best: vectors, if the compiler can.
const selectBlock = 64

// orderedRun is the length from which on runs are looked at for whether they are in order already: of the best cells they are.
const orderedRun = 4

// chosen opens the loop over the cells of a selection that buckets hold, after what selects them.
func (n *Nest) chosen(f *scan.Form) {
	s := f.Selection
	to := n.stages.orders[s]
	if !to.made {
		n.choosing(s, to.array)
		to.made = true
	}
	n.forLoop(f.Targets[0].Loop)
	n.Line("const int64_t %s = %s[%s];", Variable(f.Reduce.Over[0]), to.array, Variable(f.Targets[0].Loop))
}

// choosing writes the selection itself.
func (n *Nest) choosing(s *scan.Selection, array string) {
	j := n.Kernel.Loops[s.Rank.Reduce.Over[0]]
	most := room(s)
	n.Open("{")
	n.Line("int64_t *order = %s, *merged = %s + %d, held = %d;", array, array, most, most)
	n.Line("for (int64_t z = 0; z < %d; z++) order[z] = %d + z;", most, j.Start)
	if most == s.Count {
		n.mergeSort(s.Rank, "held")
	} else {
		n.Line("int64_t next = %d;", j.Start+most)
		n.Open("for (;;) {")
		n.mergeSort(s.Rank, "held")
		n.Line("if (next >= %d) break;", j.End)
		n.collect(s, j.End)
		n.Close()
	}
	n.Line("if (order != %s) __builtin_memcpy(%s, order, %d * sizeof *order);", array, array, s.First)
	n.Close()
}

// collect writes what adds places to the best, in their order, until there is no room for more.
func (n *Nest) collect(s *scan.Selection, end int64) {
	vi, vj := Variable(s.Rank.Loop), Variable(s.Rank.Reduce.Over[0])
	before := cnest.Bare(n.w.Expr(s.Rank.Value, n))
	n.Line("const int64_t %s = order[%d];", vi, s.First-1)
	n.Line("held = %d;", s.First)
	n.Open("while (next < %d && held < %d) {", end, room(s))
	n.Line("const int64_t stop = %d - next < %d ? %d : next + %d;", end, selectBlock, end, selectBlock)
	n.Open("if (stop - next == %d) {", selectBlock)
	n.Line("int any = 0;")
	n.Open("for (int64_t z = 0; z < %d; z++) {", selectBlock)
	n.Line("const int64_t %s = next + z;", vj)
	n.Line("any |= %s;", before)
	n.Close()
	n.Open("if (!any) {")
	n.Line("next = stop;")
	n.Line("continue;")
	n.Close()
	n.Close()
	n.Open("for (; next < stop && held < %d; next++) {", room(s))
	n.Line("const int64_t %s = next;", vj)
	n.Line("if (%s) order[held++] = next;", before)
	n.Close()
	n.Close()
}

// mergeSort writes a merge sort of the places in order, by way of merged; cells of which none comes before the other keep theirs.
// Runs are merged from both ends as far as both reach: neither end waits for the other.
func (n *Nest) mergeSort(f *scan.Form, count string) {
	n.Open("for (int64_t width = 1; width < %s; width *= 2) {", count)
	n.Open("for (int64_t low = 0; low < %s; low += 2 * width) {", count)
	n.Line("const int64_t middle = low + width < %s ? low + width : %s, high = middle + width < %s ? middle + width : %s;", count, count, count, count)
	n.Line("int64_t left = low, right = middle, left_end = middle, right_end = high, z = low, end = high;")
	n.Open("if (width >= %d && middle < high) {", orderedRun)
	n.before(f, "middle - 1", "middle")
	n.Open("if (!swap) {")
	n.Line("__builtin_memcpy(merged + low, order + low, (size_t)(high - low) * sizeof *order);")
	n.Line("continue;")
	n.Close()
	n.Close()
	n.Close()
	n.Open("for (int64_t both = high - middle; both > 0; both--) {")
	n.mergeFront(f)
	n.before(f, "left_end - 1", "right_end - 1")
	n.Line("merged[--end] = right_place ^ ((left_place ^ right_place) & -(int64_t)swap);")
	n.Line("left_end -= swap, right_end -= 1 - swap;")
	n.Close()
	n.Close()
	n.Open("while (left < left_end && right < right_end) {")
	n.mergeFront(f)
	n.Close()
	n.Line("while (left < left_end) merged[z++] = order[left++];")
	n.Line("while (right < right_end) merged[z++] = order[right++];")
	n.Close()
	n.Line("int64_t *other = order;")
	n.Line("order = merged, merged = other;")
	n.Close()
}

// mergeFront writes one step of a merge from the front.
func (n *Nest) mergeFront(f *scan.Form) {
	n.before(f, "left", "right")
	n.Line("merged[z++] = left_place ^ ((left_place ^ right_place) & -(int64_t)swap);")
	n.Line("right += swap, left += 1 - swap;")
	n.Close()
}

// before opens a block that knows two places of the order, and whether the cell at the right one comes before that at the left one.
func (n *Nest) before(f *scan.Form, left, right string) {
	n.Open("{")
	n.Line("const int64_t left_place = order[%s], right_place = order[%s];", left, right)
	n.Line("const int64_t %s = left_place, %s = right_place;", Variable(f.Loop), Variable(f.Reduce.Over[0]))
	n.Line("const int swap = %s;", cnest.Bare(n.w.Expr(f.Value, n)))
}

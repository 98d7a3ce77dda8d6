package cnest

import (
	"fmt"

	"tensortapestry.org/tapc/backends/tree"
)

// sorter writes the sort of a tree: a merge sort, or of the first only one after the other of those that may be among them.
type sorter struct {
	*Tree
	*tree.Sort
	before string // whether the right one comes before the left one
}

const (
	selectBlock = 64 // integers that are compared together with the last of the best: vectors, if the compiler can
	orderedRun  = 4  // the length from which on runs are looked at for whether they are in order already: of the best they are
)

// Sort writes a sort.
func (t *Tree) Sort(s *tree.Sort) {
	w := sorter{t, s, Bare(t.Computed(s.Before))}
	count := s.Room()
	t.Open("{")
	t.Line("int64_t *const sorted = &%s, *order = sorted, *merged = sorted + %d;", Lvalue(s.Order), count)
	t.Line("for (int64_t z = 0; z < %d; z++) order[z] = %d + z;", count, s.From)
	kept := count
	if count == s.To-s.From {
		w.merges(fmt.Sprint(count))
	} else {
		kept = s.First
		t.Line("int64_t count = %d, next = %d;", count, s.From+count)
		t.Open("for (;;) {")
		w.merges("count")
		t.Line("if (next >= %d) break;", s.To)
		w.collect()
		t.Close()
	}
	t.Line("if (order != sorted) __builtin_memcpy(sorted, order, %d * sizeof *order);", kept)
	t.Close()
}

// collect writes what adds integers to the best, in their order, until there is no room for more.
func (w sorter) collect() {
	w.Line("const int64_t %s = order[%d];", w.Left.Name, w.First-1)
	w.Line("count = %d;", w.First)
	w.Open("while (next < %d && count < %d) {", w.To, w.Room())
	w.Line("const int64_t stop = %d - next < %d ? %d : next + %d;", w.To, selectBlock, w.To, selectBlock)
	w.Open("if (stop - next == %d) {", selectBlock)
	w.Line("int any = 0;")
	w.Open("for (int64_t z = 0; z < %d; z++) {", selectBlock)
	w.Line("const int64_t %s = next + z;", w.Right.Name)
	w.Line("any |= %s;", w.before)
	w.Close()
	w.Open("if (!any) {")
	w.Line("next = stop;")
	w.Line("continue;")
	w.Close(2)
	w.Open("for (; next < stop && count < %d; next++) {", w.Room())
	w.Line("const int64_t %s = next;", w.Right.Name)
	w.Line("if (%s) order[count++] = next;", w.before)
	w.Close(2)
}

// merges writes a merge sort of order, by way of merged; those of which none comes before the other keep theirs.
// Runs are merged from both ends as far as both reach: neither end waits for the other.
func (w sorter) merges(count string) {
	w.Open("for (int64_t width = 1; width < %s; width *= 2) {", count)
	w.Open("for (int64_t low = 0; low < %s; low += 2 * width) {", count)
	w.Line("const int64_t middle = low + width < %s ? low + width : %s, high = middle + width < %s ? middle + width : %s;", count, count, count, count)
	w.Line("int64_t left = low, right = middle, left_end = middle, right_end = high, z = low, end = high;")
	w.Open("if (width >= %d && middle < high) {", orderedRun)
	w.between("middle - 1", "middle")
	w.Open("if (!swap) {")
	w.Line("__builtin_memcpy(merged + low, order + low, (size_t)(high - low) * sizeof *order);")
	w.Line("continue;")
	w.Close()
	w.Close()
	w.Close()
	w.Open("for (int64_t both = high - middle; both > 0; both--) {")
	w.mergeFront()
	w.between("left_end - 1", "right_end - 1")
	w.Line("merged[--end] = right_place ^ ((left_place ^ right_place) & -(int64_t)swap);")
	w.Line("left_end -= swap, right_end -= 1 - swap;")
	w.Close()
	w.Close()
	w.Open("while (left < left_end && right < right_end) {")
	w.mergeFront()
	w.Close()
	w.Line("while (left < left_end) merged[z++] = order[left++];")
	w.Line("while (right < right_end) merged[z++] = order[right++];")
	w.Close()
	w.Line("int64_t *other = order;")
	w.Line("order = merged, merged = other;")
	w.Close()
}

// mergeFront writes one step of a merge from the front.
func (w sorter) mergeFront() {
	w.between("left", "right")
	w.Line("merged[z++] = left_place ^ ((left_place ^ right_place) & -(int64_t)swap);")
	w.Line("right += swap, left += 1 - swap;")
	w.Close()
}

// between opens a block that knows two places of the order, and whether what is at the right one comes before what is at the left one.
func (w sorter) between(left, right string) {
	w.Open("{")
	w.Line("const int64_t left_place = order[%s], right_place = order[%s];", left, right)
	w.Line("const int64_t %s = left_place, %s = right_place;", w.Left.Name, w.Right.Name)
	w.Line("const int swap = %s;", w.before)
}

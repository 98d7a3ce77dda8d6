package cnest

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
)

// selection is the first k cells of an order: what buckets hold whose place is a rank that nothing else reads. The first 2k cells
// are sorted; of what follows, those that do not come before the last of the best k are passed over, and others collected. When
// 2k are held they are sorted again, and the best kept. That takes n log k at worst, and little more than reading if few are collected.
type selection struct {
	rank  *form
	first int64  // so many are needed
	count int64  // of so many
	order string // array of their places, and as many to sort them; "" before it is there
	made  bool   // it has been written
}

// room is the number of places that are collected before they are put in order.
func (s *selection) room() int64 { return min(s.count, 2*s.first) }

// selectBlock cells are compared together with the last of the best: vectors, if the compiler can.
const selectBlock = 64

// orderedRun is the length from which on runs are looked at for whether they are in order already: of the best cells they are.
const orderedRun = 4

// selections finds the buckets that hold a selection. Those of one rank share it.
func (n *Nest) selections() {
	of := map[int]*selection{}
	for i, s := range n.Kernel.Statements {
		for _, f := range n.stages.forms[i] {
			rank := n.rankOf(s, f)
			if rank == nil {
				continue
			}
			at := f.targets[0].place.Ref
			if of[at] == nil {
				of[at] = &selection{rank: rank, count: n.Kernel.Loops[rank.loop].Extent()}
			}
			of[at].first = max(of[at].first, n.Kernel.Loops[f.targets[0].loop].End)
			f.selection = of[at]
		}
	}
}

// rankOf gives the rank that is the place of the values of buckets, if there is one cell for each of them; else nil.
func (n *Nest) rankOf(s schedule.Statement, f *form) *form {
	if f.kind != buckets || len(f.targets) != 1 || len(f.fold.Over) != 1 || f.targets[0].place.Op != scalar.Local {
		return nil
	}
	t := f.targets[0]
	place := n.Kernel.Statements[t.place.Ref]
	forms := n.stages.forms[t.place.Ref]
	if len(forms) != 1 || forms[0].kind != rank || forms[0].fold != place.Value || forms[0].loop != f.fold.Over[0] {
		return nil
	}
	i, j, p := n.Kernel.Loops[forms[0].loop], n.Kernel.Loops[place.Value.Over[0]], n.Kernel.Loops[t.loop]
	if i.Start != j.Start || i.End != j.End || p.Start < 0 || p.End > j.Extent() ||
		!slices.Equal(n.extra(place.Over), []int{forms[0].loop}) || !slices.Equal(n.extra(s.Over), []int{t.loop}) {
		return nil
	}
	return forms[0]
}

// chosen opens the loop over the cells of a selection that buckets hold, after what selects them.
func (n *Nest) chosen(f *form) {
	s := f.selection
	if !s.made {
		n.choosing(s)
		s.made = true
	}
	n.forLoop(f.targets[0].loop)
	n.Line("const int64_t %s = %s[%s];", Variable(f.fold.Over[0]), s.order, Variable(f.targets[0].loop))
}

// choosing writes the selection itself.
func (n *Nest) choosing(s *selection) {
	j := n.Kernel.Loops[s.rank.fold.Over[0]]
	room := s.room()
	n.Open("{")
	n.Line("int64_t *order = %s, *merged = %s + %d, held = %d;", s.order, s.order, room, room)
	n.Line("for (int64_t z = 0; z < %d; z++) order[z] = %d + z;", room, j.Start)
	if room == s.count {
		n.mergeSort(s.rank, "held")
	} else {
		n.Line("int64_t next = %d;", j.Start+room)
		n.Open("for (;;) {")
		n.mergeSort(s.rank, "held")
		n.Line("if (next >= %d) break;", j.End)
		n.collect(s, j.End)
		n.Close()
	}
	n.Line("if (order != %s) __builtin_memcpy(%s, order, %d * sizeof *order);", s.order, s.order, s.first)
	n.Close()
}

// collect writes what adds places to the best, in their order, until there is no room for more.
func (n *Nest) collect(s *selection, end int64) {
	vi, vj := Variable(s.rank.loop), Variable(s.rank.fold.Over[0])
	before := bare(n.w.Expr(s.rank.value, n))
	n.Line("const int64_t %s = order[%d];", vi, s.first-1)
	n.Line("held = %d;", s.first)
	n.Open("while (next < %d && held < %d) {", end, s.room())
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
	n.Open("for (; next < stop && held < %d; next++) {", s.room())
	n.Line("const int64_t %s = next;", vj)
	n.Line("if (%s) order[held++] = next;", before)
	n.Close()
	n.Close()
}

// mergeSort writes a merge sort of the places in order, by way of merged; cells of which none comes before the other keep theirs.
// Runs are merged from both ends as far as both reach: neither end waits for the other.
func (n *Nest) mergeSort(f *form, count string) {
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
func (n *Nest) mergeFront(f *form) {
	n.before(f, "left", "right")
	n.Line("merged[z++] = left_place ^ ((left_place ^ right_place) & -(int64_t)swap);")
	n.Line("right += swap, left += 1 - swap;")
	n.Close()
}

// before opens a block that knows two places of the order, and whether the cell at the right one comes before that at the left one.
func (n *Nest) before(f *form, left, right string) {
	n.Open("{")
	n.Line("const int64_t left_place = order[%s], right_place = order[%s];", left, right)
	n.Line("const int64_t %s = left_place, %s = right_place;", Variable(f.loop), Variable(f.fold.Over[0]))
	n.Line("const int swap = %s;", bare(n.w.Expr(f.value, n)))
}

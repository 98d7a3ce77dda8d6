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
func (g *stages) chosen(f *scan.Form) {
	s := f.Selection
	to := g.orders[s]
	if !to.made {
		g.choosing(s, to.array)
		to.made = true
	}
	g.n.forLoop(f.Targets[0].Loop)
	g.n.Line("const int64_t %s = %s[%s];", Variable(f.Reduce.Over[0]), to.array, Variable(f.Targets[0].Loop))
}

// choosing writes the selection itself.
func (g *stages) choosing(s *scan.Selection, array string) {
	n, j, most := g.n, g.n.Kernel.Loops[s.Rank.Reduce.Over[0]], room(s)
	n.Open("{")
	n.Line("int64_t *order = %s, *merged = %s + %d, held = %d;", array, array, most, most)
	n.Line("for (int64_t z = 0; z < %d; z++) order[z] = %d + z;", most, j.Start)
	if most == s.Count {
		g.mergeSort(s.Rank, "held")
	} else {
		n.Line("int64_t next = %d;", j.Start+most)
		n.Open("for (;;) {")
		g.mergeSort(s.Rank, "held")
		n.Line("if (next >= %d) break;", j.End)
		g.collect(s, j.End)
		n.Close()
	}
	n.Line("if (order != %s) __builtin_memcpy(%s, order, %d * sizeof *order);", array, array, s.First)
	n.Close()
}

// collect writes what adds places to the best, in their order, until there is no room for more.
func (g *stages) collect(s *scan.Selection, end int64) {
	g.n.Block(`const int64_t %[1]s = order[%[2]d];
held = %[3]d;
while (next < %[4]d && held < %[5]d) {
  const int64_t stop = %[4]d - next < %[6]d ? %[4]d : next + %[6]d;
  if (stop - next == %[6]d) {
    int any = 0;
    for (int64_t z = 0; z < %[6]d; z++) {
      const int64_t %[7]s = next + z;
      any |= %[8]s;
    }
    if (!any) {
      next = stop;
      continue;
    }
  }
  for (; next < stop && held < %[5]d; next++) {
    const int64_t %[7]s = next;
    if (%[8]s) order[held++] = next;
  }
}
`, Variable(s.Rank.Loop), s.First-1, s.First, end, room(s), selectBlock, Variable(s.Rank.Reduce.Over[0]), cnest.Bare(g.n.w.Expr(s.Rank.Value, g.n)))
}

// mergeSort writes a merge sort of the places in order, by way of merged; cells of which none comes before the other keep theirs.
// Runs are merged from both ends as far as both reach: neither end waits for the other.
func (g *stages) mergeSort(f *scan.Form, count string) {
	g.n.Block(`for (int64_t width = 1; width < %[1]s; width *= 2) {
  for (int64_t low = 0; low < %[1]s; low += 2 * width) {
    const int64_t middle = low + width < %[1]s ? low + width : %[1]s, high = middle + width < %[1]s ? middle + width : %[1]s;
    int64_t left = low, right = middle, left_end = middle, right_end = high, z = low, end = high;
    if (width >= %[2]d && middle < high) {
      {
        const int64_t left_place = order[middle - 1], right_place = order[middle];
        const int64_t %[3]s = left_place, %[4]s = right_place;
        const int swap = %[5]s;
        if (!swap) {
          __builtin_memcpy(merged + low, order + low, (size_t)(high - low) * sizeof *order);
          continue;
        }
      }
    }
    for (int64_t both = high - middle; both > 0; both--) {
      {
        const int64_t left_place = order[left], right_place = order[right];
        const int64_t %[3]s = left_place, %[4]s = right_place;
        const int swap = %[5]s;
        merged[z++] = left_place ^ ((left_place ^ right_place) & -(int64_t)swap);
        right += swap, left += 1 - swap;
      }
      {
        const int64_t left_place = order[left_end - 1], right_place = order[right_end - 1];
        const int64_t %[3]s = left_place, %[4]s = right_place;
        const int swap = %[5]s;
        merged[--end] = right_place ^ ((left_place ^ right_place) & -(int64_t)swap);
        left_end -= swap, right_end -= 1 - swap;
      }
    }
    while (left < left_end && right < right_end) {
      {
        const int64_t left_place = order[left], right_place = order[right];
        const int64_t %[3]s = left_place, %[4]s = right_place;
        const int swap = %[5]s;
        merged[z++] = left_place ^ ((left_place ^ right_place) & -(int64_t)swap);
        right += swap, left += 1 - swap;
      }
    }
    while (left < left_end) merged[z++] = order[left++];
    while (right < right_end) merged[z++] = order[right++];
  }
  int64_t *other = order;
  order = merged, merged = other;
}
`, count, orderedRun, Variable(f.Loop), Variable(f.Reduce.Over[0]), cnest.Bare(g.n.w.Expr(f.Value, g.n)))
}

package rows

import (
	"fmt"
	"maps"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// region writes the region of all tasks, which take some nanoseconds.
func region(r *Kernel, nanoseconds float64) {
	threads := slices.ContainsFunc(r.k.Loops, func(l schedule.Loop) bool { return l.Levels[0].Bind == schedule.Thread })
	unit.Region(r.Text, threads, fmt.Sprint(tasks(r)), unit.Each(nanoseconds, tasks(r)), fmt.Sprintf("%s_task", r.name), "(void *)b")
}

// tasks is how many tasks there are.
func tasks(r *Kernel) int64 {
	tasks := r.tiles()
	for i := range r.Outer {
		tasks *= r.steps(i)
	}
	return tasks
}

// tile is how many lanes of a row a task has: all if lanes are reduced.
func (r *Kernel) tile() int64 {
	if levels := r.k.Loops[r.lane.Inner()].Levels; r.r.Free && len(levels) > 1 {
		return min(r.lane.Extent, isa.Align(levels[0].Tile, int64(r.p.N)))
	}
	return r.lane.Extent
}

// tiles is how many of these a row is cut into.
func (r *Kernel) tiles() int64 { return (r.lane.Extent + r.tile() - 1) / r.tile() }

// steps is how many cells, or groups of cells that are computed together, an outer axis has.
func (r *Kernel) steps(axis int) int64 {
	n := together(r, axis)
	return (r.Outer[axis].Extent + n - 1) / n
}

// together is how many cells along an outer axis are computed together: those of a span or a jam.
func together(r *Kernel, axis int) int64 {
	switch jam := r.decided.jam; {
	case r.span != nil && axis == len(r.Outer)-1:
		return r.span.cells
	case jam != nil && axis == jam.axis:
		return jam.cells
	}
	return 1
}

// partsOf gives the parts of a row, each of which code of its own is for.
func partsOf(r *nest.Rows) []point.Lanes {
	var out []point.Lanes
	from := int64(0)
	for _, to := range append(slices.Clone(r.Splits), r.Lane.Extent) {
		out = append(out, point.Lanes{From: from, To: to})
		from = to
	}
	return out
}

// function opens a function of a cell.
func (r *Kernel) function(result, name, parameters string) {
	r.Open("\nTAPC_FN %s %s_%s(void *const *b%s%s) {", result, r.name, name, point.Coordinates(r.Outer, "int64_t "), parameters)
}

// Cell writes the function of one cell.
func (r *Kernel) Cell(name string) {
	parameters := parametersOf(r)
	if r.span != nil {
		r.span.functions(parameters)
		return
	}
	r.function("void", name, parameters)
	r.declare(true)
	for _, i := range slices.Sorted(maps.Keys(r.kept)) {
		r.Line("%s kept%d[%d] __attribute__((aligned(64)));", r.e.W.Type(r.k.Statements[i].Value.Type), i, r.keptValues())
	}
	statements(r)
	r.Close()
}

// statements writes what a cell computes, or all those that are jammed: their reduction, and then each by itself what goes on with it.
func statements(r *Kernel) {
	jam := r.decided.jam
	var reduce *scalar.Expr
	var sums []vector.Value
	if jam != nil {
		reduce = onlyReduction(r)
		sums = r.reduce(reduce)
	}
	jam.each(r, func(cell int64) {
		if jam != nil {
			r.p.Sums[reduce] = sums[cell]
		}
		for i, s := range r.k.Statements {
			r.statement(i, s)
		}
	})
	delete(r.p.Sums, reduce)
}

// parametersOf lists those of a cell beside its coordinates.
func parametersOf(r *Kernel) string {
	parameters := ""
	if r.r.Free {
		parameters = ", int64_t j, int n"
		if r.interior.guarded || r.span != nil {
			parameters += ", int inside"
			r.p.Inside = "inside"
		}
	}
	return parameters + r.ahead(func(i int) string { return fmt.Sprintf("const %s *", r.e.W.Stored(r.k.Operands[i].Type())) })
}

// declare declares what the code of a cell names; whether results are written or not.
func (r *Kernel) declare(results bool) {
	used := slices.DeleteFunc(r.used(), func(i int) bool { return r.p.Ahead[i] != "" || !results && r.k.Operands[i].Mode == schedule.Write })
	point.Pointers(r.Text, r.e, r.k, used)
	for i, o := range r.k.Operands {
		if results && o.Mode == schedule.Write && r.streams(i) {
			r.Line("const int aligned%d = ((uintptr_t)p%d & %d) == 0;", i, i, r.p.N*o.Type().Size()-1)
			r.Line("(void)aligned%d;", i)
		}
	}
	if r.span != nil || r.p.Part != nil { // which may need a part of it
		for _, i := range used {
			r.Line("(void)p%d;", i)
		}
		for _, i := range slices.Sorted(maps.Keys(r.p.Ahead)) {
			r.Line("(void)ahead%d;", i)
		}
	}
	for _, a := range r.Outer {
		r.Line("(void)%s;", a.Variable)
	}
	if r.r.Free {
		r.Line("(void)j, (void)n;")
	}
	if r.p.Inside != "" {
		r.Line("(void)inside;")
	}
}

// readAhead writes the reading of what is hoisted, and gives the arguments of a cell.
func (r *Kernel) readAhead() string {
	for _, i := range slices.Sorted(maps.Keys(r.p.Ahead)) {
		o, along := r.k.Operands[i], point.Follows(r.reduced, r.r.Views[i])
		point.Pointers(r.Text, r.e, r.k, []int{i})
		r.Line("%s ahead%d[%d];", r.e.W.Stored(o.Type()), i, point.Count(along))
		for _, a := range along {
			r.Open("for (int64_t %s = 0; %s < %d; %s++) {", a.Variable, a.Variable, a.Extent, a.Variable)
		}
		r.Line("%s = p%d[%s];", r.p.Ahead[i], i, point.OffsetText(point.Start(r.k, r.r.Views[i]), append(slices.Clone(r.Outer), along...), r.r.Views[i]))
		r.Close(len(along))
	}
	return r.ahead(func(int) string { return "" })
}

// task writes what a thread does: some cells, or tiles of them.
func (r *Kernel) task() {
	unit.Task(r.Text, "", fmt.Sprintf("%s_task", r.name), "")
	r.Open("for (int64_t place = begin; place < end; place++) {")
	cut := coordinates(r, "place")
	at := point.Coordinates(r.Outer, "")
	switch {
	case len(r.r.Splits) > 0 && r.r.Free:
		r.splits(cut)
	case r.span != nil:
		r.span.calls(cut)
	case r.r.Free:
		ahead := r.readAhead()
		r.vectors(cut, func(j, live, inside string) string {
			if inside = ", " + inside; !r.interior.guarded {
				inside = ""
			}
			return r.decided.jam.call(r, "cell", fmt.Sprintf("b%s, %s, %s%s%s", at, j, live, inside, ahead))
		})
	default:
		r.Line("%s", r.decided.jam.call(r, "cell", "b"+at))
	}
	r.Close()
	if r.streamed {
		r.Line("tapc_fence();")
	}
	r.Close()
}

// coordinates writes which cells a task has, whose number is in a variable, and says whether that is a tile of a row.
func coordinates(r *Kernel, index string) (cut bool) {
	rest := index
	cut = r.tiles() > 1
	if cut && len(r.Outer) > 0 {
		r.Line("const int64_t j0 = %s %% %d * %d;", index, r.tiles(), r.tile())
		rest = fmt.Sprintf("%s / %d", index, r.tiles())
	} else if cut {
		r.Line("const int64_t j0 = %s * %d;", index, r.tile())
	}
	for i, a := range slices.Backward(r.Outer) {
		step := ""
		if n := together(r, i); n > 1 {
			step = fmt.Sprintf(" * %d", n)
		}
		if i == 0 {
			r.Line("const int64_t %s = %s%s;", a.Variable, rest, step)
			break
		}
		r.Line("const int64_t rest%d = %s, %s = rest%d %% %d%s;", i, rest, a.Variable, i, r.steps(i), step)
		rest = fmt.Sprintf("rest%d / %d", i, r.steps(i))
	}
	return cut
}

// splits writes the loops over the vectors of each part of a row, as far as they are in a tile.
func (r *Kernel) splits(cut bool) {
	inside, at, n := "", point.Coordinates(r.Outer, ""), r.p.N
	if r.interior.guarded {
		inside = ", " + point.AtBorder
	}
	for i, x := range partsOf(r.r) {
		from, to := fmt.Sprint(x.From), fmt.Sprint(x.To)
		r.Open("{")
		if cut {
			r.Line("const int64_t from = j0 > %s ? j0 : %s, to = j0 + %d < %s ? j0 + %d : %s;", from, from, r.tile(), to, r.tile(), to)
			from, to = "from", "to"
		}
		r.Line("int64_t j = %s;", from)
		r.Line("for (; j + %d <= %s; j += %d) %s_cell%d(b%s, j, %d%s);", n, to, n, r.name, i, at, n, inside)
		if cut || (x.To-x.From)%int64(n) != 0 {
			r.Line("if (j < %s) %s_cell%d(b%s, j, (int)(%s - j)%s);", to, r.name, i, at, to, inside)
		}
		r.Close()
	}
}

// vectors writes the loop over the vectors of a tile, the last of which may have fewer live lanes. call gives the statement for the
// vector at j with some live lanes, at a border or in the interior.
func (r *Kernel) vectors(cut bool, call func(j, live, inside string) string) {
	n, extent := int64(r.p.N), r.lane.Extent
	whole, live := extent/n*n, extent%n
	from, to, last := "0", fmt.Sprint(whole), ""
	if cut {
		r.Line("const int64_t j1 = j0 + %d < %d ? j0 + %d : %d;", r.tile(), whole, r.tile(), whole)
		from, to, last = "j0", "j1", fmt.Sprintf("if (j0 + %d >= %d) ", r.tile(), extent)
	}
	if whole > 0 {
		r.Open("for (int64_t j = %s; j < %s; j += %d) {", from, to, n)
		border, or := call("j", fmt.Sprint(n), point.AtBorder), ""
		if b := r.interior; b.guarded && b.to-b.from >= n {
			r.Line("if (j >= %d && j <= %d) %s", b.from, b.to-n, call("j", fmt.Sprint(n), point.LanesInside))
			or = "else "
		}
		r.Line("%s%s", or, border)
		r.Close()
	}
	if live > 0 {
		r.Line("%s%s", last, call(fmt.Sprint(whole), fmt.Sprint(live), point.AtBorder))
	}
}

package cpu

import (
	"fmt"
	"maps"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// rows writes a kernel whose vectors follow one dimension; see nest.Rows.
//
// The function cell carries out the statements at one place of the free dimensions: on a vector of them if the lanes are free, on
// all of a row if they are folded. Then every fold is one sweep along the row and every result that has one value for each
// element is another, over a row that stays in a cache. What several sweeps need and costs much is kept for the row.
type rows struct {
	*cnest.Text
	e      *unit
	k      *schedule.Kernel
	r      *nest.Rows
	number int
	p      *point

	streamed bool // some results go past the caches
	inside   band
	span     span
	rowAxes
	rowPieces
	progress
}

// rowAxes are the dimensions of a kernel of rows.
type rowAxes struct {
	outer []axis
	lane  axis
	fold  []axis
}

// rowPieces are what the lanes of a row are cut into.
type rowPieces struct {
	n      int   // lanes of a vector
	piece  int64 // lanes that are computed together
	thread bool  // pieces go to threads
}

// progress is how far the code of a row is written.
type progress struct {
	kept   map[int]bool // statements whose values are kept for the row
	done   map[int]bool // those that are computed already
	sweeps int          // along a row
	swept  int          // of them so far
}

// band is the lanes that stand inside all borders that guard loads, whatever the folded loops are; guarded says whether there are
// such loads.
type band struct {
	from, to int64
	guarded  bool
}

// maxKept bounds the bytes that a row keeps, which are on the stack.
const maxKept = 128 << 10

// newRows prepares a kernel; nil if there are no vectors for what it computes.
func newRows(e *unit, number int, k *schedule.Kernel, found *nest.Rows) *rows {
	for _, s := range k.Statements {
		if !vector.CanVectorize(s.Value) {
			return nil
		}
	}
	r := rowsOf(e, number, k, found)
	r.span = r.findSpan()
	return r
}

// rowsOf prepares a kernel that is recognised.
func rowsOf(e *unit, number int, k *schedule.Kernel, found *nest.Rows) *rows {
	r := &rows{Text: new(cnest.Text), e: e, k: k, r: found, number: number, rowPieces: rowPieces{piece: found.Lane.Extent},
		rowAxes: rowAxes{lane: axis{found.Lane, "j"}}, progress: progress{kept: map[int]bool{}, done: map[int]bool{}}}
	for i, d := range found.Outer {
		r.outer = append(r.outer, axis{d, fmt.Sprintf("g%d", i)})
	}
	for i, d := range found.Reduction {
		r.fold = append(r.fold, axis{d, fmt.Sprintf("f%d", i)})
	}
	r.n = r.whole(e.target.Lanes(r.widest()))
	if levels := k.Loops[found.Lane.Inner()].Levels; found.Free && len(levels) > 1 {
		r.piece = min(r.piece, isa.Align(levels[0].Tile, int64(r.n)))
	}
	for _, l := range k.Loops {
		r.thread = r.thread || l.Levels[0].Bind == schedule.Thread
	}
	r.chooseKept()
	if r.r.Free {
		r.inside = r.findBand()
	}
	r.prepare()
	return r
}

// whole gives how many lanes a vector has, n or fewer. Where processors read and write some lanes of a vector, that is the least that
// makes rows no more vectors. Elsewhere a fold of few free lanes, as that of a window has whose channels are innermost, takes narrower
// vectors if these are all full, and so do all rows shorter than a vector: the last vector of a row goes through memory there, or looks
// at each of its lanes, in every step of the fold, and takes longer than all others together.
func (r *rows) whole(n int) int {
	if !r.r.Free || len(r.fold) == 0 && r.lane.Extent >= int64(n) {
		return n
	}
	least, some := n, r.someLanes(n)
	for m := n; m*r.widest() >= vector.LeastBytes; m /= 2 {
		switch {
		case some && (r.lane.Extent+int64(m)-1)/int64(m) == (r.lane.Extent+int64(n)-1)/int64(n):
			least = m
		case !some && r.lane.Extent%int64(m) == 0:
			return m
		}
	}
	return least
}

// someLanes says whether processors with vectors of n lanes can read and write some of them.
func (r *rows) someLanes(n int) bool {
	d := map[int]scalar.DType{4: scalar.Float32, 8: scalar.Float64}[r.widest()]
	return r.e.v.Of(d, n).Masked("%s") != "" && !slices.ContainsFunc(r.k.Operands, func(o schedule.Operand) bool {
		return o.Mode == schedule.Write && r.e.buffers[o.Buffer].Type() != d
	})
}

// findBand finds the lanes inside the borders of guarded loads, in which the guards need not be looked at.
func (r *rows) findBand() band {
	b, lane := band{to: r.lane.Extent}, r.lane.Inner()
	visit := func(e *scalar.Expr) bool {
		sums, ok := nest.Guards(e)
		if !ok || e.Type == scalar.Bool || !usesAny(r.lane.Loops, e.Args[0]) {
			return true
		}
		b.guarded = true
		for _, a := range sums {
			f, least := a.Factor(lane), a.Constant // of the sum, at the first lane
			if f == 0 {
				continue
			}
			for l, g := range a.Factors {
				x := r.k.Loops[l]
				least += min(g*x.Start, g*(x.End-1))
				if l == lane {
					least += g*x.Start - min(g*x.Start, g*(x.End-1))
				}
			}
			switch {
			case f > 0 && least < 0:
				b.from = max(b.from, (-least+f-1)/f)
			case f < 0:
				b.to = min(b.to, least/-f+1)
			}
			if f < 0 && least < 0 {
				b.to = 0
			}
		}
		return true
	}
	for _, s := range r.k.Statements {
		s.Value.Walk(visit)
	}
	return b
}

// widest is the size of the widest type that is computed with in lanes.
func (r *rows) widest() int {
	size := 1
	follows := make([]bool, len(r.k.Statements)) // the lanes
	for i, s := range r.k.Statements {
		var visit func(e *scalar.Expr) bool
		visit = func(e *scalar.Expr) bool {
			with := false
			switch e.Op {
			case scalar.Load:
				with = r.lane.Step(r.r.Views[e.Ref]) != 0
			case scalar.Loop:
				with = slices.Contains(r.lane.Loops, e.Ref)
			case scalar.Local:
				with = follows[e.Ref]
			}
			for i, a := range e.Args {
				if i > 0 || !nest.Guarded(e) { // guards are computed lane by lane
					with = visit(a) || with
				}
			}
			if with && e.Type != scalar.Bool {
				size = max(size, e.Type.Size())
			}
			return with && (r.r.Free || e.Op != scalar.Reduce || e.IsAt())
		}
		follows[i] = visit(s.Value)
	}
	return size
}

// wide says whether a statement has a value for every element of a row.
func (r *rows) wide(i int) bool {
	return slices.ContainsFunc(r.k.Statements[i].Over, func(l int64) bool { return r.folded(int(l)) })
}

func (r *rows) folded(loop int) bool {
	in := func(a axis) bool { return slices.Contains(a.Loops, loop) }
	return slices.ContainsFunc(r.fold, in) || !r.r.Free && in(r.lane)
}

// chooseKept keeps values of a row that call a function and that more than one sweep needs.
func (r *rows) chooseKept() {
	uses := map[int]int{}
	for i, s := range r.k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Reduce && !e.IsAt() {
				r.sweeps++
				for _, x := range r.needs(e) {
					uses[x]++
				}
			}
			return e.Op != scalar.Reduce || e.IsAt()
		})
		if s.Store >= 0 && r.wide(i) {
			r.sweeps++
			for _, x := range r.needs(s.Value) {
				uses[x]++
			}
		}
	}
	bytes := int64(0)
	for i, s := range r.k.Statements {
		size := r.keptValues() * int64(s.Value.Type.Size())
		if uses[i] < 2 || s.Value.Type == scalar.Bool || !r.costly(s.Value) || r.keptValues() > maxKept || bytes+size > maxKept {
			continue
		}
		bytes += size
		r.kept[i] = true
	}
}

// keptValues is how many values a row has, and room for whole vectors.
func (r *rows) keptValues() int64 {
	n := int64(r.n)
	if !r.r.Free {
		n = isa.Align(r.lane.Extent, int64(r.n))
	}
	for _, a := range r.fold {
		n = min(n, 1<<40/a.Extent) * a.Extent
	}
	return n
}

func (r *rows) costly(e *scalar.Expr) bool {
	found := false
	e.Walk(func(e *scalar.Expr) bool {
		found = found || e.Op.Class() >= scalar.Root
		return !found
	})
	return found
}

// needs lists the wide local values that have to be computed or fetched for an expression, in order.
func (r *rows) needs(e *scalar.Expr) []int {
	found := map[int]bool{}
	var visit func(e *scalar.Expr)
	visit = func(e *scalar.Expr) {
		if e.Op == scalar.Local && r.wide(e.Ref) && !found[e.Ref] {
			found[e.Ref] = true
			if !r.kept[e.Ref] || !r.done[e.Ref] {
				visit(r.k.Statements[e.Ref].Value)
			}
		}
		if (e.Op == scalar.IsNaN || e.Op == scalar.IsInf) && !e.Args[0].Type.IsFloat() {
			return // false whatever the value is
		}
		for _, a := range e.Args {
			visit(a)
		}
	}
	visit(e)
	var out []int
	for i := range r.k.Statements {
		if found[i] {
			out = append(out, i)
		}
	}
	return out
}

// write writes the whole kernel.
func (r *rows) write() string {
	if parts := r.parts(); len(parts) > 1 {
		for i := range parts {
			r.p.part = &parts[i]
			r.cell(fmt.Sprintf("cell%d", i))
		}
	} else {
		r.cell("cell")
	}
	r.task()
	r.e.open(r.Text, r.number)
	if n := r.places(); r.thread {
		r.Line("tapc_parallel(pool, %d, %s, k%d_task, (void *)b);", n, each(r.e.nanoseconds(r.k, vectorRate*float64(r.n)), n), r.number)
	} else {
		r.Line("k%d_task((void *)b, 0, %d, 0);", r.number, n)
	}
	r.Close()
	return r.String()
}

// pieces is how many pieces a row of free lanes is cut into.
func (r *rows) pieces() int64 { return (r.lane.Extent + r.piece - 1) / r.piece }

// places is how many pieces there are in all.
func (r *rows) places() int64 {
	n := int64(1)
	for i := range r.outer {
		n *= r.placesOf(i)
	}
	if r.r.Free {
		n *= r.pieces()
	}
	return n
}

// placesOf is how many places, or spans of them, an outer axis has.
func (r *rows) placesOf(axis int) int64 {
	n := r.outer[axis].Extent
	if r.span.places > 0 && axis == len(r.outer)-1 {
		n = (n + r.span.places - 1) / r.span.places
	}
	return n
}

// coordinates lists the outer variables as parameters or arguments.
func (r *rows) coordinates(prefix string) string {
	text := ""
	for _, a := range r.outer {
		text += ", " + prefix + a.variable
	}
	return text
}

// prepare sets the place that code is written for, and finds what is read before it.
func (r *rows) prepare() {
	r.p = &point{v: r.e.v, k: r.k, views: r.r.Views, n: r.n, along: -1, locals: map[int]vector.Value{}, sums: map[*scalar.Expr]vector.Value{}}
	r.p.axes = slices.Clone(r.outer)
	if r.r.Free {
		r.p.axes = append(r.p.axes, r.lane)
		r.p.along, r.p.count = len(r.outer), "n"
	}
	r.findAhead()
}

// parts gives the parts of a row, each of which code of its own is for.
func (r *rows) parts() []lanes {
	var out []lanes
	from := int64(0)
	for _, to := range append(slices.Clone(r.r.Splits), r.lane.Extent) {
		out = append(out, lanes{from, to})
		from = to
	}
	return out
}

// cell writes the function of one place.
func (r *rows) cell(name string) {
	params := ""
	if r.r.Free {
		params = ", int64_t j, int n"
		if r.inside.guarded || r.span.places > 0 {
			params += ", int inside"
			r.p.inside = "inside"
		}
	}
	for _, i := range slices.Sorted(maps.Keys(r.p.ahead)) {
		params += fmt.Sprintf(", const %s *ahead%d", r.e.w.Stored(r.k.Operands[i].Type()), i)
	}
	if r.span.places > 0 {
		r.spanCells(params)
		return
	}
	r.Line("")
	r.Open("TAPC_FN void k%d_%s(void *const *b%s%s) {", r.number, name, r.coordinates("int64_t "), params)
	r.declare(true)
	for i := range r.k.Statements {
		if r.kept[i] {
			r.Line("%s kept%d[%d] __attribute__((aligned(64)));", r.e.w.Type(r.k.Statements[i].Value.Type), i, r.keptValues())
		}
	}
	for i, s := range r.k.Statements {
		r.statement(i, s)
	}
	r.Close()
}

// declare declares what the code of a place names; whether results are written or not.
func (r *rows) declare(results bool) {
	used := slices.DeleteFunc(r.used(), func(i int) bool { return r.p.ahead[i] != "" || !results && r.k.Operands[i].Mode == schedule.Write })
	pointers(r.Text, r.e, r.k, used)
	for i, o := range r.k.Operands {
		if results && o.Mode == schedule.Write && r.streams(i) {
			r.Line("const int aligned%d = ((uintptr_t)p%d & %d) == 0;", i, i, r.n*o.Type().Size()-1)
			r.Line("(void)aligned%d;", i)
		}
	}
	if r.span.places > 0 || r.p.part != nil { // which may need a part of it
		for _, i := range used {
			r.Line("(void)p%d;", i)
		}
		for _, i := range slices.Sorted(maps.Keys(r.p.ahead)) {
			r.Line("(void)ahead%d;", i)
		}
	}
	for _, a := range r.outer {
		r.Line("(void)%s;", a.variable)
	}
	if r.r.Free {
		r.Line("(void)j, (void)n;")
	}
	if r.p.inside != "" {
		r.Line("(void)inside;")
	}
}

// findAhead finds the operands of which all vectors of a row read the same few elements, as convolutions read filters: they are read
// before, and a cell has parameters for them.
func (r *rows) findAhead() {
	r.p.ahead = map[int]string{}
	if !r.r.Free || len(r.fold) == 0 || !small(r.fold) {
		return
	}
	for _, i := range r.used() {
		o, v := r.k.Operands[i], r.r.Views[i]
		if o.Mode != schedule.Read || o.Type() == scalar.Bool || r.lane.Step(v) != 0 || r.placed(i) || !vector.Vectorizable(o.Type()) ||
			len(along(r.fold, v)) == 0 || !nest.Inside(r.k, r.e.buffers, i) {
			continue
		}
		at := "0"
		for _, a := range along(r.fold, v) {
			at = fmt.Sprintf("(%s) * %d + %s", at, a.Extent, a.variable)
		}
		r.p.ahead[i] = fmt.Sprintf("ahead%d[%s]", i, at)
	}
}

// placed says whether an operand is read at computed places.
func (r *rows) placed(operand int) bool {
	found := false
	for _, s := range r.k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			found = found || e.IsAt() && r.r.Views[operand].Steps[e.Over[0]] != 0
			return !found
		})
	}
	return found
}

// along gives the axes that a view moves along.
func along(axes []axis, v nest.View) []axis {
	return slices.DeleteFunc(slices.Clone(axes), func(a axis) bool { return a.Step(v) == 0 })
}

// fetchAhead writes the reading of what findAhead found, and gives the arguments of a cell.
func (r *rows) fetchAhead() string {
	args := ""
	for i := range r.k.Operands {
		if _, ok := r.p.ahead[i]; !ok {
			continue
		}
		o, n, fold := r.k.Operands[i], int64(1), along(r.fold, r.r.Views[i])
		for _, a := range fold {
			n *= a.Extent
		}
		pointers(r.Text, r.e, r.k, []int{i})
		r.Line("%s ahead%d[%d];", r.e.w.Stored(o.Type()), i, n)
		at := "0"
		for _, a := range fold {
			r.Open("for (int64_t %s = 0; %s < %d; %s++) {", a.variable, a.variable, a.Extent, a.variable)
			at = fmt.Sprintf("(%s) * %d + %s", at, a.Extent, a.variable)
		}
		r.Line("ahead%d[%s] = p%d[%s];", i, at, i, offsetText(start(r.k, r.r.Views[i]), append(slices.Clone(r.outer), fold...), r.r.Views[i]))
		for range fold {
			r.Close()
		}
		args += fmt.Sprintf(", ahead%d", i)
	}
	return args
}

// used lists the operands that the code of the statements names.
func (r *rows) used() []int {
	var out []int
	for i, o := range r.k.Operands {
		named := o.Mode == schedule.Write
		for _, s := range r.k.Statements {
			s.Value.Walk(func(e *scalar.Expr) bool {
				named = named || e.Op == scalar.Load && e.Ref == i
				return !((e.Op == scalar.IsNaN || e.Op == scalar.IsInf) && !e.Args[0].Type.IsFloat())
			})
		}
		if named {
			out = append(out, i)
		}
	}
	return out
}

// statement writes a statement at a place: its folds, and then its value, or the sweep that stores its values.
func (r *rows) statement(i int, s schedule.Statement) {
	if r.wide(i) {
		if s.Store >= 0 {
			r.Line("// %s = %s", s.Name, cnest.Clip(s.Value.Format(r.k)))
			w := &sweep{rows: r, store: i}
			w.write(s.Value, r.overOf(i))
		}
		return
	}
	s.Value.Walk(func(e *scalar.Expr) bool {
		if e.Op == scalar.Reduce && !e.IsAt() && r.p.sums[e].Text == "" {
			r.foldOf(e)
		}
		return e.Op != scalar.Reduce || e.IsAt()
	})
	if s.Store < 0 {
		r.p.statements(r.Text, []int{i})
		return
	}
	r.Line("// %s = %s", s.Name, cnest.Clip(s.Value.Format(r.k)))
	r.Line("%s;", r.storeAt(int(s.Store), r.p.v.Expr(s.Value, r.n, r.p)))
}

// foldOf writes a fold at a place, and notes where its value is.
func (r *rows) foldOf(e *scalar.Expr) {
	r.Line("// %s", cnest.Clip(e.Format(r.k)))
	w := &sweep{rows: r, store: -1, reduce: e, name: fmt.Sprintf("a%d", len(r.p.sums))}
	w.write(e.Args[0], r.overLoops(e.Over))
}

// overOf gives the axes that a wide statement runs along beside the free ones, and overLoops those of some loops.
func (r *rows) overOf(i int) []axis {
	over := make([]int, len(r.k.Statements[i].Over))
	for x, l := range r.k.Statements[i].Over {
		over[x] = int(l)
	}
	return r.overLoops(over)
}

func (r *rows) overLoops(over []int) []axis {
	var out []axis
	list := r.fold
	if !r.r.Free {
		list = append(slices.Clone(r.fold), r.lane)
	}
	for _, a := range list {
		if slices.Contains(over, a.Inner()) {
			out = append(out, a)
		}
	}
	return out
}

// streamBytes is the size from which results go past the caches: nothing of them would be left there for whoever reads them.
const streamBytes = 32 << 20

// streams says whether the values of an operand are written past the caches: whole vectors to the end, at addresses of which
// the first decides whether all are multiples of a vector. Rows of several sweeps are not: all of their writing would have to be
// done in the last, where lines that were asked for in the one before it take what is written at once.
func (r *rows) streams(operand int) bool {
	o, v := r.k.Operands[operand], r.r.Views[operand]
	vector := int64(r.n)
	if !r.r.Free && r.sweeps > 1 || r.e.buffers[o.Buffer].Bytes < streamBytes || r.lane.Step(v) != 1 || start(r.k, v)%vector != 0 || r.n*o.Type().Size() < 16 {
		return false
	}
	for _, a := range append(slices.Clone(r.outer), r.fold...) {
		if a.Step(v)%vector != 0 {
			return false
		}
	}
	return !slices.ContainsFunc(r.r.Splits, func(at int64) bool { return at%vector != 0 })
}

// storeAt writes a vector of results.
func (r *rows) storeAt(operand int, x vector.Value) string {
	plain := r.p.store(operand, x)
	if !r.streams(operand) || r.p.along < 0 || x.Type == scalar.Bool || r.p.count != "n" && r.p.count != fmt.Sprint(r.n) {
		return plain
	}
	r.streamed = true
	whole := fmt.Sprintf("aligned%d", operand)
	if r.p.count == "n" {
		whole = fmt.Sprintf("n == %d && %s", r.n, whole)
	}
	at := fmt.Sprintf("p%d + %s", operand, r.p.offset(r.p.views[operand]))
	return fmt.Sprintf("if (%s) %s; else %s", whole, r.e.v.Of(x.Type, r.n).Stream(at, r.e.v.Splat(x, r.n).Text), plain)
}

// Package rows writes kernels whose results are rows of vectors: elementwise ones, reductions along a row or beside it, windows. It must not import
// backends/cpu. Read next: rows.go, sweep.go, span.go.
package rows

import (
	"fmt"
	"maps"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// Kernel writes a kernel whose vectors follow one dimension; see nest.Rows.
//
// The function cell carries out the statements at one place of the free dimensions: on a vector of them if the lanes are free, on
// all of a row if they are folded. Then every fold is one sweep along the row and every result that has one value for each
// element is another, over a row that stays in a cache. What several sweeps need and costs much is kept for the row.
type Kernel struct {
	*cnest.Text
	e    *unit.Unit
	k    *schedule.Kernel
	r    *nest.Rows
	name string
	p    *point.Point

	streamed bool // some results go past the caches
	inside   band
	span     span
	rowAxes
	rowPieces
	progress
}

// rowAxes are the dimensions of a kernel of rows.
type rowAxes struct {
	Outer []point.Axis
	lane  point.Axis
	fold  []point.Axis
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

// Fits says whether there are vectors for what a kernel computes.
func Fits(k *schedule.Kernel) bool {
	return !slices.ContainsFunc(k.Statements, func(s schedule.Statement) bool { return !vector.CanVectorize(s.Value) })
}

// New prepares a kernel; nil if there are no vectors for what it computes.
func New(e *unit.Unit, name string, k *schedule.Kernel, found *nest.Rows) *Kernel {
	if !Fits(k) {
		return nil
	}
	r := Of(e, name, k, found)
	r.span = r.findSpan()
	return r
}

// Of prepares a kernel that is recognised.
func Of(e *unit.Unit, name string, k *schedule.Kernel, found *nest.Rows) *Kernel {
	r := &Kernel{Text: new(cnest.Text), e: e, k: k, r: found, name: name, rowPieces: rowPieces{piece: found.Lane.Extent},
		rowAxes: rowAxes{lane: point.Axis{Dim: found.Lane, Variable: "j"}}, progress: progress{kept: map[int]bool{}, done: map[int]bool{}}}
	for i, d := range found.Outer {
		r.Outer = append(r.Outer, point.Axis{Dim: d, Variable: fmt.Sprintf("g%d", i)})
	}
	for i, d := range found.Reduction {
		r.fold = append(r.fold, point.Axis{Dim: d, Variable: fmt.Sprintf("f%d", i)})
	}
	r.n = r.whole(e.Target.Lanes(r.widest()))
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
func (r *Kernel) whole(n int) int {
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
func (r *Kernel) someLanes(n int) bool {
	d := map[int]scalar.DType{4: scalar.Float32, 8: scalar.Float64}[r.widest()]
	return r.e.V.Of(d, n).Masked("%s") != "" && !slices.ContainsFunc(r.k.Operands, func(o schedule.Operand) bool {
		return o.Mode == schedule.Write && r.e.Buffers[o.Buffer].Type() != d
	})
}

// findBand finds the lanes inside the borders of guarded loads, in which the guards need not be looked at.
func (r *Kernel) findBand() band {
	b, lane := band{to: r.lane.Extent}, r.lane.Inner()
	visit := func(e *scalar.Expr) bool {
		sums, ok := nest.Guards(e)
		if !ok || e.Type == scalar.Bool || !point.UsesAny(r.lane.Loops, e.Args[0]) {
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
func (r *Kernel) widest() int {
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
func (r *Kernel) wide(i int) bool {
	return slices.ContainsFunc(r.k.Statements[i].Over, func(l int64) bool { return r.folded(int(l)) })
}

func (r *Kernel) folded(loop int) bool {
	in := func(a point.Axis) bool { return slices.Contains(a.Loops, loop) }
	return slices.ContainsFunc(r.fold, in) || !r.r.Free && in(r.lane)
}

// chooseKept keeps values of a row that call a function and that more than one sweep needs.
func (r *Kernel) chooseKept() {
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
func (r *Kernel) keptValues() int64 {
	n := int64(r.n)
	if !r.r.Free {
		n = isa.Align(r.lane.Extent, int64(r.n))
	}
	for _, a := range r.fold {
		n = min(n, 1<<40/a.Extent) * a.Extent
	}
	return n
}

func (r *Kernel) costly(e *scalar.Expr) bool {
	return e.Any(func(e *scalar.Expr) bool { return e.Op.Class() >= scalar.Root })
}

// needs lists the wide local values that have to be computed or fetched for an expression, in order.
func (r *Kernel) needs(e *scalar.Expr) []int {
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

// Write writes the whole kernel.
func (r *Kernel) Write() string {
	if parts := r.parts(); len(parts) > 1 {
		for i := range parts {
			r.p.Part = &parts[i]
			r.Cell(fmt.Sprintf("cell%d", i))
		}
	} else {
		r.Cell("cell")
	}
	r.task()
	r.e.Open(r.Text, r.name)
	unit.Region(r.Text, r.thread, fmt.Sprint(r.places()), unit.Each(r.e.Nanoseconds(r.k, unit.VectorRate*float64(r.n)), r.places()), fmt.Sprintf("%s_task", r.name), "(void *)b")
	r.Close()
	return r.String()
}

// pieces is how many pieces a row of free lanes is cut into.
func (r *Kernel) pieces() int64 { return (r.lane.Extent + r.piece - 1) / r.piece }

// places is how many pieces there are in all.
func (r *Kernel) places() int64 {
	n := int64(1)
	for i := range r.Outer {
		n *= r.placesOf(i)
	}
	if r.r.Free {
		n *= r.pieces()
	}
	return n
}

// placesOf is how many places, or spans of them, an outer axis has.
func (r *Kernel) placesOf(axis int) int64 {
	n := r.Outer[axis].Extent
	if r.span.places > 0 && axis == len(r.Outer)-1 {
		n = (n + r.span.places - 1) / r.span.places
	}
	return n
}

// prepare sets the place that code is written for, and finds what is read before it.
func (r *Kernel) prepare() {
	r.p = &point.Point{V: r.e.V, K: r.k, Views: r.r.Views, N: r.n, Along: -1, Locals: map[int]vector.Value{}, Sums: map[*scalar.Expr]vector.Value{}}
	r.p.Axes = slices.Clone(r.Outer)
	if r.r.Free {
		r.p.Axes = append(r.p.Axes, r.lane)
		r.p.Along, r.p.Count = len(r.Outer), "n"
	}
	r.findAhead()
}

// parts gives the parts of a row, each of which code of its own is for.
func (r *Kernel) parts() []point.Lanes {
	var out []point.Lanes
	from := int64(0)
	for _, to := range append(slices.Clone(r.r.Splits), r.lane.Extent) {
		out = append(out, point.Lanes{From: from, To: to})
		from = to
	}
	return out
}

// Cell writes the function of one place.
func (r *Kernel) Cell(name string) {
	params := ""
	if r.r.Free {
		params = ", int64_t j, int n"
		if r.inside.guarded || r.span.places > 0 {
			params += ", int inside"
			r.p.Inside = "inside"
		}
	}
	for _, i := range slices.Sorted(maps.Keys(r.p.Ahead)) {
		params += fmt.Sprintf(", const %s *ahead%d", r.e.W.Stored(r.k.Operands[i].Type()), i)
	}
	if r.span.places > 0 {
		r.spanCells(params)
		return
	}
	r.Open("\nTAPC_FN void %s_%s(void *const *b%s%s) {", r.name, name, point.Coordinates(r.Outer, "int64_t "), params)
	r.declare(true)
	for i := range r.k.Statements {
		if r.kept[i] {
			r.Line("%s kept%d[%d] __attribute__((aligned(64)));", r.e.W.Type(r.k.Statements[i].Value.Type), i, r.keptValues())
		}
	}
	for i, s := range r.k.Statements {
		r.statement(i, s)
	}
	r.Close()
}

// declare declares what the code of a place names; whether results are written or not.
func (r *Kernel) declare(results bool) {
	used := slices.DeleteFunc(r.used(), func(i int) bool { return r.p.Ahead[i] != "" || !results && r.k.Operands[i].Mode == schedule.Write })
	point.Pointers(r.Text, r.e, r.k, used)
	for i, o := range r.k.Operands {
		if results && o.Mode == schedule.Write && r.streams(i) {
			r.Line("const int aligned%d = ((uintptr_t)p%d & %d) == 0;", i, i, r.n*o.Type().Size()-1)
			r.Line("(void)aligned%d;", i)
		}
	}
	if r.span.places > 0 || r.p.Part != nil { // which may need a part of it
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

// findAhead finds the operands of which all vectors of a row read the same few elements, as convolutions read filters: they are read
// before, and a cell has parameters for them.
func (r *Kernel) findAhead() {
	r.p.Ahead = map[int]string{}
	if !r.r.Free || len(r.fold) == 0 || !small(r.fold) {
		return
	}
	for _, i := range r.used() {
		o, v := r.k.Operands[i], r.r.Views[i]
		if o.Mode != schedule.Read || o.Type() == scalar.Bool || r.lane.Step(v) != 0 || r.placed(i) || !vector.Vectorizable(o.Type()) ||
			len(point.Follows(r.fold, v)) == 0 || !nest.Inside(r.k, r.e.Buffers, i) {
			continue
		}
		at := "0"
		for _, a := range point.Follows(r.fold, v) {
			at = fmt.Sprintf("(%s) * %d + %s", at, a.Extent, a.Variable)
		}
		r.p.Ahead[i] = fmt.Sprintf("ahead%d[%s]", i, at)
	}
}

// placed says whether an operand is read at computed places.
func (r *Kernel) placed(operand int) bool {
	return slices.ContainsFunc(r.k.Statements, func(s schedule.Statement) bool {
		return s.Value.Any(func(e *scalar.Expr) bool { return e.IsAt() && r.r.Views[operand].Steps[e.Over[0]] != 0 })
	})
}

// fetchAhead writes the reading of what findAhead found, and gives the arguments of a cell.
func (r *Kernel) fetchAhead() string {
	args := ""
	for i := range r.k.Operands {
		if _, ok := r.p.Ahead[i]; !ok {
			continue
		}
		o, n, fold := r.k.Operands[i], int64(1), point.Follows(r.fold, r.r.Views[i])
		for _, a := range fold {
			n *= a.Extent
		}
		point.Pointers(r.Text, r.e, r.k, []int{i})
		r.Line("%s ahead%d[%d];", r.e.W.Stored(o.Type()), i, n)
		at := "0"
		for _, a := range fold {
			r.Open("for (int64_t %s = 0; %s < %d; %s++) {", a.Variable, a.Variable, a.Extent, a.Variable)
			at = fmt.Sprintf("(%s) * %d + %s", at, a.Extent, a.Variable)
		}
		r.Line("ahead%d[%s] = p%d[%s];", i, at, i, point.OffsetText(point.Start(r.k, r.r.Views[i]), append(slices.Clone(r.Outer), fold...), r.r.Views[i]))
		r.Close(len(fold))
		args += fmt.Sprintf(", ahead%d", i)
	}
	return args
}

// used lists the operands that the code of the statements names.
func (r *Kernel) used() []int {
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
func (r *Kernel) statement(i int, s schedule.Statement) {
	if r.wide(i) {
		if s.Store >= 0 {
			r.Line("// %s = %s", s.Name, cnest.Clip(s.Value.Format(r.k)))
			w := &sweep{Kernel: r, store: i}
			w.write(s.Value, r.overOf(i))
		}
		return
	}
	s.Value.Walk(func(e *scalar.Expr) bool {
		if e.Op == scalar.Reduce && !e.IsAt() && r.p.Sums[e].Text == "" {
			r.foldOf(e)
		}
		return e.Op != scalar.Reduce || e.IsAt()
	})
	if s.Store < 0 {
		r.p.Statements(r.Text, []int{i})
		return
	}
	r.Line("// %s = %s", s.Name, cnest.Clip(s.Value.Format(r.k)))
	r.Line("%s;", r.storeAt(int(s.Store), r.p.V.Expr(s.Value, r.n, r.p)))
}

// foldOf writes a fold at a place, and notes where its value is.
func (r *Kernel) foldOf(e *scalar.Expr) {
	r.Line("// %s", cnest.Clip(e.Format(r.k)))
	w := &sweep{Kernel: r, store: -1, reduce: e, name: fmt.Sprintf("a%d", len(r.p.Sums))}
	w.write(e.Args[0], r.overLoops(e.Over))
}

// overOf gives the axes that a wide statement runs along beside the free ones, and overLoops those of some loops.
func (r *Kernel) overOf(i int) []point.Axis {
	over := make([]int, len(r.k.Statements[i].Over))
	for x, l := range r.k.Statements[i].Over {
		over[x] = int(l)
	}
	return r.overLoops(over)
}

func (r *Kernel) overLoops(over []int) []point.Axis {
	var out []point.Axis
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
func (r *Kernel) streams(operand int) bool {
	o, v := r.k.Operands[operand], r.r.Views[operand]
	vector := int64(r.n)
	if !r.r.Free && r.sweeps > 1 || r.e.Buffers[o.Buffer].Bytes < streamBytes || r.lane.Step(v) != 1 || point.Start(r.k, v)%vector != 0 || r.n*o.Type().Size() < 16 {
		return false
	}
	for _, a := range append(slices.Clone(r.Outer), r.fold...) {
		if a.Step(v)%vector != 0 {
			return false
		}
	}
	return !slices.ContainsFunc(r.r.Splits, func(at int64) bool { return at%vector != 0 })
}

// storeAt writes a vector of results.
func (r *Kernel) storeAt(operand int, x vector.Value) string {
	plain := r.p.Store(operand, x)
	if !r.streams(operand) || r.p.Along < 0 || x.Type == scalar.Bool || r.p.Count != "n" && r.p.Count != fmt.Sprint(r.n) {
		return plain
	}
	r.streamed = true
	whole := fmt.Sprintf("aligned%d", operand)
	if r.p.Count == "n" {
		whole = fmt.Sprintf("n == %d && %s", r.n, whole)
	}
	at := fmt.Sprintf("p%d + %s", operand, r.p.Offset(r.p.Views[operand]))
	return fmt.Sprintf("if (%s) %s; else %s", whole, r.e.V.Of(x.Type, r.n).Stream(at, r.e.V.Splat(x, r.n).Text), plain)
}

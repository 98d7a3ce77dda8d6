// Package rows writes kernels whose results are rows of vectors: elementwise ones, reductions along a row or beside it, windows. It must not import
// backends/cpu. Read next: rows.go, sweep.go, span.go.
package rows

import (
	"fmt"
	"maps"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule/affine"

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
// The function cell carries out the statements at one index of the outer dimensions: on a vector of lanes if these are free, on all of a row if
// they are reduced. Then every reduction is one sweep along the row and every result that has a value for each element is another, over a row
// that stays in a cache. What several sweeps need and costs much is kept for the row.
type Kernel struct {
	*cnest.Text
	Outer    []point.Axis // the free dimensions beside that of the lanes
	e        *unit.Unit
	k        *schedule.Kernel
	r        *nest.Rows
	name     string
	p        *point.Point
	lane     point.Axis
	reduced  []point.Axis // the other dimensions that are reduced or stored along
	interior interior
	span     *span // nil if cells are computed one by one
	decided  Decided
	kept     map[int]int                // statements whose values are kept for the row, and the sweep that computes them
	sweeps   struct{ all, written int } // along a row
	streamed bool                       // some results go past the caches
}

// Decided is what a config says of rows beside the cuts of their loops.
type Decided struct {
	lanes  int64    // of a vector, 0 for as many as the target has
	lines  int64    // of a span
	jam    *jam     // lines that are jammed, or nil
	part   int64    // of the outermost dimension that is reduced, which a task has; 0 for all
	stream []string // results that go past the caches
}

// jam is some neighbouring cells along an outer axis whose reductions are carried out in the same loops (unroll and jam): what does not move
// along that axis, as weights that are unpacked for several rows, is computed once for all of them. Sums are what they would be one by one.
type jam struct {
	axis  int // of the outer ones
	cells int64
}

// interior is the lanes at which all guards of loads hold, at any index of the reduced loops; guarded says whether there are such loads.
type interior struct {
	from, to int64
	guarded  bool
}

// maxKept bounds the bytes that a row keeps, which are on the stack.
const maxKept = 128 << 10

// New prepares a kernel as Read decided.
func New(e *unit.Unit, name string, k *schedule.Kernel, found *nest.Rows, d Decided) *Kernel {
	r := Of(e, name, k, found, d.lanes)
	r.decided = d
	if d.lines > 1 {
		r.span = r.findSpan(d.lines)
	}
	return r
}

// Of prepares a kernel that is recognised, whose cells are computed one by one, in vectors of so many lanes, or of as many as the target has.
func Of(e *unit.Unit, name string, k *schedule.Kernel, found *nest.Rows, lanes int64) *Kernel {
	r := &Kernel{Text: new(cnest.Text), e: e, k: k, r: found, name: name, kept: map[int]int{},
		Outer: point.Axes("g", found.Outer), reduced: point.Axes("f", found.Reduction), lane: point.Axis{Dim: found.Lane, Variable: "j"}}
	r.p = &point.Point{V: e.V, K: k, Views: found.Views, Axes: slices.Clone(r.Outer), Along: -1, Locals: map[int]vector.Value{}, Sums: map[*scalar.Expr]vector.Value{}}
	if r.p.N = int(lanes); lanes == 0 {
		r.p.N = e.Target.Lanes(widest(k, found))
	}
	r.chooseKept()
	if found.Free {
		r.p.Axes = append(r.p.Axes, r.lane)
		r.p.Along, r.p.Count = len(r.Outer), "n"
		r.interior = r.findInterior()
		r.p.Ahead = r.hoisted()
	}
	return r
}

// fullLanes gives how many lanes a vector has, n or fewer. Where processors read and write some lanes of a vector, that is the least that
// makes rows no more vectors. Elsewhere a reduction of few free lanes, as that of a window has whose channels are innermost, takes shorter
// vectors if these are all full, and so do all rows shorter than a vector: the last vector of a row goes through memory there, or looks
// at each of its lanes, in every step of the reduction, and takes longer than all others together.
func (r *Kernel) fullLanes(n int) int {
	if !r.r.Free || len(r.reduced) == 0 && r.lane.Extent >= int64(n) {
		return n
	}
	least, some := n, r.someLanes(n)
	for m := n; m*widest(r.k, r.r) >= vector.LeastBytes; m /= 2 {
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
	d := map[int]scalar.DType{4: scalar.Float32, 8: scalar.Float64}[widest(r.k, r.r)]
	return r.e.V.Of(d, n).Masked("%s") != "" && !slices.ContainsFunc(r.k.Operands, func(o schedule.Operand) bool {
		return o.Mode == schedule.Write && r.e.Buffers[o.Buffer].Type() != d
	})
}

// findInterior finds the lanes at which guards need not be asked.
func (r *Kernel) findInterior() interior {
	b, lane := interior{to: r.lane.Extent}, r.lane.Inner()
	for _, s := range r.k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			sums, ok := affine.Guards(e)
			if !ok || e.Type == scalar.Bool || !point.UsesAny(r.lane.Loops, e.Args[0]) {
				return true
			}
			b.guarded = true
			for _, a := range sums {
				switch f, least := a.Factor(lane), a.Least(r.k, lane); {
				case f > 0 && least < 0:
					b.from = max(b.from, (-least+f-1)/f)
				case f < 0 && least < 0:
					b.to = 0
				case f < 0:
					b.to = min(b.to, least/-f+1)
				}
			}
			return true
		})
	}
	return b
}

// widest is the size of the widest type that is computed with in lanes.
func widest(k *schedule.Kernel, r *nest.Rows) int {
	size, follows := 1, make([]bool, len(k.Statements)) // the lanes
	var visit func(e *scalar.Expr) bool
	visit = func(e *scalar.Expr) bool {
		with := e.Op == scalar.Load && r.Lane.Step(r.Views[e.Ref]) != 0 || e.Op == scalar.Loop && slices.Contains(r.Lane.Loops, e.Ref) ||
			e.Op == scalar.Local && follows[e.Ref]
		for i, a := range e.Args {
			if i > 0 || !affine.Guarded(e) { // guards are computed lane by lane
				with = visit(a) || with
			}
		}
		if with && e.Type != scalar.Bool {
			size = max(size, e.Type.Size())
		}
		return with && (r.Free || e.Op != scalar.Reduce || e.IsAt())
	}
	for i, s := range k.Statements {
		follows[i] = visit(s.Value)
	}
	return size
}

// over gives those axes, beside the free ones, that some loops are of.
func (r *Kernel) over(loops []int) []point.Axis {
	all := slices.Clone(r.reduced)
	if !r.r.Free {
		all = append(all, r.lane)
	}
	return slices.DeleteFunc(all, func(a point.Axis) bool { return !slices.Contains(loops, a.Inner()) })
}

// statementOver gives the axes that a statement has a value for each index of: none if it has one value for a row.
func (r *Kernel) statementOver(i int) []point.Axis {
	var loops []int
	for _, l := range r.k.Statements[i].Over {
		loops = append(loops, int(l))
	}
	return r.over(loops)
}

// wide says whether a statement has a value for every element of a row.
func (r *Kernel) wide(i int) bool { return len(r.statementOver(i)) > 0 }

// reductions gives the reductions of an expression that are not gathers.
func reductions(e *scalar.Expr) (list []*scalar.Expr) {
	e.Walk(func(e *scalar.Expr) bool {
		if e.Op != scalar.Reduce || e.IsAt() {
			return true
		}
		list = append(list, e)
		return false
	})
	return list
}

// onlyReduction gives the one reduction of a kernel that results need all of, if it can be joined of parts in the order of the index: what is
// reduced is made of operands alone. nil if there is none.
func onlyReduction(r *Kernel) *scalar.Expr {
	var all []*scalar.Expr
	for i, s := range r.k.Statements {
		if s.Store >= 0 && r.wide(i) {
			return nil
		}
		all = append(all, reductions(s.Value)...)
	}
	if len(all) != 1 {
		return nil
	}
	e := all[0]
	if e.Type == scalar.Bool || e.Args[0].Type == scalar.Bool || e.Monoid == scalar.Mul && e.Type.IsFloat() || !ofOperands(r, e.Args[0]) {
		return nil
	}
	return e
}

// ofOperands says whether a value needs no others than those that every element of a row has.
func ofOperands(r *Kernel, e *scalar.Expr) bool {
	return !e.Any(func(e *scalar.Expr) bool {
		return e.Op == scalar.Local && (!r.wide(e.Ref) || !ofOperands(r, r.k.Statements[e.Ref].Value))
	})
}

// small says whether all steps of a reduction are written out.
func small(over []point.Axis) bool { return point.Count(over) <= unit.MaxUnrolled }

// chooseKept counts the sweeps, and keeps values of a row that call a function and that more than one of them needs.
func (r *Kernel) chooseKept() {
	uses, first := map[int]int{}, map[int]int{}
	for i, s := range r.k.Statements {
		for _, e := range reductions(s.Value) {
			for _, x := range r.needs(e) {
				if uses[x]++; uses[x] == 1 || first[x] < 0 {
					first[x] = r.sweeps.all
				}
			}
			r.sweeps.all++
		}
		if s.Store >= 0 && r.wide(i) {
			for _, x := range r.needs(s.Value) {
				if uses[x]++; uses[x] == 1 {
					first[x] = -1 // what is stored is not known to be kept
				}
			}
			r.sweeps.all++
		}
	}
	room := int64(maxKept)
	for i, s := range r.k.Statements {
		values := r.keptValues()
		size := values * int64(s.Value.Type.Size())
		if uses[i] < 2 || s.Value.Type == scalar.Bool || !costly(s.Value) || values > maxKept || size > room {
			continue
		}
		room -= size
		if r.kept[i] = first[i]; first[i] < 0 {
			r.kept[i] = r.sweeps.all
		}
	}
}

// ready says whether the value of a statement is kept and a sweep before the present one has computed it.
func (r *Kernel) ready(i int) bool {
	sweep, kept := r.kept[i]
	return kept && r.sweeps.written > sweep
}

// keptValues is how many values a row has, and room for whole vectors.
func (r *Kernel) keptValues() int64 {
	n := int64(r.p.N)
	if !r.r.Free {
		n = isa.Align(r.lane.Extent, n)
	}
	return nest.SaturatingProduct(n, point.Count(r.reduced))
}

// costly says whether an expression calls a function.
func costly(e *scalar.Expr) bool {
	return e.Any(func(e *scalar.Expr) bool { return e.Op.Class() >= scalar.Root })
}

// never says whether an expression is false for any value, which is not computed.
func never(e *scalar.Expr) bool {
	return (e.Op == scalar.IsNaN || e.Op == scalar.IsInf) && !e.Args[0].Type.IsFloat()
}

// needs lists the wide local values that have to be computed or fetched for an expression, in order.
func (r *Kernel) needs(e *scalar.Expr) []int {
	found := map[int]bool{}
	var visit func(e *scalar.Expr) bool
	visit = func(e *scalar.Expr) bool {
		if e.Op == scalar.Local && !found[e.Ref] && r.wide(e.Ref) {
			found[e.Ref] = true
			if !r.ready(e.Ref) {
				r.k.Statements[e.Ref].Value.Walk(visit)
			}
		}
		return !never(e)
	}
	e.Walk(visit)
	return slices.Sorted(maps.Keys(found))
}

// used lists the operands that the code of the statements names.
func (r *Kernel) used() []int {
	named := map[int]bool{}
	for i, o := range r.k.Operands {
		if o.Mode == schedule.Write {
			named[i] = true
		}
	}
	for _, s := range r.k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Load {
				named[e.Ref] = true
			}
			return !never(e)
		})
	}
	return slices.Sorted(maps.Keys(named))
}

// hoisted finds the operands of which all vectors of a row read the same few elements, as convolutions read filters: they are read
// before, into arrays that a cell has parameters for. It gives the element of each at the present index.
func (r *Kernel) hoisted() map[int]string {
	ahead := map[int]string{}
	if len(r.reduced) == 0 || !small(r.reduced) {
		return ahead
	}
	gathered := func(operand int) bool { // at indices that are computed
		return slices.ContainsFunc(r.k.Statements, func(s schedule.Statement) bool {
			return s.Value.Any(func(e *scalar.Expr) bool { return e.IsAt() && r.r.Views[operand].Steps[e.Over[0]] != 0 })
		})
	}
	for _, i := range r.used() {
		o, along := r.k.Operands[i], point.Follows(r.reduced, r.r.Views[i])
		if o.Mode == schedule.Read && o.Type() != scalar.Bool && r.lane.Step(r.r.Views[i]) == 0 && !gathered(i) && nest.Vectorizable(o.Type()) &&
			len(along) > 0 && nest.Inside(r.k, r.e.Buffers, i) {
			ahead[i] = fmt.Sprintf("ahead%d[%s]", i, point.Index(along))
		}
	}
	return ahead
}

// ahead lists what was read before, as parameters or arguments, behind a prefix for each.
func (r *Kernel) ahead(prefix func(operand int) string) string {
	text := ""
	for _, i := range slices.Sorted(maps.Keys(r.p.Ahead)) {
		text += fmt.Sprintf(", %sahead%d", prefix(i), i)
	}
	return text
}

// canStream says whether the values of an operand can be written past the caches: whole vectors to the end, at addresses of which
// the first decides whether all are multiples of a vector. Rows of several sweeps are not: all of their writing would have to be
// done in the last, where lines that were asked for in the one before it take what is written at once.
func canStream(r *Kernel, operand int) bool {
	o, v := r.k.Operands[operand], r.r.Views[operand]
	vector := int64(r.p.N)
	if o.Mode != schedule.Write || !r.r.Free && r.sweeps.all > 1 || r.lane.Step(v) != 1 || point.Start(r.k, v)%vector != 0 || r.p.N*o.Type().Size() < 16 {
		return false
	}
	apart := func(a point.Axis) bool { return a.Step(v)%vector != 0 }
	return !slices.ContainsFunc(r.Outer, apart) && !slices.ContainsFunc(r.reduced, apart) &&
		!slices.ContainsFunc(r.r.Splits, func(at int64) bool { return at%vector != 0 })
}

// streams says whether they are.
func (r *Kernel) streams(operand int) bool {
	return slices.Contains(r.decided.stream, r.k.Operands[operand].Name)
}

// storeAt writes a vector of results.
func (r *Kernel) storeAt(operand int, x vector.Value) {
	plain := r.p.Store(operand, x)
	if !r.streams(operand) || r.p.Along < 0 || x.Type == scalar.Bool || r.p.Count != "n" && r.p.Count != fmt.Sprint(r.p.N) {
		r.Line("%s;", plain)
		return
	}
	r.streamed = true
	whole := fmt.Sprintf("aligned%d", operand)
	if r.p.Count == "n" {
		whole = fmt.Sprintf("n == %d && %s", r.p.N, whole)
	}
	at := fmt.Sprintf("p%d + %s", operand, r.p.Offset(r.p.Views[operand]))
	r.Line("if (%s) %s; else %s;", whole, r.e.V.Of(x.Type, r.p.N).Stream(at, r.e.V.Splat(x, r.p.N).Text), plain)
}

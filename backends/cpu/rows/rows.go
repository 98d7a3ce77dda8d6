// Package rows makes the tile trees of kernels whose results are rows of vectors: elementwise ones, reductions along a row or beside it, windows; and
// decides how they are cut. It must not import backends/cpu. Read next: rows.go, code.go, sweep.go, span.go.
package rows

import (
	"maps"
	"slices"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/affine"
	"tensortapestry.org/tapc/ir/scalar"
)

// Kernel is a kernel whose vectors follow one dimension; see nest.Rows.
//
// A cell is the statements at one index of the outer dimensions: on a vector of lanes if these are free, on all of a row if
// they are reduced. Then every reduction is one sweep along the row and every result that has a value for each element is another, over a row
// that stays in a cache. What several sweeps need and costs much is kept for the row.
type Kernel struct {
	*nest.Rows
	t        isa.Target
	buffers  map[ir.NodeID]*schedule.Buffer
	k        *schedule.Kernel
	n        int64        // lanes of a vector
	gathered map[int]bool // loops of which only computed indices are taken
	ahead    map[int]bool // operands that are read before the vectors of a row
	interior interior
	few      bool  // lanes are rows of few elements, which are reduced one by one and joined as lanes would be
	span     *span // nil if cells are computed one by one
	decided  Decided
	kept     map[int]int // statements whose values are kept for the row, and the sweep that computes them
	sweeps   int         // along a row
}

// Decided is what a config says of rows beside the cuts of their loops.
type Decided struct {
	lanes  int64    // of a vector, 0 for as many as the target has
	lines  int64    // of a span
	jam    *jam     // lines that are jammed, or nil
	part   int64    // of the outermost dimension that is reduced, which a task has; 0 for all
	stream []string // results that go past the caches where these keep nothing of them
}

// jam is some neighbouring cells along an axis whose reductions are carried out in the same loops (unroll and jam): what does not move
// along that axis, as weights that are unpacked for several rows, is computed once for all of them. Sums are what they would be one by one.
type jam struct {
	axis  int // of the outer ones, or beside: then cells are neighbouring vectors of a row, of which none waits for the others
	cells int64
	tiled bool // nothing is reduced: cells follow each other for every vector, and what they read across the lanes is a line of a cache for all of them (loop tiling)
}

// beside is the axis of a jam of vectors of a row.
const beside = -1

// interior is the lanes at which all guards of loads hold, at any index of the reduced loops; guarded says whether there are such loads.
type interior struct {
	from, to int64
	guarded  bool
}

// maxKept bounds the bytes that a row keeps, which are on the stack.
const maxKept = 128 << 10

// New prepares a kernel as Read decided.
func New(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.Rows, d Decided) *Kernel {
	r := newDeciding(t, k, buffers, found).of(d.lanes)
	r.decided = d
	if d.lines > 1 {
		r.span = r.findSpan(d.lines)
	}
	return r
}

// Of prepares a kernel that is recognised, whose cells are computed one by one, in vectors of so many lanes, or of as many as the target has.
func Of(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.Rows, lanes int64) *Kernel {
	r := &Kernel{Rows: found, t: t, buffers: buffers, k: k, n: lanes, gathered: nest.PlaceLoops(k), kept: map[int]int{}}
	if lanes == 0 {
		r.n = int64(t.Lanes(widest(k, found)))
	}
	r.chooseKept()
	if found.Free {
		r.interior = r.findInterior()
		r.ahead = r.hoisted()
	}
	return r
}

// Lanes is how many lanes a vector has.
func (r *Kernel) Lanes() int64 { return r.n }

// countOf is how many indices dimensions have, up to 2^40.
func countOf(dims []nest.Dim) int64 {
	n := int64(1)
	for _, d := range dims {
		n = nest.SaturatingProduct(n, d.Extent)
	}
	return n
}

func extentsOf(dims []nest.Dim) (out []int64) {
	for _, d := range dims {
		out = append(out, d.Extent)
	}
	return out
}

// fullLanes gives how many lanes a vector has, n or fewer. Where processors read some lanes of a vector at once, that is the least that makes rows no more
// vectors. Elsewhere a reduction of few free lanes, as that of a window has whose channels are innermost, takes shorter vectors if these are all full, and so
// do all rows shorter than a vector: the last vector of a row is made of pieces there, or looks at each of its lanes, in every step of the reduction, and
// takes longer than all others together.
func (r *Kernel) fullLanes(n int) int {
	if !r.Free || len(r.Reduction) == 0 && r.Lane.Extent >= int64(n) {
		return n
	}
	least, some := n, r.someLanes(n)
	for m := n; m*widest(r.k, r.Rows) >= vector.LeastBytes; m /= 2 {
		switch {
		case some && (r.Lane.Extent+int64(m)-1)/int64(m) == (r.Lane.Extent+int64(n)-1)/int64(n):
			least = m
		case !some && r.Lane.Extent%int64(m) == 0:
			return m
		}
	}
	return least
}

// someLanes says whether processors with vectors of n lanes read some of them at once. Where they have no masks they write them in pieces, but once for all steps of a reduction.
func (r *Kernel) someLanes(n int) bool {
	d := map[int]scalar.DType{4: scalar.Float32, 8: scalar.Float64}[widest(r.k, r.Rows)]
	return vector.ReadsSome(d, n) && !slices.ContainsFunc(r.k.Operands, func(o schedule.Operand) bool {
		return o.Mode == schedule.Write && r.buffers[o.Buffer].Type() != d
	})
}

// findInterior finds the lanes at which guards need not be asked.
func (r *Kernel) findInterior() interior {
	b, lane := interior{to: r.Lane.Extent}, r.Lane.Inner()
	for _, s := range r.k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			sums, ok := affine.Guards(e)
			if !ok || e.Type == scalar.Bool || !builder.UsesAny(r.Lane.Loops, e.Args[0]) {
				return true
			}
			b.guarded = true
			for _, a := range sums {
				switch f, least := a.Factor(lane), a.Least(r.k.Space(), lane); {
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
func (r *Kernel) over(loops []int) []nest.Dim {
	all := slices.Clone(r.Reduction)
	if !r.Free {
		all = append(all, r.Lane)
	}
	return slices.DeleteFunc(all, func(a nest.Dim) bool { return !slices.Contains(loops, a.Inner()) })
}

// statementOver gives the axes that a statement has a value for each index of: none if it has one value for a row.
func (r *Kernel) statementOver(i int) []nest.Dim {
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
func small(over []nest.Dim) bool { return countOf(over) <= unit.MaxUnrolled }

// chooseKept counts the sweeps, and keeps values of a row that call a function and that more than one of them needs.
func (r *Kernel) chooseKept() {
	uses, first := map[int]int{}, map[int]int{}
	for i, s := range r.k.Statements {
		for _, e := range reductions(s.Value) {
			for _, x := range r.needs(e, nil) {
				if uses[x]++; uses[x] == 1 || first[x] < 0 {
					first[x] = r.sweeps
				}
			}
			r.sweeps++
		}
		if s.Store >= 0 && r.wide(i) {
			for _, x := range r.needs(s.Value, nil) {
				if uses[x]++; uses[x] == 1 {
					first[x] = -1 // what is stored is not known to be kept
				}
			}
			r.sweeps++
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
			r.kept[i] = r.sweeps
		}
	}
}

// keptValues is how many values a row has, and room for whole vectors.
func (r *Kernel) keptValues() int64 {
	n := r.n
	if !r.Free {
		n = isa.Align(r.Lane.Extent, n)
	}
	return nest.SaturatingProduct(n, countOf(r.Reduction))
}

// costly says whether an expression calls a function.
func costly(e *scalar.Expr) bool {
	return e.Any(func(e *scalar.Expr) bool { return e.Op.Class() >= scalar.Root })
}

// never says whether an expression is false for any value, which is not computed.
func never(e *scalar.Expr) bool {
	return (e.Op == scalar.IsNaN || e.Op == scalar.IsInf) && !e.Args[0].Type.IsFloat()
}

// needs lists the wide local values that have to be computed or fetched for an expression, in order: those that are ready are fetched.
func (r *Kernel) needs(e *scalar.Expr, ready func(i int) bool) []int {
	found := map[int]bool{}
	var visit func(e *scalar.Expr) bool
	visit = func(e *scalar.Expr) bool {
		if e.Op == scalar.Local && !found[e.Ref] && r.wide(e.Ref) {
			found[e.Ref] = true
			if ready == nil || !ready(e.Ref) {
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
// before, into arrays.
func (r *Kernel) hoisted() map[int]bool {
	ahead := map[int]bool{}
	if len(r.Reduction) == 0 || !small(r.Reduction) {
		return ahead
	}
	gathered := func(operand int) bool { // at indices that are computed
		return slices.ContainsFunc(r.k.Statements, func(s schedule.Statement) bool {
			return s.Value.Any(func(e *scalar.Expr) bool { return e.IsAt() && r.Views[operand].Steps[e.Over[0]] != 0 })
		})
	}
	for _, i := range r.used() {
		o := r.k.Operands[i]
		if o.Mode == schedule.Read && o.Type() != scalar.Bool && r.Lane.Step(r.Views[i]) == 0 && !gathered(i) && nest.Vectorizable(o.Type()) &&
			len(r.following(i)) > 0 && nest.Inside(r.k, r.buffers, i) {
			ahead[i] = true
		}
	}
	return ahead
}

// following gives those of the reduced dimensions that an operand moves along.
func (r *Kernel) following(operand int) []nest.Dim {
	return slices.DeleteFunc(slices.Clone(r.Reduction), func(d nest.Dim) bool { return d.Step(r.Views[operand]) == 0 })
}

// canStream says whether the values of an operand can be written past the caches: whole vectors to the end, at addresses of which
// the first decides whether all are multiples of a vector. Rows of several sweeps are not: all of their writing would have to be
// done in the last, where lines that were asked for in the one before it take what is written at once.
func canStream(r *Kernel, operand int) bool {
	o, v := r.k.Operands[operand], r.Views[operand]
	vector := r.n
	if j := r.decided.jam; j != nil && j.tiled && int(r.n)*o.Type().Size() < schedule.LineBytes { // of many lines at a time parts would be written
		return false
	}
	if o.Mode != schedule.Write || !r.Free && r.sweeps > 1 || r.Lane.Step(v) != 1 || builder.Base(r.k, v)%vector != 0 || int(r.n)*o.Type().Size() < 16 {
		return false
	}
	apart := func(a nest.Dim) bool { return a.Step(v)%vector != 0 }
	return !slices.ContainsFunc(r.Outer, apart) && !slices.ContainsFunc(r.Reduction, apart) &&
		!slices.ContainsFunc(r.Splits, func(at int64) bool { return at%vector != 0 })
}

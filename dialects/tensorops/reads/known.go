package reads

import (
	"slices"

	"tensortapestry.org/tapc/ir/affine"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Known is what a constant of whole numbers holds: runs, none over a coordinate of another, or a reason why there are too many.
type Known struct {
	Runs   []Run
	Reason string
}

// Run is a box of coordinates along which numbers are evenly spaced: at c it holds Factors·c + Offset.
type Run struct {
	Box     zspace.Range
	Factors []int64
	Offset  int64
}

// KnownOf gives what a tensor holds whose elements are numbers, in row-major order; nil where those are nil. Each run is as long as it can be, along the last
// dimension first; of one dimension there are as few as there can be.
func KnownOf(r zspace.Range, numbers []int64) *Known {
	if numbers == nil {
		return nil
	}
	shape := r.Shape()
	x := &runs{shape: shape, strides: zspace.RowMajor(shape), numbers: numbers, taken: make([]bool, len(numbers))}
	k := &Known{}
	for at := range numbers {
		if x.taken[at] {
			continue
		}
		if len(k.Runs) == MaxPieces {
			return &Known{Reason: TooMany}
		}
		k.Runs = append(k.Runs, x.run(r, at))
	}
	return k
}

// runs takes a tensor apart.
type runs struct {
	shape, strides []int64
	numbers        []int64
	taken          []bool
	count, step    []int64 // of the run that grows
}

// run takes the longest run that begins at an element.
func (x *runs) run(r zspace.Range, at int) Run {
	rank := len(x.shape)
	x.count, x.step = slices.Repeat([]int64{1}, rank), make([]int64, rank)
	start := make(zspace.Point, rank)
	for k, rest := 0, int64(at); k < rank; k++ {
		start[k], rest = rest/x.strides[k], rest%x.strides[k]
	}
	for k := rank - 1; k >= 0; k-- {
		for start[k]+x.count[k] < x.shape[k] && x.goesOn(int64(at), k) {
			x.count[k]++
		}
	}
	x.all(0, int64(at), 0, func(i, _ int64) bool {
		x.taken[i] = true
		return true
	})
	out := Run{Box: zspace.Range{Start: start, End: start.Clone()}, Factors: x.step, Offset: bounded(x.numbers[at])}
	for k := range start {
		out.Box.Start[k] += r.Start[k]
		out.Box.End[k] = out.Box.Start[k] + x.count[k]
		out.Offset -= x.step[k] * out.Box.Start[k]
	}
	return out
}

// goesOn says whether the elements behind the run along a dimension belong to it. The first of them decide how far apart numbers are there.
func (x *runs) goesOn(at int64, k int) bool {
	next := at + x.count[k]*x.strides[k]
	if x.count[k] == 1 {
		x.step[k] = bounded(x.numbers[next]) - bounded(x.numbers[at])
	}
	first := bounded(x.numbers[at])
	good := max(x.step[k], -x.step[k]) < 1<<40 && x.all(k+1, next, x.count[k]*x.step[k], func(i, moved int64) bool {
		return !x.taken[i] && bounded(x.numbers[i]) == first+moved
	})
	if x.count[k] == 1 && !good {
		x.step[k] = 0
	}
	return good
}

// all calls f for the elements of the run along dimensions from k on, with how much more than the first each has to be, while it is true.
func (x *runs) all(k int, at, moved int64, f func(at, moved int64) bool) bool {
	if k == len(x.shape) {
		return f(at, moved)
	}
	for i := range x.count[k] {
		if !x.all(k+1, at+i*x.strides[k], moved+i*x.step[k], f) {
			return false
		}
	}
	return true
}

// bounded is a number up to the limit.
func bounded(a int64) int64 { return max(-limit, min(limit, a)) }

// held is what an element of a constant was found to be on a path.
type held struct {
	selection int
	cell      []affine.Sum
	value     affine.Sum
}

// loaded gives what an element of a constant is: a sum for each run that it may lie in.
func (w *walker) loaded(operand int, p *path) ([]value, bool) {
	cell, ok := w.cell(operand, p)
	if !ok || w.body.Known == nil {
		return nil, false
	}
	selection := w.body.Selections[operand]
	for _, h := range p.held {
		if h.selection == selection && slices.EqualFunc(h.cell, cell, affine.Sum.Equal) {
			return []value{{p, h.value}}, true
		}
	}
	known := w.body.Known(selection)
	if known == nil || known.Reason != "" {
		if known != nil {
			w.reason = known.Reason
		}
		return nil, false
	}
	list := []value{}
	for _, r := range known.Runs {
		q, possible, v := p.clone(), true, affine.Constant(r.Offset)
		for k, c := range cell {
			possible = possible && q.within(c, r.Box.Start[k], r.Box.End[k])
			v = v.Plus(c, r.Factors[k])
		}
		if possible {
			q.held = append(q.held, held{selection, cell, v})
			list = append(list, value{q, v})
		}
	}
	return list, true
}

// cell gives the coordinates that an operand is read at; ok is false where a dim that they need has no value yet.
func (w *walker) cell(operand int, p *path) (cell []affine.Sum, ok bool) {
	access := w.body.Accesses[operand]
	cell = make([]affine.Sum, len(access.Offset))
	for k, row := range access.Projection {
		cell[k] = affine.Constant(access.Offset[k])
		for d, a := range row {
			if a == 0 {
				continue
			}
			if !p.known[d] {
				return nil, false
			}
			cell[k] = cell[k].Plus(p.env[d], a)
		}
	}
	return cell, true
}

// placed gives the values of what is at a place: 0 where that lies outside the dim.
func (w *walker) placed(e *scalar.Expr, p *path) ([]value, bool) {
	d := e.Over[0]
	extent := w.body.Extents[d]
	list := []value{}
	places, ok := w.values(e.Args[1], p)
	if !ok {
		return nil, false
	}
	for _, v := range places {
		in, below, above := v.path.clone(), v.path.clone(), v.path.clone()
		if below.guard(under(v.sum)) {
			list = append(list, value{below, affine.Constant(0)})
		}
		if above.guard(v.sum.Plus(affine.Constant(extent), -1)) {
			list = append(list, value{above, affine.Constant(0)})
		}
		if !in.within(v.sum, 0, extent) {
			continue
		}
		env, known := in.env[d], in.known[d]
		in.env[d], in.known[d] = v.sum, true
		more, ok := w.values(e.Args[0], in)
		if !ok {
			return nil, false
		}
		for _, m := range more {
			m.path = m.path.clone()
			m.path.env[d], m.path.known[d] = env, known
			list = append(list, m)
		}
		if len(list) > maxCases {
			w.reason = TooManyCases
			return nil, false
		}
	}
	return list, true
}

package layouts

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/search"
)

// weights say what is minimised: a sum of seconds, bytes that are sent, bytes of inputs and constants, bytes of what is between, and bytes that a device
// holds at a spot.
type weights struct {
	time, sent, always, between, held float64
	spot                              int
}

// maxWork bounds how many sums one elimination makes.
const maxWork = 1 << 28

// factor is a cost that depends on some variables, the last of which runs fastest. Of a variable's values it tells apart classes: several needs of an
// operation are one of its tensor.
type factor struct {
	vars  []scope
	table []float64
}

// scope is a variable of a factor, the class of each of its values, and how many there are.
type scope struct {
	v       int
	of      []uint16
	classes int
}

// elimination finds the values of variables of which a sum of factors is least, exactly: by dynamic programming over the graph of what is adjacent. A variable is
// eliminated by what is best of it for all values of those that it shares a factor with, the one with the fewest of these first.
type elimination struct {
	sizes   []int
	factors []factor
	chosen  []choice
	work    int
}

// choice is what is best of a variable, for all classes of others.
type choice struct {
	v    int
	vars []scope
	best []uint16
}

// each is the scope of a variable all of whose values are told apart.
func (e *elimination) each(v int) scope {
	s := scope{v, make([]uint16, e.sizes[v]), e.sizes[v]}
	for i := range s.of {
		s.of[i] = uint16(i)
	}
	return s
}

// best gives the trial of a mesh that minimises a weighted sum, and the sum; false if it would take too long. The peak of memory is no such sum, but what is
// held at one spot is: it is never more than the peak.
func (x *Space) best(mesh int, w weights) (search.Trial, float64, bool) {
	t := x.tables[mesh]()
	e := &elimination{}
	values := make([][]int, 0, len(x.ops)+len(x.tensors)) // of each variable, what fits the mesh
	for _, row := range slices.Concat(t.time, t.bytes) {
		var fit []int
		for i, c := range row {
			if !math.IsInf(c, 1) {
				fit = append(fit, i)
			}
		}
		if fit == nil {
			return nil, math.Inf(1), true
		}
		values, e.sizes = append(values, fit), append(e.sizes, len(fit))
	}
	own := func(v int, row []float64, by float64) {
		f := factor{vars: []scope{e.each(v)}}
		for _, i := range values[v] {
			f.table = append(f.table, by*row[i])
		}
		e.factors = append(e.factors, f)
	}
	for i, o := range x.ops {
		own(i, t.time[i], w.time*o.count)
	}
	live := w.live(x)
	for i, y := range x.tensors {
		own(len(x.ops)+i, t.bytes[i], live[i])
		if y.gene < 0 {
			e.factors = append(e.factors, e.follows(x, i, values))
		}
	}
	for i := range x.edges {
		e.factors = append(e.factors, e.moving(t, i, values, w))
	}
	chosen, sum, ok := e.run()
	if !ok || math.IsInf(sum, 1) {
		return nil, sum, ok
	}
	trial := make(search.Trial, len(x.genes))
	trial[0] = uint16(mesh)
	for i, o := range x.ops {
		trial[o.gene] = uint16(values[i][chosen[i]])
	}
	for i, y := range x.tensors {
		if n := len(x.ops) + i; y.gene >= 0 {
			trial[y.gene] = uint16(values[n][chosen[n]])
		}
	}
	return trial, sum, true
}

// live gives how much a byte of each tensor counts.
func (w weights) live(x *Space) []float64 {
	per := make([]float64, len(x.tensors))
	for i, y := range x.tensors {
		if per[i] = y.count * w.between; y.leaf {
			per[i] = y.count * (w.always + w.held)
		}
	}
	for _, l := range x.spots[w.spot].live {
		per[l.tensor] += l.count * w.held
	}
	return per
}

// moving is the factor of an edge.
func (e *elimination) moving(t *tables, edge int, values [][]int, w weights) factor {
	x := t.space
	d, want := x.edges[edge], &x.ways.wants[edge]
	kept := len(x.ops) + d.tensor
	f := factor{vars: []scope{{v: d.op}, e.each(kept)}}
	held := 0.0
	for _, i := range x.spots[w.spot].edges {
		if i == edge {
			held += w.held
		}
	}
	numbers := map[uint16]uint16{}
	for _, cut := range values[d.op] {
		need := want.of[cut]
		n, ok := numbers[need]
		if !ok {
			n = uint16(len(numbers))
			numbers[need] = n
			row := t.moves[want.number][int(need)*len(x.tensors[d.tensor].keeps):]
			for _, k := range values[kept] {
				c := math.Inf(1)
				if m := row[k]; !math.IsInf(m.time, 1) {
					c = x.times[edge]*(w.time*m.time+w.sent*m.sent) + held*m.held
				}
				f.table = append(f.table, c)
			}
		}
		f.vars[0].of = append(f.vars[0].of, n)
	}
	f.vars[0].classes = len(numbers)
	return f
}

// follows is the factor of a tensor that is kept as an operation says.
func (e *elimination) follows(x *Space, i int, values [][]int) factor {
	y := x.tensors[i]
	o, kept := x.ops[y.made.op], len(x.ops)+i
	f := factor{vars: []scope{e.each(y.made.op), e.each(kept)}}
	for _, cut := range values[y.made.op] {
		at := max(slices.Index(y.keeps, o.operands[y.made.operand].needs(o, o.cuts[cut]).layout), 0)
		for _, k := range values[kept] {
			v := math.Inf(1)
			if k == at {
				v = 0
			}
			f.table = append(f.table, v)
		}
	}
	return f
}

// run eliminates all variables.
func (e *elimination) run() (values []int, sum float64, ok bool) {
	left := make([]int, len(e.sizes))
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		at, least := 0, math.Inf(1)
		for i, v := range left {
			if n := e.cost(v); n < least {
				at, least = i, n
			}
		}
		if e.work += int(min(least, maxWork+1)); e.work > maxWork {
			return nil, 0, false
		}
		e.eliminate(left[at])
		left = slices.Delete(left, at, at+1)
	}
	for _, f := range e.factors {
		sum += f.table[0]
	}
	values = make([]int, len(e.sizes))
	for _, c := range slices.Backward(e.chosen) {
		at := 0
		for _, u := range c.vars {
			at = at*u.classes + int(u.of[values[u.v]])
		}
		values[c.v] = int(c.best[at])
	}
	return values, sum, true
}

// involved gives the factors of a variable.
func (e *elimination) involved(v int) (with []int) {
	for i, f := range e.factors {
		if slices.ContainsFunc(f.vars, func(s scope) bool { return s.v == v }) {
			with = append(with, i)
		}
	}
	return with
}

// cost is how many sums it takes at most to eliminate a variable.
func (e *elimination) cost(v int) float64 {
	n, classes := float64(e.sizes[v]), map[int]int{}
	for _, i := range e.involved(v) {
		for _, s := range e.factors[i].vars {
			if s.v != v {
				classes[s.v] = min(e.sizes[s.v], max(1, classes[s.v])*s.classes)
			}
		}
	}
	for _, c := range classes {
		n *= float64(c)
	}
	return n
}

// join gives the scope of a variable that tells apart what two do.
func join(a, b scope) scope {
	out := scope{v: a.v}
	numbers := map[[2]uint16]uint16{}
	for i := range a.of {
		key := [2]uint16{a.of[i], b.of[i]}
		n, ok := numbers[key]
		if !ok {
			n = uint16(len(numbers))
			numbers[key] = n
		}
		out.of = append(out.of, n)
	}
	out.classes = len(numbers)
	return out
}

// around gives what factors tell apart of the variables beside one, by their numbers.
func (e *elimination) around(v int, with []int) (vars []scope) {
	for _, i := range with {
		for _, s := range e.factors[i].vars {
			at, found := slices.BinarySearchFunc(vars, s.v, func(s scope, v int) int { return s.v - v })
			switch {
			case s.v == v:
			case found:
				vars[at] = join(vars[at], s)
			default:
				vars = slices.Insert(vars, at, s)
			}
		}
	}
	return vars
}

// term is a factor of a variable that is eliminated: where its table goes on for each class of each other variable, and for each value of this one.
type term struct {
	table []float64
	steps [][]int // of each other variable
	inner []int
	last  bool // it depends on the last of the others
	from  int
}

func (e *elimination) term(f factor, v int, vars []scope) term {
	t := term{table: f.table, steps: make([][]int, len(vars)), inner: make([]int, e.sizes[v])}
	stride := 1
	for _, s := range slices.Backward(f.vars) {
		if s.v == v {
			for x := range t.inner {
				t.inner[x] = int(s.of[x]) * stride
			}
		} else {
			k := slices.IndexFunc(vars, func(u scope) bool { return u.v == s.v })
			t.steps[k] = make([]int, vars[k].classes)
			for x, c := range vars[k].of {
				t.steps[k][c] = int(s.of[x]) * stride
			}
			t.last = t.last || k == len(vars)-1
		}
		stride *= s.classes
	}
	return t
}

// add adds what a term costs to each value of the variable.
func (t *term) add(row []float64) {
	table := t.table[t.from:]
	for x, step := range t.inner {
		row[x] += table[step]
	}
}

// eliminate replaces the factors of a variable by one of its neighbours.
func (e *elimination) eliminate(v int) {
	with := e.involved(v)
	vars := e.around(v, with)
	size := 1
	for _, u := range vars {
		size *= u.classes
	}
	var terms []term
	for _, n := range with {
		terms = append(terms, e.term(e.factors[n], v, vars))
	}
	out, best := factor{vars, make([]float64, 0, size)}, make([]uint16, 0, size)
	e.rows(terms, vars, e.sizes[v], func(row []float64) {
		least, value := row[0], 0
		for x, c := range row {
			if c < least {
				least, value = c, x
			}
		}
		out.table, best = append(out.table, least), append(best, uint16(value))
	})
	e.chosen = append(e.chosen, choice{v, vars, best})
	for _, n := range slices.Backward(with) {
		e.factors = slices.Delete(e.factors, n, n+1)
	}
	e.factors = append(e.factors, out)
}

// rows gives the sums of terms for all values of a variable, for all classes of the others in turn. What does not depend on the last of these is added once.
func (e *elimination) rows(terms []term, vars []scope, values int, yield func(row []float64)) {
	at, row, base := make([]int, len(vars)), make([]float64, values), make([]float64, values)
	last := len(vars) - 1
	for {
		clear(base)
		for i := range terms {
			t := &terms[i]
			t.from = 0
			for k := range max(last, 0) {
				if t.steps[k] != nil {
					t.from += t.steps[k][at[k]]
				}
			}
			if !t.last {
				t.add(base)
			}
		}
		if last < 0 {
			yield(base)
			return
		}
		for c := range vars[last].classes {
			copy(row, base)
			for i := range terms {
				if t := &terms[i]; t.last {
					from := t.from
					t.from += t.steps[last][c]
					t.add(row)
					t.from = from
				}
			}
			yield(row)
		}
		k := last - 1
		for ; k >= 0; k-- {
			if at[k]++; at[k] < vars[k].classes {
				break
			}
			at[k] = 0
		}
		if k < 0 {
			return
		}
	}
}

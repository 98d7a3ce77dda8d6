package layouts

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/search"
)

// weights say what is minimised: a sum of seconds, bytes that are sent, bytes of inputs and constants, and bytes of what is between.
type weights struct{ time, sent, always, between float64 }

// maxWork bounds how many sums one elimination makes.
const maxWork = 1 << 28

// factor is a cost that depends on some variables, by their values, the last of which runs fastest.
type factor struct {
	vars  []int
	table []float64
}

// elimination finds the values of variables of which a sum of factors is least, exactly: by dynamic programming over the graph of what is adjacent. A variable is
// eliminated by what is best of it for all values of those that it shares a factor with, the one with the fewest of these first.
type elimination struct {
	sizes   []int
	factors []factor
	chosen  []choice
	work    int
}

// choice is what is best of a variable, for all values of others.
type choice struct {
	v    int
	vars []int
	best []uint16
}

// best gives the trial of a mesh that minimises a weighted sum, and the sum; false if it would take too long. The peak of memory is no such sum: what is
// between counts as if all of it lived at once.
func (x *Space) best(mesh int, w weights) (search.Trial, float64, bool) {
	t := x.tables[mesh]()
	e := &elimination{}
	for i, o := range x.ops {
		e.sizes = append(e.sizes, len(o.cuts))
		e.factors = append(e.factors, factor{[]int{i}, scaled(t.time[i], w.time*o.count)})
	}
	for i, y := range x.tensors {
		per := w.between
		if y.leaf {
			per = w.always
		}
		e.sizes = append(e.sizes, len(y.keeps))
		e.factors = append(e.factors, factor{[]int{len(x.ops) + i}, scaled(t.bytes[i], per*y.count)})
		if y.gene < 0 {
			e.factors = append(e.factors, x.follows(i, y))
		}
	}
	for i, d := range x.edges {
		table := make([]float64, len(t.moves[i]))
		for k, m := range t.moves[i] {
			table[k] = x.times[i] * (w.time*m.time + w.sent*m.sent)
			if math.IsInf(m.time, 1) {
				table[k] = math.Inf(1)
			}
		}
		e.factors = append(e.factors, factor{[]int{d.op, len(x.ops) + d.tensor}, table})
	}
	values, sum, ok := e.run()
	if !ok || math.IsInf(sum, 1) {
		return nil, sum, ok
	}
	trial := make(search.Trial, len(x.genes))
	trial[0] = uint16(mesh)
	for i, o := range x.ops {
		trial[o.gene] = uint16(values[i])
	}
	for i, y := range x.tensors {
		if y.gene >= 0 {
			trial[y.gene] = uint16(values[len(x.ops)+i])
		}
	}
	return trial, sum, true
}

// scaled multiplies costs, where what does not fit stays so.
func scaled(table []float64, by float64) []float64 {
	out := slices.Clone(table)
	for i, v := range out {
		if !math.IsInf(v, 1) {
			out[i] = v * by
		}
	}
	return out
}

// follows is the factor of a tensor that is kept as an operation says.
func (x *Space) follows(i int, y *tensor) factor {
	o := x.ops[y.made.op]
	f := factor{vars: []int{y.made.op, len(x.ops) + i}}
	for _, a := range o.cuts {
		need, _ := o.operands[y.made.operand].needs(o, a)
		at := max(slices.Index(y.keeps, need), 0)
		for k := range y.keeps {
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
		for _, v := range c.vars {
			at = at*e.sizes[v] + values[v]
		}
		values[c.v] = int(c.best[at])
	}
	return values, sum, true
}

// neighbours gives the variables that share a factor with one, sorted, and the factors.
func (e *elimination) neighbours(v int) (vars []int, with []int) {
	for i, f := range e.factors {
		if slices.Contains(f.vars, v) {
			with = append(with, i)
			vars = append(vars, f.vars...)
		}
	}
	slices.Sort(vars)
	vars = slices.Compact(vars)
	return slices.DeleteFunc(vars, func(n int) bool { return n == v }), with
}

// cost is how many sums it takes to eliminate a variable.
func (e *elimination) cost(v int) float64 {
	vars, _ := e.neighbours(v)
	n := float64(e.sizes[v])
	for _, u := range vars {
		n *= float64(e.sizes[u])
	}
	return n
}

// eliminate replaces the factors of a variable by one of its neighbours.
func (e *elimination) eliminate(v int) {
	vars, with := e.neighbours(v)
	size := 1
	for _, u := range vars {
		size *= e.sizes[u]
	}
	out := factor{vars, make([]float64, size)}
	best := make([]uint16, size)
	steps := make([][]int, len(with)) // how far a factor's table goes on for the next value of each neighbour
	inner := make([]int, len(with))   // and of the variable
	for i, n := range with {
		f := e.factors[n]
		stride := map[int]int{}
		s := 1
		for k := len(f.vars) - 1; k >= 0; k-- {
			stride[f.vars[k]] = s
			s *= e.sizes[f.vars[k]]
		}
		for _, u := range vars {
			steps[i] = append(steps[i], stride[u])
		}
		inner[i] = stride[v]
	}
	at, offsets, row := make([]int, len(vars)), make([]int, len(with)), make([]float64, e.sizes[v])
	for n := range size {
		clear(row)
		for i, w := range with {
			table, from, step := e.factors[w].table, offsets[i], inner[i]
			for x := range row {
				row[x] += table[from+x*step]
			}
		}
		least, value := row[0], 0
		for x, c := range row {
			if c < least {
				least, value = c, x
			}
		}
		out.table[n], best[n] = least, uint16(value)
		for k := len(vars) - 1; k >= 0; k-- {
			at[k]++
			for i := range with {
				offsets[i] += steps[i][k]
			}
			if at[k] < e.sizes[vars[k]] {
				break
			}
			for i := range with {
				offsets[i] -= steps[i][k] * at[k]
			}
			at[k] = 0
		}
	}
	e.chosen = append(e.chosen, choice{v, vars, best})
	for i := len(with) - 1; i >= 0; i-- {
		e.factors = slices.Delete(e.factors, with[i], with[i]+1)
	}
	e.factors = append(e.factors, out)
}

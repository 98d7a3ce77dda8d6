// Package eliminate finds the values of variables of which a sum of costs is least, where each cost depends on a few of them, exactly.
//
// It knows no plans; search/layouts makes problems of them. Read next: Problem.
package eliminate

import (
	"math"
	"slices"
)

// maxWork bounds how many sums one elimination makes.
const maxWork = 1 << 28

// Factor is a cost that depends on some variables, the last of which runs fastest. Of a variable's values it tells apart classes: several needs of an
// operation are one of its tensor.
type Factor struct {
	Vars  []Scope
	Table []float64
}

// Scope is a variable of a factor, the class of each of its values, and how many there are.
type Scope struct {
	V       int // the number of the variable
	Of      []uint16
	Classes int
}

// Problem finds the values of variables of which a sum of factors is least, exactly: by dynamic programming over the graph of what is adjacent. A variable is
// eliminated by what is best of it for all values of those that it shares a factor with, the one with the fewest of these first.
type Problem struct {
	Sizes   []int // how many values each variable has
	Factors []Factor
	chosen  []choice
	work    int
}

// choice is what is best of a variable, for all classes of others.
type choice struct {
	v    int
	vars []Scope
	best []uint16
}

// Each is the scope of a variable all of whose values are told apart.
func (e *Problem) Each(v int) Scope {
	s := Scope{v, make([]uint16, e.Sizes[v]), e.Sizes[v]}
	for i := range s.Of {
		s.Of[i] = uint16(i)
	}
	return s
}

// Run eliminates all variables: it gives the values and the sum, or false where that would take too long.
func (e *Problem) Run() (values []int, sum float64, ok bool) {
	left := make([]int, len(e.Sizes))
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
	for _, f := range e.Factors {
		sum += f.Table[0]
	}
	values = make([]int, len(e.Sizes))
	for _, c := range slices.Backward(e.chosen) {
		at := 0
		for _, u := range c.vars {
			at = at*u.Classes + int(u.Of[values[u.V]])
		}
		values[c.v] = int(c.best[at])
	}
	return values, sum, true
}

// involved gives the factors of a variable.
func (e *Problem) involved(v int) (with []int) {
	for i, f := range e.Factors {
		if slices.ContainsFunc(f.Vars, func(s Scope) bool { return s.V == v }) {
			with = append(with, i)
		}
	}
	return with
}

// cost is how many sums it takes at most to eliminate a variable.
func (e *Problem) cost(v int) float64 {
	n, classes := float64(e.Sizes[v]), map[int]int{}
	for _, i := range e.involved(v) {
		for _, s := range e.Factors[i].Vars {
			if s.V != v {
				classes[s.V] = min(e.Sizes[s.V], max(1, classes[s.V])*s.Classes)
			}
		}
	}
	for _, c := range classes {
		n *= float64(c)
	}
	return n
}

// join gives the scope of a variable that tells apart what two do.
func join(a, b Scope) Scope {
	out := Scope{V: a.V}
	numbers := map[[2]uint16]uint16{}
	for i := range a.Of {
		key := [2]uint16{a.Of[i], b.Of[i]}
		n, ok := numbers[key]
		if !ok {
			n = uint16(len(numbers))
			numbers[key] = n
		}
		out.Of = append(out.Of, n)
	}
	out.Classes = len(numbers)
	return out
}

// around gives what factors tell apart of the variables beside one, by their numbers.
func (e *Problem) around(v int, with []int) (vars []Scope) {
	for _, i := range with {
		for _, s := range e.Factors[i].Vars {
			at, found := slices.BinarySearchFunc(vars, s.V, func(s Scope, v int) int { return s.V - v })
			switch {
			case s.V == v:
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

func (e *Problem) term(f Factor, v int, vars []Scope) term {
	t := term{table: f.Table, steps: make([][]int, len(vars)), inner: make([]int, e.Sizes[v])}
	stride := 1
	for _, s := range slices.Backward(f.Vars) {
		if s.V == v {
			for x := range t.inner {
				t.inner[x] = int(s.Of[x]) * stride
			}
		} else {
			k := slices.IndexFunc(vars, func(u Scope) bool { return u.V == s.V })
			t.steps[k] = make([]int, vars[k].Classes)
			for x, c := range vars[k].Of {
				t.steps[k][c] = int(s.Of[x]) * stride
			}
			t.last = t.last || k == len(vars)-1
		}
		stride *= s.Classes
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
func (e *Problem) eliminate(v int) {
	with := e.involved(v)
	vars := e.around(v, with)
	size := 1
	for _, u := range vars {
		size *= u.Classes
	}
	var terms []term
	for _, n := range with {
		terms = append(terms, e.term(e.Factors[n], v, vars))
	}
	out, best := Factor{vars, make([]float64, 0, size)}, make([]uint16, 0, size)
	e.rows(terms, vars, e.Sizes[v], func(row []float64) {
		least, value := row[0], 0
		for x, c := range row {
			if c < least {
				least, value = c, x
			}
		}
		out.Table, best = append(out.Table, least), append(best, uint16(value))
	})
	e.chosen = append(e.chosen, choice{v, vars, best})
	for _, n := range slices.Backward(with) {
		e.Factors = slices.Delete(e.Factors, n, n+1)
	}
	e.Factors = append(e.Factors, out)
}

// rows gives the sums of terms for all values of a variable, for all classes of the others in turn. What does not depend on the last of these is added once.
func (e *Problem) rows(terms []term, vars []Scope, values int, yield func(row []float64)) {
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
		for c := range vars[last].Classes {
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
			if at[k]++; at[k] < vars[k].Classes {
				break
			}
			at[k] = 0
		}
		if k < 0 {
			return
		}
	}
}

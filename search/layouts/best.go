package layouts

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/eliminate"
)

// weights say what is minimised: a sum of seconds, bytes that are sent, bytes of inputs and constants, bytes of what is between, and bytes that a device
// holds at a spot.
type weights struct {
	time, sent, always, between, held float64
	spot                              int
}

// problem is an elimination whose first variables are how operations are cut, and the others how tensors are kept.
type problem struct{ eliminate.Problem }

// best gives the trial of a mesh that minimises a weighted sum, and the sum; false if it would take too long. The peak of memory is no such sum, but what is
// held at one spot is: it is never more than the peak.
func (x *Space) best(mesh int, w weights) (search.Trial, float64, bool) {
	t := x.tables[mesh]()
	e := &problem{}
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
		values, e.Sizes = append(values, fit), append(e.Sizes, len(fit))
	}
	own := func(v int, row []float64, by float64) {
		f := eliminate.Factor{Vars: []eliminate.Scope{e.Each(v)}}
		for _, i := range values[v] {
			f.Table = append(f.Table, by*row[i])
		}
		e.Factors = append(e.Factors, f)
	}
	for i, o := range x.ops {
		own(i, t.time[i], w.time*o.count)
	}
	live := w.live(x)
	for i, y := range x.tensors {
		own(len(x.ops)+i, t.bytes[i], live[i])
		if y.sends > 0 {
			var row []float64
			for _, m := range t.sends[i] {
				row = append(row, w.time*m.time+w.sent*m.sent)
			}
			own(len(x.ops)+i, row, y.sends)
		}
		if y.gene < 0 {
			e.Factors = append(e.Factors, e.follows(x, i, values))
		}
	}
	for i := range x.edges {
		e.Factors = append(e.Factors, e.moving(t, i, values, w))
	}
	chosen, sum, ok := e.Run()
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
			per[i] = y.count*w.always + y.at[x.spots[w.spot].stage]*w.held
		}
	}
	for _, l := range x.spots[w.spot].live {
		per[l.tensor] += l.count * w.held
	}
	return per
}

// moving is the factor of an edge.
func (e *problem) moving(t *tables, edge int, values [][]int, w weights) eliminate.Factor {
	x := t.space
	d, want := x.edges[edge], &x.ways.wants[edge]
	kept := len(x.ops) + d.tensor
	f := eliminate.Factor{Vars: []eliminate.Scope{{V: d.op}, e.Each(kept)}}
	held := 0.0
	for _, i := range x.spots[w.spot].edges {
		if i == edge {
			held += w.held
		}
	}
	numbers := numbers[uint16]{}
	for _, cut := range values[d.op] {
		need := want.of[cut]
		n, fresh := numbers.of(need)
		if fresh {
			row := t.moves[want.number][int(need)*len(x.tensors[d.tensor].keeps):]
			for _, k := range values[kept] {
				c := math.Inf(1)
				if m := row[k]; !math.IsInf(m.time, 1) {
					c = x.times[edge]*(w.time*m.time+w.sent*m.sent/float64(x.line.stages)) + held*m.held
				}
				f.Table = append(f.Table, c)
			}
		}
		f.Vars[0].Of = append(f.Vars[0].Of, uint16(n))
	}
	f.Vars[0].Classes = len(numbers)
	return f
}

// follows is the factor of a tensor that is kept as an operation says.
func (e *problem) follows(x *Space, i int, values [][]int) eliminate.Factor {
	y := x.tensors[i]
	o, kept := x.ops[y.made.op], len(x.ops)+i
	f := eliminate.Factor{Vars: []eliminate.Scope{e.Each(y.made.op), e.Each(kept)}}
	for _, cut := range values[y.made.op] {
		at := max(slices.Index(y.keeps, o.operands[y.made.operand].needs(o, o.cuts[cut]).layout), 0)
		for _, k := range values[kept] {
			v := math.Inf(1)
			if k == at {
				v = 0
			}
			f.Table = append(f.Table, v)
		}
	}
	return f
}

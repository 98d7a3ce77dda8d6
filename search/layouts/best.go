package layouts

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/eliminate"
	"tensortapestry.org/tapc/search/runs"
)

// weights say what is minimised: a sum of seconds, bytes that are sent, bytes of inputs and constants, bytes of what is between, and bytes that a device
// holds at some spots, on average. A spot may be there several times.
type weights struct {
	time, sent, always, between, held float64
	spots                             []int
}

// at gives what a byte counts that is held at each of the spots.
func (w weights) at() float64 { return w.held / float64(max(len(w.spots), 1)) }

// problem is an elimination whose first variables are how operations are cut, and the others how tensors are kept. Tensors that may not be stored have each of their values twice: behind
// those that are stored come those that are not, with which all of their operations are cut alike.
type problem struct{ eliminate.Problem }

// best gives the trial of a mesh that minimises a weighted sum, and the sum; false if it would take too long. The peak of memory is no such sum, but what is
// held at one spot is: it is never more than the peak.
func (x *Space) best(mesh int, w weights) (search.Trial, float64, bool) {
	t := x.tables[mesh]()
	e := &problem{}
	values := make([][]int, 0, len(x.ops)+len(x.tensors)) // of each variable, what fits the mesh
	for v, row := range slices.Concat(t.time, t.bytes) {
		var fit []int
		for i, c := range row {
			if !math.IsInf(c, 1) {
				fit = append(fit, i)
			}
		}
		if i := v - len(x.ops); i >= 0 && x.tensors[i].joined {
			for _, k := range slices.Clone(fit) {
				fit = append(fit, k+len(row))
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
			cost := 0.0
			if i < len(row) { // a tensor that is stored
				cost = by * row[i]
			}
			f.Table = append(f.Table, cost)
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
	for _, s := range w.spots {
		for _, l := range x.spots[s].Live {
			if slices.Contains(x.spots[s].Made, l.Tensor) {
				l.Count--
			}
			e.waiting(t, l, values, w.at())
		}
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
			trial[y.gene] = uint16(values[n][chosen[n]] % len(y.keeps))
		}
	}
	return trial, sum, true
}

// live gives how much a byte of each tensor counts.
func (w weights) live(x *Space) []float64 {
	per := make([]float64, len(x.tensors))
	for i, y := range x.tensors {
		if per[i] = y.count * w.between; y.leaf {
			per[i] = y.count * w.always
			for _, s := range w.spots {
				per[i] += y.at[x.spots[s].Stage] * w.at()
			}
		}
	}
	for _, s := range w.spots {
		for _, l := range x.spots[s].Live {
			per[l.Tensor] += l.Count * w.at()
		}
	}
	return per
}

// moving is the factor of an edge.
func (e *problem) moving(t *tables, edge int, values [][]int, w weights) eliminate.Factor {
	held := 0.0
	for _, s := range w.spots {
		for _, i := range t.space.spots[s].edges {
			if i == edge {
				held += w.at()
			}
		}
	}
	return e.edge(t, edge, values, w, held)
}

// edge is the factor of an edge, of which a byte that is moved costs so much while it is held.
func (e *problem) edge(t *tables, edge int, values [][]int, w weights, held float64) eliminate.Factor {
	x := t.space
	d, want := x.edges[edge], &x.ways.wants[edge]
	kept := len(x.ops) + d.tensor
	f := eliminate.Factor{Vars: []eliminate.Scope{{V: d.op}, e.Each(kept)}}
	type class struct {
		need  uint16
		saved float64
	}
	numbers, keeps := runs.Numbers[class]{}, len(x.tensors[d.tensor].keeps)
	for _, cut := range values[d.op] {
		of := class{need: want.of[cut]}
		if t.saved[edge] != nil {
			of.saved = t.saved[edge][cut]
		}
		n, fresh := numbers.Of(of)
		if fresh {
			row := t.moves[want.number][int(of.need)*keeps:]
			for _, k := range values[kept] {
				c := math.Inf(1)
				switch m := row[k%keeps]; {
				case k >= keeps && m == move{sent: m.sent}: // it is not stored
					c = -x.times[edge] * w.time * of.saved
				case k < keeps && !math.IsInf(m.time, 1):
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
			if k%len(y.keeps) == at {
				v = 0
			}
			f.Table = append(f.Table, v)
		}
	}
	return f
}

// waiting adds what is held in the place of a tensor that is not stored: what it is computed from, and what was moved for that. Of that, what is not stored either counts nothing.
func (e *problem) waiting(t *tables, l runs.Lives, values [][]int, held float64) {
	x := t.space
	y, stored := x.tensors[l.Tensor], len(x.ops)+l.Tensor
	if !y.joined {
		return
	}
	gone := eliminate.Scope{V: stored, Classes: 2}
	for _, k := range values[stored] {
		gone.Of = append(gone.Of, uint16(k/len(y.keeps)))
	}
	by := held * l.Count
	for _, b := range y.behind.tensors {
		of := eliminate.Factor{Vars: []eliminate.Scope{gone, e.Each(len(x.ops) + b)}, Table: make([]float64, 2*len(values[len(x.ops)+b]))}
		for n, k := range values[len(x.ops)+b] {
			if k < len(x.tensors[b].keeps) && b != l.Tensor {
				of.Table[len(of.Table)/2+n] = by * t.bytes[b][k]
			}
		}
		if b != l.Tensor {
			e.Factors = append(e.Factors, of)
		}
	}
	for _, i := range y.behind.edges {
		f := e.edge(t, i, values, weights{}, by)
		if f.Vars[1].V == stored {
			continue
		}
		zero := make([]float64, len(f.Table))
		for n, c := range f.Table {
			if math.IsInf(c, 1) {
				f.Table[n] = 0 // the factor of the edge itself says so
			}
		}
		e.Factors = append(e.Factors, eliminate.Factor{Vars: append([]eliminate.Scope{gone}, f.Vars...), Table: append(zero, f.Table...)})
	}
}

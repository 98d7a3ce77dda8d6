package layouts

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/search"
)

// plan is what a trial says, by the numbers of cuts and keeps.
type plan struct {
	tables *tables
	cuts   []int
	keeps  []int
}

// plan reads a trial. How a tensor is kept that is not searched follows: as it is made, with partial results summed, or as its first reader needs it.
func (x *Space) plan(t search.Trial) plan {
	p := plan{tables: x.tables[t[0]](), cuts: make([]int, len(x.ops)), keeps: make([]int, len(x.tensors))}
	for i, o := range x.ops {
		p.cuts[i] = int(t[o.gene])
	}
	for i, y := range x.tensors {
		if y.gene >= 0 {
			p.keeps[i] = int(t[y.gene])
			continue
		}
		o := x.ops[y.made.op]
		need := o.operands[y.made.operand].needs(o, o.cuts[p.cuts[y.made.op]])
		p.keeps[i] = max(slices.Index(y.keeps, need.layout), 0)
	}
	return p
}

// Price is what a plan costs.
func (x *Space) Price(t search.Trial) search.Price {
	p := x.plan(t)
	all := [...]float64{p.time(), p.memory(), max(p.sent(), 1)} // of which a logarithm can be taken
	out := search.Price{Costs: make([]float64, len(x.costs))}
	for i, c := range x.costs {
		out.Costs[i] = all[c]
	}
	if limit := x.settings.MaxMemory; limit > 0 && all[1] > limit {
		out.Beyond = math.Log(all[1] / limit)
	}
	if math.IsInf(all[0], 1) || math.IsInf(all[1], 1) {
		out.Beyond = math.Inf(1)
	}
	return out
}

// move is that of an edge.
func (p *plan) move(edge int) move {
	x := p.tables.space
	e := &x.edges[edge]
	w := &x.ways.wants[edge]
	return p.tables.moves[w.number][int(w.of[p.cuts[e.op]])*len(x.tensors[e.tensor].keeps)+p.keeps[e.tensor]]
}

// time is that of all kernels and moves, one after the other.
func (p *plan) time() (sum float64) {
	x := p.tables.space
	for i, o := range x.ops {
		sum += o.count * p.tables.time[i][p.cuts[i]]
	}
	for i := range x.edges {
		sum += x.times[i] * p.move(i).time
	}
	for _, i := range x.line.crossing {
		sum += x.tensors[i].sends * p.tables.sends[i][p.keeps[i]].time
	}
	for i := range x.tensors {
		if p.joined(i) {
			sum -= p.saved(i)
		}
	}
	return sum
}

// sent is what a device sends.
func (p *plan) sent() (sum float64) {
	for i, n := range p.tables.space.times {
		sum += n * p.move(i).sent
	}
	sum /= float64(p.tables.space.line.stages) // devices of one stage send it
	for _, i := range p.tables.space.line.crossing {
		sum += p.tables.space.tensors[i].sends * p.tables.sends[i][p.keeps[i]].sent
	}
	return sum
}

// memory is the most that a device holds at a time: inputs and constants, what lives while an operation runs, and what it moved for it.
func (p *plan) memory() float64 {
	bytes, _ := p.peak()
	return bytes
}

// peak gives also the spot at which it is held.
func (p *plan) peak() (bytes float64, spot int) {
	x := p.tables.space
	var room [MaxStages]float64
	always, most := room[:x.line.stages], math.Inf(-1)
	for i, y := range x.tensors {
		if !y.leaf {
			continue
		}
		for s, n := range y.at {
			always[s] += n * p.tables.bytes[i][p.keeps[i]]
		}
	}
	held := p.held()
	for i := range x.spots {
		s := &x.spots[i]
		now := always[s.Stage]
		for _, l := range s.Live {
			now += l.Count * held[l.Tensor]
		}
		for _, c := range s.Made {
			if p.joined(c) {
				now -= held[c]
			}
		}
		for _, e := range s.edges {
			now += p.move(e).held
		}
		if now > most {
			most, spot = now, i
		}
	}
	return most, spot
}

// joined says whether no memory holds a tensor: all of its operations are cut alike, and nothing of it moves.
func (p *plan) joined(tensor int) bool {
	y := p.tables.space.tensors[tensor]
	if !y.joined {
		return false
	}
	for _, e := range y.edges {
		if m := p.move(e); m.time != 0 || m.held != 0 {
			return false
		}
	}
	return true
}

// saved is the time that is spared where a tensor is not stored.
func (p *plan) saved(tensor int) (sum float64) {
	x := p.tables.space
	for _, e := range x.tensors[tensor].edges {
		if row := p.tables.saved[e]; row != nil {
			sum += x.times[e] * row[p.cuts[x.edges[e].op]]
		}
	}
	return sum
}

// held gives the bytes that are held of each tensor while it waits for its readers: its own or, of one that is not stored, those of what it is computed from.
func (p *plan) held() []float64 {
	x := p.tables.space
	list, seen := make([]float64, len(x.tensors)), make([]bool, len(x.tensors))
	var of func(i int) float64
	of = func(i int) float64 {
		if !seen[i] {
			seen[i] = true
			if list[i] = p.tables.bytes[i][p.keeps[i]]; p.joined(i) {
				list[i] = 0
				b, sum := &x.tensors[i].behind, 0.0
				for _, e := range b.edges {
					sum += p.move(e).held
				}
				for _, t := range b.tensors {
					sum += of(t)
				}
				list[i] = sum
			}
		}
		return list[i]
	}
	for i := range list {
		of(i)
	}
	return list
}

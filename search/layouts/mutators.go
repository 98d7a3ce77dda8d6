package layouts

import (
	"math"
	"math/rand/v2"
	"slices"

	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/meshes"
)

// Mutators are those of this space.
func (x *Space) Mutators() []search.Mutator {
	with := func(f func(x *Space, r *rand.Rand, t search.Trial) bool) func(r *rand.Rand, t search.Trial) bool {
		return func(r *rand.Rand, t search.Trial) bool { return f(x, r, t) }
	}
	m := []search.Mutator{
		{Name: "fit", Doc: "cut an operation as costs least beside its tensors as they are kept: time, and sometimes memory", On: "an operation", Mutate: with(fit)},
		{Name: "carry", Doc: "cut one dimension of an operation along an axis, and carry the axis on to all that goes along it", On: "an operation and an axis", Mutate: with(carry)},
	}
	if x.settings.has(Tensors) || x.settings.has(Leaves) {
		m = append(m,
			search.Mutator{Name: "keep", Doc: "keep a tensor as one of its operations makes or needs it", On: "a tensor", Mutate: with(keep)},
			search.Mutator{Name: "rest", Doc: "keep a tensor as costs least beside its operations as they are cut: time, and sometimes memory", On: "a tensor", Mutate: with(rest)},
			search.Mutator{Name: "recut", Doc: "cut an operation by chance, and keep its tensors as costs least beside it", On: "an operation", Mutate: with(recut)},
			search.Mutator{Name: "spread", Doc: "cut a tensor along one more axis", On: "a tensor", Mutate: with(spread)})
	}
	if len(x.meshes) > 1 {
		m = append(m, search.Mutator{Name: "mesh", Doc: "take another mesh", On: "the mesh", Mutate: func(r *rand.Rand, t search.Trial) bool {
			t[0] = uint16((int(t[0]) + 1 + r.IntN(len(x.meshes)-1)) % len(x.meshes))
			return true
		}})
	}
	return m
}

// least gives the value of a number of values that costs least, and one of those that cost as little.
func least(r *rand.Rand, values int, cost func(v int) float64) (int, bool) {
	best, low, ties := -1, math.Inf(1), 0
	for v := range values {
		switch c := cost(v); {
		case c < low:
			best, low, ties = v, c, 1
		case c == low && best >= 0:
			if ties++; r.IntN(ties) == 0 {
				best = v
			}
		}
	}
	return best, best >= 0
}

// worth draws how many seconds a byte of memory is worth: next to nothing, so that of equal times the smaller counts, or about what it is in a plan.
func (p *plan) worth(r *rand.Rand) float64 {
	if r.IntN(2) == 0 {
		return 1e-30
	}
	if all := p.time() / p.memory(); !math.IsInf(all, 0) && !math.IsNaN(all) {
		return all * math.Exp(3*r.NormFloat64())
	}
	return 1e-30
}

func fit(x *Space, r *rand.Rand, t search.Trial) bool {
	p := x.plan(t)
	return refit(&p, r, t, r.IntN(len(x.ops)), p.worth(r))
}

// Fit cuts operations and keeps tensors, of the genes that are asked for, one after the other as costs least beside the others.
func Fit(x *Space, r *rand.Rand, t search.Trial, asked func(gene int) bool) {
	for range 2 { // as tensors were not settled yet when operations were cut for the first time
		for i, o := range x.ops {
			if p := x.plan(t); asked(o.gene) {
				refit(&p, r, t, i, p.worth(r))
			}
		}
		for i, y := range x.tensors {
			if p := x.plan(t); y.gene >= 0 && asked(y.gene) {
				settle(&p, r, t, i, p.worth(r))
			}
		}
	}
}

// refit cuts an operation as costs least in a plan, where a byte is worth so many seconds, and writes that into the trial.
func refit(p *plan, r *rand.Rand, t search.Trial, i int, worth float64) bool {
	x := p.tables.space
	v, ok := least(r, len(x.ops[i].cuts), func(v int) float64 {
		p.cuts[i] = v
		sum := x.ops[i].count * p.tables.time[i][v]
		for e, d := range x.edges {
			if m := p.move(e); d.op == i {
				sum += x.times[e]*m.time + m.held*worth
				if p.joined(d.tensor) {
					sum -= p.saved(d.tensor)
				}
			}
		}
		return sum
	})
	if ok {
		t[x.ops[i].gene] = uint16(v)
	}
	return ok
}

// searched draws a tensor whose gene is searched, -1 if there is none.
func searched(x *Space, r *rand.Rand) int {
	from := r.IntN(len(x.tensors))
	for n := range x.tensors {
		if i := (from + n) % len(x.tensors); x.tensors[i].gene >= 0 {
			return i
		}
	}
	return -1
}

func rest(x *Space, r *rand.Rand, t search.Trial) bool {
	i := searched(x, r)
	if i < 0 {
		return false
	}
	p := x.plan(t)
	return settle(&p, r, t, i, p.worth(r))
}

// settle keeps a tensor as costs least in a plan, where a byte is worth so many seconds, and writes that into the trial.
func settle(p *plan, r *rand.Rand, t search.Trial, i int, worth float64) bool {
	x := p.tables.space
	y := x.tensors[i]
	v, ok := least(r, len(y.keeps), func(v int) float64 {
		p.keeps[i] = v
		sum := y.count*p.tables.bytes[i][v]*worth + y.sends*p.tables.sends[i][v].time
		if p.joined(i) {
			sum = -p.saved(i)
		}
		for _, e := range y.edges {
			m := p.move(e)
			sum += x.times[e]*m.time + m.held*worth
		}
		return sum
	})
	if ok {
		t[y.gene], p.keeps[i] = uint16(v), v
	}
	return ok
}

// recut cuts an operation by chance, and keeps its tensors as costs least beside that.
func recut(x *Space, r *rand.Rand, t search.Trial) bool {
	i := r.IntN(len(x.ops))
	o := x.ops[i]
	t[o.gene] = uint16(r.IntN(len(o.cuts)))
	p := x.plan(t)
	worth := p.worth(r)
	for _, d := range x.edges {
		if d.op == i && x.tensors[d.tensor].gene >= 0 && !settle(&p, r, t, d.tensor, worth) {
			return false
		}
	}
	return true
}

func keep(x *Space, r *rand.Rand, t search.Trial) bool {
	i := searched(x, r)
	if i < 0 {
		return false
	}
	d := x.edges[x.tensors[i].edges[r.IntN(len(x.tensors[i].edges))]]
	o := x.ops[d.op]
	need := o.operands[d.operand].needs(o, o.cuts[t[o.gene]])
	return set(t, x.tensors[i].gene, x.tensors[i].keeps, need.layout)
}

// set chooses an assignment, if it is among the values.
func set(t search.Trial, gene int, values []meshes.Assignment, a meshes.Assignment) bool {
	v := slices.Index(values, a)
	if v < 0 || gene < 0 {
		return false
	}
	t[gene] = uint16(v)
	return true
}

func spread(x *Space, r *rand.Rand, t search.Trial) bool {
	i := searched(x, r)
	if i < 0 || len(x.tensors[i].extents) == 0 || len(x.meshes[0]) == 0 {
		return false
	}
	y := x.tensors[i]
	a := y.keeps[t[y.gene]]
	a[r.IntN(len(x.meshes[0]))] = int8(r.IntN(len(y.extents)))
	return set(t, y.gene, y.keeps, a)
}

// carry follows an axis from one dimension of an operation to what goes along it, forwards and backwards, and stops where it does not fit.
func carry(x *Space, r *rand.Rand, t search.Trial) bool {
	first := r.IntN(len(x.ops))
	if len(x.meshes[0]) == 0 || len(x.ops[first].dims) == 0 {
		return false
	}
	axis := r.IntN(len(x.meshes[0]))
	dim := int8(r.IntN(len(x.ops[first].dims)+1) - 1)
	ops, kept := map[int]bool{}, map[int]bool{}
	type visit struct {
		op  int
		dim int8
	}
	queue := []visit{{first, dim}}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		o := x.ops[v.op]
		a := o.cuts[t[o.gene]]
		a[axis] = v.dim
		if ops[v.op] || !set(t, o.gene, o.cuts, a) {
			continue
		}
		ops[v.op] = true
		for _, d := range x.edges {
			if d.op != v.op || kept[d.tensor] {
				continue
			}
			y := x.tensors[d.tensor]
			need := o.operands[d.operand].needs(o, a).layout
			if y.gene >= 0 {
				b := y.keeps[t[y.gene]]
				b[axis] = need[axis]
				if !set(t, y.gene, y.keeps, b) {
					continue
				}
			}
			kept[d.tensor] = true
			for _, e := range x.edges {
				if e.tensor == d.tensor && !ops[e.op] {
					next := int8(-1)
					if k := need[axis]; k >= 0 {
						next = int8(x.ops[e.op].operands[e.operand].dims[k])
					}
					queue = append(queue, visit{e.op, next})
				}
			}
		}
	}
	return len(ops) > 0
}

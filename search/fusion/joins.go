package fusion

import (
	"slices"

	"tensortapestry.org/tapc/search/runs"
)

// Part is a step that is cut in one of the ways that there are for it.
type Part struct{ Step, Cut int }

// Joint is what becomes one kernel where what a step reads is not stored: the reader with what was joined to it already, and what makes the tensor.
type Joint struct{ Reader, Maker []Part }

// Groups says what becomes one kernel, however steps are cut.
type Groups struct {
	Steps    []runs.Step
	Makers   map[int]int  // of tensors, the step that writes it
	Unstored map[int]bool // tensors that no memory holds where all that touch them are cut alike
	// Alike gives the cut of the step that makes what an operand of a part reads, with which nothing moves between them; false if there is none.
	Alike func(p Part, operand int) (cut int, ok bool)
}

// Joint gives what is joined by an operand that is not stored.
func (g *Groups) Joint(p Part, operand int) (j Joint, ok bool) {
	j.Reader = []Part{p}
	for k := range operand {
		if maker, ok := g.maker(p, k); ok {
			j.Reader = g.with(maker, j.Reader)
		}
	}
	maker, ok := g.maker(p, operand)
	if ok {
		j.Maker = g.with(maker, nil)
	}
	return j, ok
}

// maker gives the part that makes what an operand reads, if it is joined to that.
func (g *Groups) maker(p Part, operand int) (maker Part, ok bool) {
	o := g.Steps[p.Step][operand]
	if o.Out || !g.Unstored[o.Tensor] {
		return maker, false
	}
	step, made := g.Makers[o.Tensor]
	cut, alike := g.Alike(p, operand)
	return Part{step, cut}, made && alike
}

// with adds a part and what is joined to it.
func (g *Groups) with(p Part, list []Part) []Part {
	if slices.ContainsFunc(list, func(q Part) bool { return q.Step == p.Step }) {
		return list
	}
	list = append(list, p)
	for k := range g.Steps[p.Step] {
		if maker, ok := g.maker(p, k); ok {
			list = g.with(maker, list)
		}
	}
	return list
}

// Saved is what a joint saves: what its sides take alone, less what they take together, where a side has the costs of its parts without what is not stored between them. What
// both sides have counts once. All joints of a kernel together save what is between its parts one by one and the kernel.
func (g *Groups) Saved(j Joint, take func(of []Part) float64) float64 {
	all, both := slices.Clone(j.Reader), []Part(nil)
	for _, p := range j.Maker {
		if slices.Contains(j.Reader, p) {
			both = append(both, p)
		} else {
			all = append(all, p)
		}
	}
	saved := take(j.Reader) + take(j.Maker) - take(all)
	if len(both) > 0 {
		saved -= take(both)
	}
	return max(saved, 0)
}

// Touches gives what one kernel of some parts reads and writes of memory: what several parts read by the first of them, and what they write, but for what is not stored.
func (g *Groups) Touches(of []Part, yield func(p Part, operand int)) {
	for i, p := range of {
		for k, o := range g.Steps[p.Step] {
			maker, made := g.Makers[o.Tensor]
			inside := g.Unstored[o.Tensor] && made && g.has(of, maker)
			if o.Out && !(inside && g.read(of, o.Tensor)) || !o.Out && !inside && !g.read(of[:i], o.Tensor) {
				yield(p, k)
			}
		}
	}
}

func (g *Groups) has(list []Part, step int) bool {
	return slices.ContainsFunc(list, func(p Part) bool { return p.Step == step })
}

// read says whether some of the parts read a tensor.
func (g *Groups) read(list []Part, tensor int) bool {
	return slices.ContainsFunc(list, func(p Part) bool {
		return slices.ContainsFunc(g.Steps[p.Step], func(o runs.Operand) bool { return o.Tensor == tensor && !o.Out })
	})
}

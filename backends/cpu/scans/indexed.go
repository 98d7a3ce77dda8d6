package scans

import (
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest/scan"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Indexed writes a kernel that stores values at indices that are data: a loop that stores what the other cells have, and one over the values. In an output over
// an input whose cells stay as they are, the first is left out, so that nothing is looked at but the indices themselves.
type Indexed struct {
	*cnest.Text
	nest *Nest
	*scan.Indexed
	e    *unit.Unit
	name string
}

// NewIndexed prepares a kernel. Every local value is written where it is used.
func NewIndexed(k *schedule.Kernel, name string, e *unit.Unit, found *scan.Indexed) *Indexed {
	n := newNest(k, e.Buffers, e.W, new(cnest.Text))
	for i, s := range k.Statements {
		if s.Store < 0 {
			n.kinds[i] = inline
		}
	}
	return &Indexed{n.Text, n, found, e, name}
}

func (p *Indexed) kernel() *schedule.Kernel { return p.nest.Kernel }

// stored is the statement whose results are stored.
func (p *Indexed) stored() *schedule.Statement { return &p.kernel().Statements[p.Statement] }

// Write writes the whole kernel.
func (p *Indexed) Write() string {
	first, rest := p.results()
	kept := p.kept()
	if !kept {
		p.task("others", first, func() { p.others(rest) })
	}
	p.task("values", p.Outer, p.values)
	p.Line("")
	p.e.Open(p.Text, p.name)
	if !kept {
		p.region("others", first, rest, unit.PackRate)
	}
	p.region("values", p.Outer, append(slices.Clone(p.Inner), p.Scatter.Reduce.Over...), unit.PackRate)
	p.Close()
	return p.String()
}

// results are the loops of the results: those up to the first of more than one value, which is split between threads, and the others.
func (p *Indexed) results() (first, rest []int) {
	for _, l := range p.stored().Over {
		rest = append(rest, int(l))
	}
	n := 1 + slices.IndexFunc(rest, func(l int) bool { return p.kernel().Loops[l].Extent() > 1 })
	return rest[:n], rest[n:]
}

// kept says whether cells that no value is for stay as they are.
func (p *Indexed) kept() bool {
	output := p.kernel().Operands[p.stored().Store].Buffer
	over := p.e.Buffers[output].Over
	if over == ir.NoNode {
		return false
	}
	u, ok := schedule.UpdateOf(p.kernel(), output, over)
	return ok && u.Kept(p.kernel(), p.Otherwise)
}

// points is how many points some loops have together.
func (p *Indexed) points(loops []int) int64 {
	n := int64(1)
	for _, l := range loops {
		n *= p.kernel().Loops[l].Extent()
	}
	return n
}

// task writes a function that writes something at some of the points of some loops.
func (p *Indexed) task(what string, loops []int, write func()) {
	unit.Task(p.Text, "", p.name+"_"+what, "")
	pointers(p.nest, p.e)
	p.Open("for (int64_t point = begin; point < end; point++) {")
	rest := p.points(loops)
	for _, l := range loops {
		extent := p.kernel().Loops[l].Extent()
		rest /= extent
		p.Line("const int64_t %s = point / %d %% %d + %d;", Variable(l), rest, extent, p.kernel().Loops[l].Start)
		p.Line("(void)%s;", Variable(l))
	}
	write()
	p.Close(2)
}

// region writes the call of a task for all points of its loops, at each of which it takes some bytes of results at a rate.
func (p *Indexed) region(what string, loops, inner []int, rate float64) {
	n, element := p.points(loops), p.kernel().Operands[p.stored().Store].Type().Size()
	bytes := float64(n) * float64(p.points(inner)) * float64(element)
	p.Line("tapc_parallel(pool, %d, %s, %s_%s, (void *)b);", n, unit.Each(bytes/rate, n), p.name, what)
}

// store stores a value at the present point.
func (p *Indexed) store(value *scalar.Expr) {
	n := p.nest
	to := int(n.Kernel.Statements[p.Statement].Store)
	n.folds(value)
	n.Line("p%d[%s] = %s;", to, n.address(to), n.w.Store(n.Kernel.Operands[to].Type(), n.w.Expr(value, n)))
}

// each writes something inside some loops.
func (p *Indexed) each(loops []int, write func()) {
	for _, l := range loops {
		p.nest.forLoop(l)
	}
	write()
	p.nest.Close(len(loops))
}

// others stores what cells have that no value is for, for the points of some loops.
func (p *Indexed) others(loops []int) {
	p.each(loops, func() { p.store(p.Otherwise) })
}

// values stores the values, in order, at one point of the outer loops.
func (p *Indexed) values() {
	p.each(p.Scatter.Reduce.Over, func() {
		if p.Late {
			p.each(p.Inner, func() { p.atIndices(func() { p.store(p.Value) }) })
		} else {
			p.atIndices(func() { p.each(p.Inner, func() { p.store(p.Value) }) })
		}
	})
}

// atIndices writes something where the present value goes, if it goes anywhere.
func (p *Indexed) atIndices(write func()) {
	depth := openTargets(p.nest, p.Scatter)
	write()
	p.nest.Close(depth)
}

package loops

import (
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest/scan"
	"tensortapestry.org/tapc/ir"
)

// Indexed writes a kernel that stores values at indices that are data: a loop that stores what the other cells have, and one over the values. In an output over
// an input whose cells stay as they are, the first is left out, so that nothing is looked at but the indices themselves.
type Indexed struct {
	*cnest.Text
	code *cnest.Indexed
	e    *unit.Unit
	name string
}

// NewIndexed prepares a kernel.
func NewIndexed(k *schedule.Kernel, name string, e *unit.Unit, p *scan.Indexed) *Indexed {
	text := new(cnest.Text)
	return &Indexed{text, cnest.NewIndexed(k, e.Buffers, e.W, text, p), e, name}
}

func (p *Indexed) kernel() *schedule.Kernel { return p.code.Nest.Kernel }

// stored is the statement whose results are stored.
func (p *Indexed) stored() *schedule.Statement { return &p.kernel().Statements[p.code.Statement] }

// Write writes the whole kernel.
func (p *Indexed) Write() string {
	first, rest := p.results()
	kept := p.kept()
	if !kept {
		p.task("others", first, func() { p.code.Others(rest) })
	}
	p.task("values", p.code.Outer, p.code.Values)
	p.Line("")
	p.e.Open(p.Text, p.name)
	if !kept {
		p.region("others", first, rest, unit.PackRate)
	}
	p.region("values", p.code.Outer, append(slices.Clone(p.code.Inner), p.code.Scatter.Reduce.Over...), unit.PackRate)
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
	return ok && u.Kept(p.kernel(), p.code.Otherwise)
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
	pointers(p.code.Nest, p.e)
	p.Open("for (int64_t point = begin; point < end; point++) {")
	rest := p.points(loops)
	for _, l := range loops {
		extent := p.kernel().Loops[l].Extent()
		rest /= extent
		p.Line("const int64_t %s = point / %d %% %d + %d;", cnest.Variable(l), rest, extent, p.kernel().Loops[l].Start)
		p.Line("(void)%s;", cnest.Variable(l))
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

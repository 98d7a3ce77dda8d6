package cnest

import (
	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest/scan"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Indexed writes a kernel that stores values at indices that are data, and elsewhere what there is without them.
type Indexed struct {
	Nest *Nest
	*scan.Indexed
}

// NewIndexed makes the writer. Every local value is written where it is used.
func NewIndexed(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, w *cexpr.Writer, text *Text, p *scan.Indexed) *Indexed {
	n := New(k, buffers, w, text)
	for i, s := range k.Statements {
		if s.Store < 0 {
			n.kinds[i] = inline
		}
	}
	return &Indexed{n, p}
}

// store stores a value at the present point.
func (p *Indexed) store(value *scalar.Expr) {
	n := p.Nest
	to := int(n.Kernel.Statements[p.Statement].Store)
	n.folds(value)
	n.Line("p%d[%s] = %s;", to, n.address(to), n.w.Store(n.Kernel.Operands[to].Type(), n.w.Expr(value, n)))
}

// each writes something inside some loops.
func (p *Indexed) each(loops []int, write func()) {
	for _, l := range loops {
		p.Nest.forLoop(l)
	}
	write()
	p.Nest.Close(len(loops))
}

// Others stores what cells have that no value is for, for the points of some loops.
func (p *Indexed) Others(loops []int) {
	p.each(loops, func() { p.store(p.Otherwise) })
}

// Values stores the values, in order, at one point of the outer loops.
func (p *Indexed) Values() {
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
	depth := openTargets(p.Nest, p.Scatter)
	write()
	p.Nest.Close(depth)
}

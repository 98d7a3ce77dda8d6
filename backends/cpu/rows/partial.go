package rows

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// partialOf is how the one reduction of a kernel with few tasks is split among threads: the outermost dimension that is reduced is cut
// where blocks of the sum's tree begin, threads put the accumulators of each block in scratch memory, and a cell begins with
// joining them. The tree, so every bit of a sum, is the one that a single thread follows.
type partial struct {
	r       *Kernel
	reduce  *scalar.Expr
	axis    string // the variable of the dimension that is cut
	extent  int64  // of that
	step    int64  // of its innermost loop
	size    int64  // of a block, in values
	top     int64  // of the largest blocks of the tree, or of any if it has none
	least   int64  // of the smallest blocks that a thread may have
	unroll  int64  // accumulators of a block,
	vectors int64  // for each of so many vectors of results of a row
	slot    int
}

const partialBytes = 4 << 20 // of accumulators at most

// partialOf finds how a kernel's reduction can be split among threads; nil if it cannot.
func partialOf(r *Kernel) *partial {
	reduce := onlyReduction(r)
	if reduce == nil || len(r.kept)+len(r.r.Splits)+len(r.p.Ahead) > 0 || r.span != nil {
		return nil
	}
	p := &partial{r: r, reduce: reduce, unroll: 1, vectors: 1, step: 1}
	over := r.over(reduce.Over)
	if r.r.Free {
		p.vectors = (r.lane.Extent + int64(r.p.N) - 1) / int64(r.p.N)
	} else {
		over = over[:len(over)-1]
		p.unroll = accumulatorsOf(r, reduce.Args[0], false)
	}
	if len(over) > 0 {
		p.axis, p.extent = over[0].Variable, over[0].Extent
	} else {
		p.axis, p.step = "j0", int64(r.p.N)*p.unroll
		p.extent = r.lane.Extent / p.step * p.step
	}
	p.top, p.least = p.step, p.step
	if w := p.sweep(); w.blocked() {
		for p.top*nest.SumBlock < p.extent {
			p.top *= nest.SumBlock
		}
		if !w.nested(over) {
			p.least *= nest.SumBlock
		}
	} else {
		p.top = p.extent - 1
	}
	return p
}

// of cuts the reduction into blocks of a size.
func (p *partial) of(size int64) *partial {
	p.size = size
	return p
}

// sizes lists those that blocks can have: where blocks of the sum's tree begin, of which the accumulators are not too many.
func (p *partial) sizes() (out []int64) {
	for p.size = p.least; p.size < p.extent && p.size <= p.top; p.size *= nest.SumBlock {
		if p.bytes() <= partialBytes {
			out = append(out, p.size)
		}
	}
	return out
}

// sweep is the sweep of the reduction.
func (p *partial) sweep() *sweep {
	return &sweep{r: p.r, body: p.reduce.Args[0], reduce: p.reduce, name: "a0", unroll: p.unroll}
}

// count is how many blocks there are.
func (p *partial) count() int64 { return (p.extent + p.size - 1) / p.size }

// bytes is the size of all accumulators.
func (p *partial) bytes() int64 {
	n := p.vectors * p.unroll * int64(p.r.p.N) * int64(p.reduce.Type.Wide().Size())
	for _, a := range p.r.Outer {
		n = min(n, 1<<40/a.Extent) * a.Extent
	}
	return min(n, 1<<40/p.count()) * p.count()
}

// write writes the whole kernel.
func (p *partial) write() string {
	r := p.r
	p.slot = r.e.Scratch(p.bytes())
	r.decided.jam.functions(r, "block", func(r *Kernel, name string) {
		q := *p
		q.r = r
		q.block(name)
	})
	p.blockTask()
	n := tasks(r) * p.count()
	r = (*jam)(nil).with(r)
	p.r = r
	p.cell()
	r.task()
	r.e.Open(r.Text, r.name)
	unit.Region(r.Text, true, fmt.Sprint(n), unit.Each(r.e.Nanoseconds(r.k, unit.VectorRate*float64(r.p.N)), n), r.name+"_block_task", "(void *)b")
	region(r, float64(p.bytes())/unit.PackRate)
	r.Close()
	return r.String()
}

// sums writes the vector type of the accumulators, and where those of the first block of a cell are.
func (p *partial) sums(w *sweep) (typ, at string) {
	at = point.Index(p.r.p.Axes[:len(p.r.Outer)])
	if at == "" {
		at = "0"
	}
	if p.r.r.Free {
		at = fmt.Sprintf("(%s) * %d + j / %d", at, p.vectors, p.r.p.N)
	}
	typ = p.r.p.V.Type(w.acc.Type, p.r.p.N)
	return typ, fmt.Sprintf("(%s *)b[%d] + (%s) * %d", typ, p.slot, at, p.count()*p.unroll)
}

// begin opens a function of a cell, with some more parameters.
func (p *partial) begin(name, more string, results bool) {
	p.r.function("void", name, more+parametersOf(p.r))
	p.r.declare(results)
	p.r.Line("// %s", cnest.Clip(p.reduce.Format(p.r.k)))
}

// block writes the function of one block of a cell, or of those that are jammed: number t.
func (p *partial) block(name string) {
	r, w := p.r, p.sweep()
	p.begin(name, ", int64_t t", false)
	outside, over := w.enter(r.over(p.reduce.Over))
	from, to := fmt.Sprintf("t * %d", p.size), fmt.Sprintf("(t + 1) * %d", p.size)
	if p.extent%p.size != 0 {
		to = fmt.Sprintf("(%s < %d ? %s : %d)", to, p.extent, to, p.extent)
	}
	size := p.step
	if w.blocked() {
		size = max(p.step, p.size/nest.SumBlock)
	}
	w.block(p.axis, from, to, size, p.step, w.name, func(acc string) {
		switch {
		case len(over) == 0:
			w.several("j0", p.unroll, acc)
		case p.size > 1 && w.nested(over):
			w.partial(acc, func(part string) { w.loops(over[1:], part) })
		default:
			w.loops(over[1:], acc)
		}
	})
	r.decided.jam.each(r, func(cell int64) {
		typ, at := p.sums(w)
		r.Line("%s *const sums = %s + t * %d;", typ, at, p.unroll)
		r.Line("for (int u = 0; u < %d; u++) sums[u] = %s[%s];", p.unroll, w.name, w.of(cell, "u"))
	})
	r.p = outside
	r.Close()
}

// blockTask writes what a thread does: some blocks.
func (p *partial) blockTask() {
	r, at := p.r, point.Coordinates(p.r.Outer, "")
	unit.Task(r.Text, "", r.name+"_block_task", "")
	r.Open("for (int64_t block = begin; block < end; block++) {")
	r.Line("const int64_t t = block %% %d, cells = block / %d;", p.count(), p.count())
	r.Line("(void)cells;")
	if cut := coordinates(r, "cells"); r.r.Free {
		r.vectors(cut, func(j, live, inside string) string {
			if inside = ", " + inside; !r.interior.guarded {
				inside = ""
			}
			return r.decided.jam.call(r, "block", fmt.Sprintf("b%s, t, %s, %s%s", at, j, live, inside))
		})
	} else {
		r.Line("%s", r.decided.jam.call(r, "block", fmt.Sprintf("b%s, t", at)))
	}
	r.Close(2)
}

// cell writes the function of one cell, which joins what blocks give and goes on.
func (p *partial) cell() {
	r, w := p.r, p.sweep()
	p.begin("cell", "", true)
	for _, i := range r.used() {
		r.Line("(void)p%d;", i)
	}
	outside, over := w.enter(r.over(p.reduce.Over))
	typ, at := p.sums(w)
	r.Line("const %s *const sums = %s;", typ, at)
	size := int64(1)
	if w.blocked() {
		size = max(1, p.top/p.size)
	}
	w.block("t", "0", fmt.Sprint(p.count()), size, 1, w.name, func(acc string) {
		sum, part := w.acc, w.acc
		sum.Text, part.Text = acc+"[u]", fmt.Sprintf("sums[t * %d + u]", p.unroll)
		args := []vector.Value{sum, part}
		if m := p.reduce.Monoid; m == scalar.Min || m == scalar.Max {
			slices.Reverse(args) // as values are taken in: which of two zeros or NaN stays is the same
		}
		r.Line("for (int u = 0; u < %d; u++) %s = %s;", p.unroll, sum.Text, r.p.V.Apply(p.reduce.Monoid, p.reduce.Type, r.p.N, args, false).Text)
	})
	if len(over) == 0 { // lanes were cut
		w.behind(w.name)
	}
	w.leave(outside)
	for i, s := range r.k.Statements {
		r.statement(i, s)
	}
	r.Close()
}

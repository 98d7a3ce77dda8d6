package rewrite

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/parts"
	"tensortapestry.org/tapc/ir"
)

// driver is one run over one graph.
type driver struct {
	ctx     context.Context
	opt     Options
	rules   []Rule
	hits    []int
	refused int
	removed int
	next    *Change // the application that fuel was missing for, if it ran out
	index   *index
	kernels *kernelTable
	work    worklist
	cycle   trail
}

func newDriver(ctx context.Context, g *ir.Graph, rules []Rule, opt Options) (*driver, error) {
	opt.Library = cmp.Or(opt.Library, kernels.Builtin())
	parts.Forget(g) // what a rule changes is not what a cut made
	table := newKernelTable(rules, opt)
	ix, err := newIndex(g, table, opt.Outputs)
	if err != nil {
		return nil, err
	}
	order, err := ix.order()
	if err != nil {
		return nil, err
	}
	if opt.Limit == 0 {
		opt.Limit = 100*len(ix.ops) + 10000
	}
	d := &driver{ctx: ctx, opt: opt, rules: rules, hits: make([]int, len(rules)), index: ix, kernels: table}
	d.work.start(order, g.Bound())
	d.cycle.start(g.Bound(), opt.Limit)
	return d, nil
}

func (d *driver) run() error {
	site := Site{Graph: d.index.g, driver: d}
	for steps := 0; ; steps++ {
		op, ok := d.work.pop()
		if !ok || d.next != nil {
			return nil
		}
		if steps%1024 == 0 && d.ctx.Err() != nil {
			return context.Cause(d.ctx)
		}
		body := tensorops.OperationOf(d.index.g, op)
		if body == nil || d.index.is(op, pinned) {
			continue
		}
		site.Node, site.Op, site.kernel = d.index.g.Node(op), body, d.index.kernelOf(op)
		if err := d.rewrite(&site); err != nil {
			return err
		}
	}
}

// rewrite applies the first rule that fits a site.
func (d *driver) rewrite(s *Site) error {
	producers := d.index.producers(s.Op)
	for _, at := range s.kernel.rules {
		i, r := at.rule, &d.rules[at.rule]
		if at.needs&^producers != 0 {
			continue
		}
		result, ok := r.Match(s)
		if !ok {
			continue
		}
		p, ok := d.plan(s, &result)
		if !ok {
			d.refused++
			continue
		}
		if !d.opt.Fuel.Take() {
			d.next = &Change{r.Name, s.Node.ID, r.Source}
			return nil
		}
		if err := d.cycle.step(s.Node.ID, i); err != nil {
			return d.cycleError(s.Node.ID)
		}
		if d.opt.Verify {
			if err := d.verify(s, &result); err != nil {
				return fmt.Errorf("rule %s at %s: %w", r.Name, d.index.g.Name(s.Node.ID), err)
			}
		}
		d.hits[i]++
		if d.opt.Trace != nil {
			d.opt.Trace(Change{r.Name, s.Node.ID, r.Source})
		}
		d.carryOut(s, r, &result, p)
		return nil
	}
	return nil
}

func (d *driver) cycleError(at ir.NodeID) error {
	e := &CycleError{Node: d.index.g.Name(at), Limit: d.cycle.applied}
	for _, i := range d.cycle.period() {
		e.Rules, e.Sources = append(e.Rules, d.rules[i].Name), append(e.Sources, d.rules[i].Source)
	}
	return e
}

func (d *driver) stats() Stats {
	s := Stats{Hits: make([]Hit, len(d.rules)), Refused: d.refused, Removed: d.removed, OutOfFuel: d.next != nil, Next: d.next}
	for i, r := range d.rules {
		s.Hits[i] = Hit{r.Name, d.hits[i]}
		s.Applied += d.hits[i]
	}
	return s
}

// wake puts an operation on the worklist, and those that a rule may see it from.
func (d *driver) wake(op ir.NodeID, depth int) {
	d.work.push(op)
	if depth <= 1 {
		return
	}
	body := tensorops.OperationOf(d.index.g, op)
	if body == nil {
		return
	}
	for _, p := range body.Outputs.Each() {
		for i := range p.Sel {
			d.index.consumers(p.Sel[i].Tensor, func(c ir.NodeID) { d.wake(c, depth-1) })
		}
	}
}

// worklist holds operations to look at. It goes through them in rising order of position, again and again until none waits.
type worklist struct {
	order   []ir.NodeID // by position
	at      []int32     // position by NodeID; -1 for none
	pending []uint64    // bits by position
	word    int
	waiting int
}

func (w *worklist) start(order []ir.NodeID, bound int) {
	w.order = order
	w.at = fill(w.at, bound, -1)
	w.pending = make([]uint64, (len(order)+63)/64)
	for i, op := range order {
		w.at[op] = int32(i)
		w.pending[i/64] |= 1 << (i % 64)
	}
	w.waiting = len(order)
}

// push puts an operation on the list; one that is new to it comes last.
func (w *worklist) push(op ir.NodeID) {
	if int(op) >= len(w.at) {
		w.at = fill(w.at, int(op)+1-len(w.at), -1)
	}
	if w.at[op] < 0 {
		w.at[op] = int32(len(w.order))
		w.order = append(w.order, op)
		if len(w.pending)*64 < len(w.order) {
			w.pending = append(w.pending, 0)
		}
	}
	i := w.at[op]
	if bit := uint64(1) << (i % 64); w.pending[i/64]&bit == 0 {
		w.pending[i/64] |= bit
		w.waiting++
	}
}

// pop takes the next operation off the list.
func (w *worklist) pop() (ir.NodeID, bool) {
	if w.waiting == 0 {
		return ir.NoNode, false
	}
	for w.pending[w.word] == 0 {
		w.word = (w.word + 1) % len(w.pending)
	}
	i := bits.TrailingZeros64(w.pending[w.word])
	w.pending[w.word] &^= 1 << i
	w.waiting--
	return w.order[w.word*64+i], true
}

// trail counts applications and remembers the last ones, so that rules that undo each other are found and named.
type trail struct {
	at      []uint16 // applications by NodeID
	limit   int
	applied int
	last    [256]int32 // rules of the last applications, a ring
}

// atOnePlace bounds the applications at one operation.
const atOnePlace = 4096

func (t *trail) start(bound, limit int) { t.at, t.limit = make([]uint16, bound), limit }

// step counts one application and says whether a limit is passed.
func (t *trail) step(op ir.NodeID, rule int) error {
	if int(op) >= len(t.at) {
		t.at = fill(t.at, int(op)+1-len(t.at), 0)
	}
	t.last[t.applied%len(t.last)] = int32(rule)
	t.applied++
	t.at[op]++
	if t.at[op] > atOnePlace || t.applied > t.limit {
		return errEndless
	}
	return nil
}

// inherit counts the applications at an operation for one that was made from it too.
func (t *trail) inherit(from, to ir.NodeID) {
	if int(to) >= len(t.at) {
		t.at = fill(t.at, int(to)+1-len(t.at), 0)
	}
	t.at[to] = max(t.at[to], t.at[from])
}

var errEndless = fmt.Errorf("rewriting does not end")

// period gives the rules that took turns at the end, in order: the shortest run that the trail repeats, or the last rules.
func (t *trail) period() []int32 {
	n := min(t.applied, len(t.last))
	tail := make([]int32, n)
	for i := range tail {
		tail[i] = t.last[(t.applied-n+i)%len(t.last)]
	}
	for p := 1; p <= n/2; p++ {
		if slices.Equal(tail[n-p:], tail[n-2*p:n-p]) && repeats(tail, p) {
			return tail[n-p:]
		}
	}
	return tail[max(0, n-8):]
}

// repeats says whether the last half of a list repeats with a period.
func repeats(list []int32, p int) bool {
	for i := len(list) - 1; i-p >= len(list)/2; i-- {
		if list[i] != list[i-p] {
			return false
		}
	}
	return true
}

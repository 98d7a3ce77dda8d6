package fuse

import (
	"slices"

	"tensortapestry.org/tapc/ir/affine"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/fuse/access"
)

// part is a box of a mover's loops in which it moves the elements of one operand.
type part struct {
	load     int
	box      zspace.Range
	producer ir.NodeID        // that stores them where they are moved to
	stored   *schedule.Kernel // as it is then; nil if they are still moved
}

// store lets the kernels whose results another only moves store them where they are moved to: in another order, in another shape, or as
// parts of a concatenation. Of parts that can not be stored so each has a mover of its own.
func (f *fuser) store(id ir.NodeID, k *schedule.Kernel, may func(kernel ir.NodeID) bool) bool {
	parts, ok := partsOf(k)
	if !ok {
		return false
	}
	any := false
	for i := range parts {
		any = f.storedPart(id, k, &parts[i]) || any
	}
	app, single := f.application(k)
	if !any || len(parts) > 1 && !(single && boxes(k, parts)) || !may(id) {
		return false
	}
	f.scatter(id, k, parts, app)
	return true
}

// boxes says whether the parts of a mover go to boxes, as those of an interleave do not: what an application puts out is one.
func boxes(k *schedule.Kernel, parts []part) bool {
	to := k.Operands[k.Statements[len(k.Statements)-1].Store].Access
	return !slices.ContainsFunc(parts, func(p part) bool {
		first, last, err := to.Hull(p.box)
		if err != nil {
			return true
		}
		for d := range last {
			last[d]++
		}
		return !access.Wholly(to, p.box, zspace.Range{Start: first, End: last})
	})
}

// partsOf gives the boxes of the loops of a kernel that only moves, in each of which it moves one operand.
func partsOf(k *schedule.Kernel) ([]part, bool) {
	last := len(k.Statements) - 1
	if last < 0 || k.Statements[last].Store < 0 || slices.ContainsFunc(k.Statements[:last], func(s schedule.Statement) bool { return s.Store >= 0 }) {
		return nil, false
	}
	value := inlined(k, last)
	if value == nil || k.Space().Empty() {
		return nil, false
	}
	var parts []part
	rest := k.Space()
	for value.Op == scalar.Where {
		loop, from, to, ok := interval(k, rest, value.Args[0])
		if !ok || value.Args[1].Op != scalar.Load || from != rest.Start[loop] {
			return nil, false
		}
		p := part{load: value.Args[1].Ref, box: rest.Clone()}
		p.box.End[loop] = to
		rest.Start[loop] = to
		parts = append(parts, p)
		if rest.Empty() {
			return parts, true
		}
		value = value.Args[2]
	}
	return append(parts, part{load: value.Ref, box: rest}), value.Op == scalar.Load
}

// interval gives the values of the one loop that a condition speaks of, inside a box, at which it holds.
func interval(k *schedule.Kernel, box zspace.Range, condition *scalar.Expr) (loop int, from, to int64, ok bool) {
	sums, ok := affine.Borders(condition)
	if !ok || len(sums) == 0 {
		return 0, 0, 0, false
	}
	loop = slices.IndexFunc(sums[0].Factors, func(f int64) bool { return f != 0 })
	if loop < 0 {
		return 0, 0, 0, false
	}
	from, to, ok = nest.Interval(k, loop, condition)
	start := k.Loops[loop].Start
	from, to = max(from+start, box.Start[loop]), min(to+start, box.End[loop])
	return loop, from, to, ok && from < to
}

// application gives the one application of a kernel, if it is of an operation without a signature, and can be cut into some that select nothing of what others move: of
// numbers without dimensions there is no empty part.
func (f *fuser) application(k *schedule.Kernel) (*ir.Node, bool) {
	if len(k.Applications) != 1 {
		return nil, false
	}
	n := f.g.Node(k.Applications[0])
	app := n.Body.(*application.Application)
	cut := len(application.PlacementOf(n)) == 1 && tensorops.SignatureOf(f.g.Node(app.Operation)) == nil && tensorops.IndexOf(n) == nil && app.Outputs.Len() == 1 && len(app.Outputs.At(0).Sel) == 1
	app.Inputs.All(func(_, _ int, sel *ir.Selection) { cut = cut && sel.Range().Rank() > 0 })
	return n, cut
}

// storedPart finds the kernel that stores what a part moves, if only the mover reads it, and makes it one that stores it where it is moved to.
func (f *fuser) storedPart(id ir.NodeID, k *schedule.Kernel, p *part) bool {
	from := k.Operands[p.load]
	t, ok := body[*schedule.Buffer](f.g, from.Buffer)
	reads := 0
	for _, o := range k.Operands {
		if o.Buffer == from.Buffer {
			reads++
		}
	}
	by := f.present(f.writers[from.Buffer])
	if !ok || t.Space != schedule.Arena || reads != 1 || len(by) != 1 || !slices.Equal(f.readersOf(from.Buffer), []ir.NodeID{id}) {
		return false
	}
	c, ok := body[*schedule.Kernel](f.g, by[0])
	if !ok || c.Device != k.Device || f.storesOver(k, c) || !access.Wholly(from.Access, p.box, t.Range) {
		return false
	}
	p.producer = by[0]
	p.stored = f.prices.storing(c, k, p)
	return p.stored != nil
}

// storing gives a kernel that stores where a part of a mover's elements go, or nil if that can not be or would not pay.
func (f *prices) storing(c, k *schedule.Kernel, p *part) *schedule.Kernel {
	from, to := k.Operands[p.load], k.Operands[k.Statements[len(k.Statements)-1].Store]
	out, ok := onlyWrite(c, from.Buffer)
	if !ok {
		return nil
	}
	x := *c
	x.Operands, x.Statements = slices.Clone(c.Operands), slices.Clone(c.Statements)
	loops, ok := access.Reversed(&x, out, from.Access, p.box)
	if !ok {
		return nil
	}
	x.Operands[out].Buffer, x.Operands[out].Access = to.Buffer, access.Compose(to.Access, loops)
	if !f.storesWell(c, &x, k, p) {
		return nil
	}
	return &x
}

// onlyWrite gives the operand that a kernel stores to a buffer through, if it is the only one of that buffer, and the kernel stores
// every point of one statement's loops there.
func onlyWrite(c *schedule.Kernel, buffer ir.NodeID) (operand int, ok bool) {
	operand = -1
	for i, o := range c.Operands {
		if o.Buffer == buffer {
			if operand >= 0 || o.Mode != schedule.Write {
				return 0, false
			}
			operand = i
		}
	}
	n := 0
	for _, s := range c.Statements {
		if int(s.Store) == operand {
			n++
		}
	}
	return operand, operand >= 0 && n == 1
}

// products is how many products make a result. Where they do not all run at once, results are read again, which is slower from a part of
// wider rows than from a buffer of their own.
func products(c *nest.Contraction) int64 {
	n := int64(1)
	for _, d := range c.Reduction {
		n *= d.Extent
	}
	return n
}

// storesWell says whether a kernel that stores elsewhere is what it was, with the same sums, and takes no more loads than it and the mover.
func (f *prices) storesWell(c, x, k *schedule.Kernel, p *part) bool {
	before, after := f.first(c), f.first(x)
	if len(before) != len(after) {
		return false
	}
	if len(before) == 0 {
		return true
	}
	switch a := before[0].(type) {
	case *nest.Contraction:
		b, ok := after[0].(*nest.Contraction)
		return ok && (p.box.Equal(k.Space()) || products(a) <= nest.LongReduction) && a.Row.Extent == b.Row.Extent && a.Col.Extent == b.Col.Extent && a.Transposed == b.Transposed && (a.Window == nil) == (b.Window == nil) &&
			slices.EqualFunc(a.Reduction, b.Reduction, func(x, y nest.Dim) bool { return x.Extent == y.Extent })
	case *nest.Rows:
		b, ok := after[0].(*nest.Rows)
		mover := *k
		mover.Loops = inside(k.Loops, p.box)
		return ok && len(c.Loops) == len(x.Loops) && a.SumsLike(b) && rowLoads(b, x) <= rowLoads(a, c)+f.loads(&mover)
	}
	return false
}

package fuse

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/fuse/access"
	"tensortapestry.org/tapc/passes/fuse/join"
)

// chain joins a product with what makes the lines of its left operand, back to the product that these come from, if the whole is
// a nest.BackToBack: an attention, whose scores then exist for a block of queries at a time only. Each value is computed once, as before.
// A device without threads that go through loops of their own has none that could hold a block.
func (f *fuser) chain(id ir.NodeID, k *schedule.Kernel, may func(kernel ir.NodeID) bool) bool {
	if d, ok := body[*schedule.Device](f.g, k.Device); !ok || !d.Type.Has(schedule.Thread) {
		return false
	}
	for _, factor := range factorsOf(k) {
		l := &linker{f: f, whole: k, members: []ir.NodeID{id}}
		if l.add(factor) && l.grow() && l.waitsOnly() && may(id) {
			l.commit()
			return true
		}
	}
	return false
}

// factorsOf gives the operands that a kernel sums the products of, if it folds nothing else.
func factorsOf(k *schedule.Kernel) []int {
	var out []int
	sums := 0
	for _, s := range k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op != scalar.Reduce {
				return true
			}
			sums++
			if e.Monoid == scalar.Add && e.Args[0].Op == scalar.Mul && e.Args[0].Args[0].Op == scalar.Load && e.Args[0].Args[1].Op == scalar.Load {
				out = append(out, e.Args[0].Args[0].Ref, e.Args[0].Args[1].Ref)
			}
			return false
		})
	}
	if sums != 1 {
		return nil
	}
	return out
}

// linker joins kernels that end in a product, without a change of the graph until the whole is one that can be carried out.
type linker struct {
	f       *fuser
	whole   *schedule.Kernel
	members []ir.NodeID // the product first, then each before those that read it
}

// mostLinks is how many kernels are joined with a product at most: products of queries and keys, what finds rows without any key,
// the softmax, and one more.
const mostLinks = 4

// grow joins the kernels that the lines come from until the whole is a chain.
func (l *linker) grow() bool {
	for len(l.members) <= mostLinks {
		if c, ok := nest.FindBackToBack(l.whole, l.f.prices.buffersOf(l.whole)); ok {
			return c.Middle != nil && c.Row >= 0 && blocked(c.First) && blocked(c.Last) && c.First.InnerReduction() <= nest.LongReduction
		}
		if !slices.ContainsFunc(l.lineOperands(), l.add) {
			return false
		}
	}
	return false
}

// blocked says whether each element of the right operand of a product is used so often, or is placed so that it is copied in order first, that blocks of lines pay.
func blocked(c *nest.Contraction) bool {
	return c.Constant.Right || c.Window != nil || c.Col.Step(c.Views[c.Right]) != 1 || c.Uses() >= nest.ManyUses
}

// lineOperands gives the operands that the local values are made of.
func (l *linker) lineOperands() []int {
	k := l.whole
	needed := make([]bool, len(k.Statements))
	var out []int
	for i, s := range slices.Backward(k.Statements) {
		s.Value.Walk(func(e *scalar.Expr) bool {
			switch {
			case e.Op == scalar.Reduce && e.Monoid == scalar.Add && e.Args[0].Op == scalar.Mul && !needed[i]: // the last product
				for _, a := range e.Args[0].Args {
					if a.Op == scalar.Local {
						needed[a.Ref] = true
					}
				}
				return false
			case e.Op == scalar.Local && needed[i]:
				needed[e.Ref] = true
			case e.Op == scalar.Load && needed[i] && !slices.Contains(out, e.Ref):
				out = append(out, e.Ref)
			}
			return true
		})
	}
	slices.Sort(out)
	return out
}

// add joins the kernel that writes an operand, if nothing else reads that and each of its elements becomes one local value.
func (l *linker) add(operand int) bool {
	g, buffer := l.f.g, l.whole.Operands[operand].Buffer
	b, ok := body[*schedule.Buffer](g, buffer)
	if !ok || b.Space != schedule.Arena {
		return false
	}
	for _, r := range l.f.readersOf(buffer) {
		if !slices.Contains(l.members, r) {
			return false
		}
	}
	id, k, ok := l.writer(buffer)
	if !ok || !access.Folds(k, access.AnyLoop) || l.f.storesOver(l.whole, k) {
		return false
	}
	var in []int
	for i, o := range l.whole.Operands {
		if o.Buffer == buffer {
			in = append(in, i)
		}
	}
	j, ok := l.joiner(k, in)
	if !ok {
		return false
	}
	j.Together()
	l.whole = j.Join()
	l.members = append(l.members, id)
	return true
}

// writer gives the kernel that alone writes a buffer, and nothing else.
func (l *linker) writer(buffer ir.NodeID) (id ir.NodeID, k *schedule.Kernel, ok bool) {
	by := l.f.writers[buffer]
	if len(by) != 1 {
		return 0, nil, false
	}
	k, ok = body[*schedule.Kernel](l.f.g, by[0])
	if !ok || l.f.fixed.Has(by[0]) || k.Device != l.whole.Device {
		return 0, nil, false
	}
	several := slices.ContainsFunc(k.Operands, func(o schedule.Operand) bool { return o.Mode == schedule.Write && o.Buffer != buffer })
	return by[0], k, !several
}

// joiner prepares the joining of a producer whose result some operands of the whole read, if all of them read each element at the
// same values of its loops.
func (l *linker) joiner(k *schedule.Kernel, in []int) (*join.Joiner, bool) {
	out := slices.IndexFunc(k.Operands, func(o schedule.Operand) bool { return o.Mode == schedule.Write })
	written, err := access.Reach(k, out)
	if err != nil {
		return nil, false
	}
	for _, i := range in {
		read, err := access.Reach(l.whole, i)
		if err != nil || !read.Equal(written) || !paired(k, out, l.whole, i) {
			return nil, false
		}
	}
	if !access.StoredOver(k) {
		return nil, false
	}
	first := join.Of(k, l.whole, in)
	for _, i := range in[1:] {
		if !slices.Equal(join.Of(k, l.whole, []int{i}).Loops(), first.Loops()) {
			return nil, false
		}
	}
	return first, true
}

// paired says whether each coordinate of a result is one loop of its kernel and one of the same values of the kernel that reads it.
func paired(k *schedule.Kernel, out int, c *schedule.Kernel, in int) bool {
	usedK, usedC := map[int]bool{}, map[int]bool{}
	for i, row := range k.Operands[out].Access.Projection {
		a, okA := access.Unit(row, k.Loops)
		b, okB := access.Unit(c.Operands[in].Access.Projection[i], c.Loops)
		switch {
		case !okA || !okB || (a < 0) != (b < 0):
			return false
		case a < 0:
			continue
		case usedK[a] || usedC[b] || k.Loops[a].Extent() != c.Loops[b].Extent():
			return false
		}
		usedK[a], usedC[b] = true, true
	}
	parallel := k.Parallel()
	for l := range k.Loops { // as in aligned
		if !usedK[l] && slices.Contains(parallel, l) && access.Folds(k, l) {
			return false
		}
	}
	return true
}

// commit puts the whole in the place of the product.
func (l *linker) commit() {
	g, id := l.f.g, l.members[0]
	var after, applications []ir.NodeID
	var nodes []*ir.Node
	for _, m := range slices.Backward(l.members) {
		k, _ := body[*schedule.Kernel](g, m)
		after = mergeAfter(after, k.After, ir.NoNode)
		applications = append(applications, k.Applications...)
		nodes = append(nodes, g.Node(m))
	}
	l.whole.After = slices.DeleteFunc(after, func(id ir.NodeID) bool { return slices.Contains(l.members, id) })
	l.whole.Applications = applications
	n := g.Node(id)
	n.SetOrigin(&ir.Origin{Rule: "fuse", From: origins(nodes...)})
	n.Label, n.Body = l.whole.Name, l.whole
	for _, m := range l.members[1:] {
		l.f.rewire(m, id)
		g.Remove(m)
	}
}

// waitsOnly says whether nothing that the kernels wait for waits for one of them. Steps that stand before all of them cannot.
func (l *linker) waitsOnly() bool {
	first := l.f.at[l.members[0]]
	for _, m := range l.members {
		first = min(first, l.f.at[m])
	}
	seen := map[ir.NodeID]bool{}
	stack := slices.Clone(l.members)
	for len(stack) > 0 {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		after, _ := schedule.After(l.f.g.Node(id))
		for _, dep := range after {
			dep = l.f.now(dep)
			member := slices.Contains(l.members, dep)
			if member && !slices.Contains(l.members, id) {
				return false
			}
			if !member && !seen[dep] && l.f.at[dep] >= first {
				seen[dep] = true
				stack = append(stack, dep)
			}
		}
	}
	return true
}

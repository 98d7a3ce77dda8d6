package fuse

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/fuse/join"
)

// dropStores takes from kernels that store several results those that nobody reads, with what only they need: they are computed nowhere and have
// no memory. It says how often it did.
func dropStores(f *fuser, may func(kernel ir.NodeID) bool) (dropped int) {
	var outputs ir.NodeSet // of which several devices may have parts
	for n := range f.g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok && b.Space == schedule.Output {
			outputs.Add(b.Tensor)
		}
	}
	for n := range f.g.Nodes() {
		k, ok := n.Body.(*schedule.Kernel)
		if !ok || f.fixed.Has(n.ID) {
			continue
		}
		stored, unread := 0, map[int64]bool{}
		for i, o := range k.Operands {
			if o.Mode != schedule.Write {
				continue
			}
			stored++
			b, ok := body[*schedule.Buffer](f.g, o.Buffer)
			if ok && b.Space == schedule.Arena && !outputs.Has(b.Tensor) && len(f.readersOf(o.Buffer)) == 0 {
				unread[int64(i)] = true
			}
		}
		if len(unread) == 0 || len(unread) == stored {
			continue
		}
		less := withoutStores(k, unread)
		if before, after := f.prices.first(k), f.prices.first(less); len(before) == len(after) && (len(before) == 0 || before[0].Name() == after[0].Name()) && may(n.ID) {
			n.Body = less // a sort stays one
			dropped++
		}
	}
	return dropped
}

// withoutStores gives a kernel without the stores to some operands, and without statements and operands that nothing else needs.
func withoutStores(k *schedule.Kernel, operands map[int64]bool) *schedule.Kernel {
	out := *k
	out.Statements = slices.Clone(k.Statements)
	for i, s := range out.Statements {
		if operands[s.Store] {
			out.Statements[i].Store = -1
		}
	}
	join.DropUnused(&out)
	needed := make([]bool, len(k.Operands))
	for _, s := range out.Statements {
		if s.Store >= 0 {
			needed[s.Store] = true
		}
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Load {
				needed[e.Ref] = true
			}
			return true
		})
	}
	number := make([]int, len(k.Operands))
	out.Operands = nil
	for i, o := range k.Operands {
		if number[i] = len(out.Operands); needed[i] {
			out.Operands = append(out.Operands, o)
		}
	}
	for i, s := range out.Statements {
		if s.Store >= 0 {
			out.Statements[i].Store = int64(number[s.Store])
		}
		out.Statements[i].Value = s.Value.Map(func(e *scalar.Expr) *scalar.Expr {
			if e.Op == scalar.Load {
				return scalar.NewLoad(number[e.Ref], e.Type)
			}
			return e
		})
	}
	return &out
}

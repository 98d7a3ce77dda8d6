package fuse

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// cheap are the operators that take a processor about as long as a load of what is near, on all lanes of a vector.
var cheap = []scalar.Op{scalar.Load, scalar.Local, scalar.Const, scalar.Neg, scalar.Abs, scalar.Add, scalar.Sub, scalar.Mul, scalar.Min, scalar.Max,
	scalar.And, scalar.Or, scalar.Not, scalar.Eq, scalar.Ne, scalar.Lt, scalar.Le, scalar.Where}

const (
	mostReaders = 4   // that compute a value again
	operation   = 0.5 // the time of a cheap operator, in loads
)

// repeat lets the kernels that read the result of a cheap elementwise one compute it again where they read it, if that takes less than to store it and
// load it: readers along other loops, or far apart, which are no kernel together. Each reads every element once at most, so that nothing is computed more often
// than it was loaded, and none is a product, which would read it for many results. Every value is computed by the same expression, and sums keep their order.
func repeat(f *fuser, id ir.NodeID, k *schedule.Kernel, may func(kernel ir.NodeID) bool) bool {
	if d, ok := body[*schedule.Device](f.g, k.Device); !ok || !d.Type.Has(schedule.Thread) || f.fixed.Has(id) || !cheaply(k) {
		return false
	}
	m, one := oneResult(f, k)
	if !f.prices.elements(k) || !one || !m.even || f.changes(k) {
		return false
	}
	readers := f.readersOf(k.Operands[m.out].Buffer)
	if len(readers) < 2 || len(readers) > mostReaders || !onlyReadersWait(f, id, readers) {
		return false
	}
	joined, before, after := make([]reader, len(readers)), []*schedule.Kernel{k}, []*schedule.Kernel(nil)
	for i, r := range readers {
		c, ok := body[*schedule.Kernel](f.g, r)
		if !ok || c.Device != k.Device || f.fixed.Has(r) || f.storesOver(c, k) || m.again(c) {
			return false
		}
		if joined[i], ok = m.into(c); !ok || !m.used(c) {
			return false
		}
		a, okA := nest.Of[*nest.Rows](f.prices.first(c))
		b, okB := nest.Of[*nest.Rows](f.prices.first(joined[i].Kernel))
		if !okA || !okB || !b.SumsLike(a) || len(a.Splits) != len(b.Splits) || !sameWidth(c, joined[i].Kernel) {
			return false
		}
		before, after = append(before, c), append(after, joined[i].Kernel)
	}
	if !f.prices.less(after, before, float64(len(readers)-1)*operators(k)) || !may(id) {
		return false
	}
	for i, r := range readers {
		f.g.Node(r).Body = joined[i].Kernel
	}
	f.drop(id, k, readers)
	return true
}

// cheaply says whether a kernel computes what it stores by cheap operators alone.
func cheaply(k *schedule.Kernel) bool {
	return !slices.ContainsFunc(k.Statements, func(s schedule.Statement) bool {
		return s.Value.Any(func(e *scalar.Expr) bool {
			return !slices.Contains(cheap, e.Op) || e.Type.IsComplex() || e.Type.IsFloat() && e.Type != e.Type.Wide()
		})
	})
}

// operators is the time of those of an elementwise kernel, in loads of a vector.
func operators(k *schedule.Kernel) float64 {
	n := 0
	for _, s := range k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if len(e.Args) > 0 {
				n++
			}
			return true
		})
	}
	return points(k) / lanes * operation * float64(n)
}

// onlyReadersWait says whether nothing waits for a kernel but those that read its result.
func onlyReadersWait(f *fuser, id ir.NodeID, readers []ir.NodeID) bool {
	return !slices.ContainsFunc(f.waitersOf(id), func(w ir.NodeID) bool { return !slices.Contains(readers, w) })
}

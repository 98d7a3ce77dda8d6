package fuse

import (
	"maps"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/fuse/access"
)

// widen lets a product of float32 whose factors are converted from narrow numbers read these, where it is one of low precision then: the processor's instructions take narrow
// numbers and sum in float32, in an order of their own, which the device must allow. A conversion that others read too stays for them.
func widen(f *fuser, id ir.NodeID, k *schedule.Kernel, may func(kernel ir.NodeID) bool) bool {
	c, from := k, map[ir.NodeID]*mover{}
	for i, o := range k.Operands {
		by := f.present(f.writers[o.Buffer])
		if len(by) != 1 || !access.Factor(k, i) {
			continue
		}
		if m, ok := widening(f, by[0]); ok && m.k.Device == k.Device && m.used(k) {
			if joined, ok := m.into(c); ok {
				c, from[by[0]] = joined.Kernel, m
			}
		}
	}
	if len(from) == 0 || f.fixed.Has(id) {
		return false
	}
	if _, ok := nest.Of[*nest.LowPrecision](f.prices.first(c)); !ok || !may(id) {
		return false
	}
	f.g.Node(id).Body = c
	for _, cast := range slices.Sorted(maps.Keys(from)) {
		m, self := from[cast], func(r ir.NodeID) bool { return r == id }
		others := slices.DeleteFunc(f.readersOf(m.k.Operands[m.out].Buffer), self)
		if f.readers[m.k.Operands[m.out].Buffer] = others; len(others) == 0 {
			f.drop(cast, m.k, []ir.NodeID{id})
			continue
		}
		c.After, f.waiters[cast] = mergeAfter(m.k.After, c.After, cast), slices.DeleteFunc(f.waitersOf(cast), self)
		for _, o := range m.k.Operands {
			f.readers[o.Buffer] = append(f.readers[o.Buffer], id)
		}
	}
	return true
}

// widening gives a kernel that does nothing but convert narrow numbers to float32, on a device with threads where products may sum in another order.
func widening(f *fuser, id ir.NodeID) (*mover, bool) {
	k, ok := body[*schedule.Kernel](f.g, id)
	if !ok || !f.widens || len(k.Statements) != 1 || f.fixed.Has(id) || f.changes(k) {
		return nil, false
	}
	m := &mover{k: k, value: k.Statements[0].Value, out: int(k.Statements[0].Store)}
	if m.value.Op != scalar.Cast || m.value.Type != scalar.Float32 || m.value.Args[0].Op != scalar.Load || m.value.Args[0].Type.Wide() != scalar.Float32 || m.out < 0 {
		return nil, false
	}
	var err error
	m.written, err = access.Reach(k, m.out)
	m.back, m.even = access.Inverse(k, k.Operands[m.out].Access)
	d, okD := body[*schedule.Device](f.g, k.Device)
	to, okT := body[*schedule.Buffer](f.g, k.Operands[m.out].Buffer)
	return m, okD && d.Type.Has(schedule.Thread) && d.Allow.Has(permission.Reassociate) && okT && to.Space == schedule.Arena && err == nil && m.even && m.written.Equal(to.Range)
}

// ofFactors says whether a kernel converts factors that their products may read before that: until widen has asked, nothing becomes part of it.
func ofFactors(f *fuser, id ir.NodeID) bool {
	m, ok := widening(f, id)
	return ok && slices.ContainsFunc(f.readersOf(m.k.Operands[m.out].Buffer), func(r ir.NodeID) bool {
		c, ok := body[*schedule.Kernel](f.g, r)
		return ok && slices.ContainsFunc(reading(c, m.k.Operands[m.out].Buffer), func(i int) bool { return access.Factor(c, i) })
	})
}

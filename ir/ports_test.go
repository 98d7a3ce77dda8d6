package ir_test

import (
	"slices"
	"testing"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// TestPorts takes ports apart, changes them and puts them together; those that were copied stay as they were.
func TestPorts(t *testing.T) {
	box := zspace.MustShape(2)
	sel := func(ids ...ir.NodeID) (list []ir.Selection) {
		for _, id := range ids {
			list = append(list, ir.Select(id, box))
		}
		return list
	}
	var pool ir.Intern
	read := func() ir.Ports {
		return pool.Ports([]ir.Port{{Name: "a", Sel: pool.Selections(sel(1, 2))}, {Name: "b"}, {Name: "c", Sel: pool.Selections(sel(3))}})
	}
	p, q := read(), read()
	tensors := func(p ir.Ports) (ids []ir.NodeID) {
		p.All(func(port, entry int, s *ir.Selection) {
			if got := p.At(port).Sel[entry]; !got.Equal(*s) {
				t.Errorf("port %d has %v at %d, expected %v", port, got, entry, *s)
			}
			ids = append(ids, s.Tensor)
		})
		return ids
	}
	same := func(what string, p ir.Ports, want ...ir.NodeID) {
		t.Helper()
		if got := tensors(p); !slices.Equal(got, want) {
			t.Errorf("%s: %v, expected %v", what, got, want)
		}
	}
	if !p.Equal(q) || !p.Equal(ir.PortsOf(p.List())) || p.Equal(ir.Ports{}) || !(ir.Ports{}).Equal(ir.PortsOf(nil)) || p.Len() != 3 {
		t.Error("equal ports are not equal, or others are")
	}
	same("read", p, 1, 2, 3)
	c := p.Clone()
	c.At(0).Sel[1].Tensor = 7
	same("changed in place", c, 1, 7, 3)
	same("the original", p, 1, 2, 3)
	same("read with the same layout", q, 1, 2, 3)
	if c.Equal(p) {
		t.Error("ports with another tensor are equal")
	}
	p.SetSel(1, sel(4, 5)...)
	same("more selections", p, 1, 2, 4, 5, 3)
	p.SetName(2, "d")
	if p.Get("c") != nil || p.Get("d") == nil || p.Get("d").Sel[0].Tensor != 3 || q.Get("c") == nil {
		t.Error("a name is not found, or an old one is")
	}
	p = p.With(ir.Port{Name: "aa", Sel: sel(9)})
	same("one more", p, 1, 2, 9, 4, 5, 3)
	same("in place of one", p.With(ir.Port{Name: "a", Sel: sel(8)}), 8, 9, 4, 5, 3)
	grown := append(q.At(0).Sel, sel(6)...)
	same("a port's selections were appended to", q, 1, 2, 3)
	if len(grown) != 3 {
		t.Error("an append is lost")
	}
	if got := q.String(); got != "[{a [#1zr[0:2] #2zr[0:2]]} {b []} {c [#3zr[0:2]]}]" {
		t.Errorf("written as %s", got)
	}
	for i, port := range p.Each() {
		if port.Name != []string{"a", "aa", "b", "d"}[i] {
			t.Errorf("port %d is %s", i, port.Name)
		}
	}
}

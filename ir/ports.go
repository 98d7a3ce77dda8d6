package ir

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir/zspace"
)

// Selection is a box of a tensor. Copies share the box, which is never changed in place.
type Selection struct {
	Tensor NodeID
	box    *zspace.Range // nil is the zero Range
}

// Select gives the selection of a box of a tensor.
func Select(tensor NodeID, box zspace.Range) Selection { return Selection{tensor, &box} }

// Range gives the box that is selected, in coordinates of the tensor.
func (s Selection) Range() zspace.Range {
	if s.box == nil {
		return zspace.Range{}
	}
	return *s.box
}

// SetRange selects another box of the same tensor.
func (s *Selection) SetRange(box zspace.Range) { s.box = &box }

// String writes the tensor's number and the box.
func (s Selection) String() string { return fmt.Sprintf("#%d%v", s.Tensor, s.Range()) }

// Equal says whether two selections pick the same box of the same tensor.
func (s Selection) Equal(t Selection) bool { return s.Tensor == t.Tensor && s.Range().Equal(t.Range()) }

// Port is a named input or output with its ordered selections; variadic ports hold more than one.
type Port struct {
	Name string
	Sel  []Selection
}

// Ports are the inputs or the outputs of a node, sorted by name, no name twice.
type Ports []Port

// Get finds a port by name, or nil.
func (p Ports) Get(name string) *Port {
	for i := range p {
		if p[i].Name == name {
			return &p[i]
		}
	}
	return nil
}

// Equal says whether two port lists are the same.
func (p Ports) Equal(q Ports) bool {
	return slices.EqualFunc(p, q, func(a, b Port) bool {
		return a.Name == b.Name && slices.EqualFunc(a.Sel, b.Sel, Selection.Equal)
	})
}

// Clone copies the ports; ranges are shared, which is safe as ranges are never changed in place.
func (p Ports) Clone() Ports {
	q := slices.Clone(p)
	for i := range q {
		q[i].Sel = slices.Clone(q[i].Sel)
	}
	return q
}

// All runs f for every selection in order: port number, entry number, selection.
func (p Ports) All(f func(port, entry int, s *Selection)) {
	for i := range p {
		for j := range p[i].Sel {
			f(i, j, &p[i].Sel[j])
		}
	}
}

// NewPorts makes ports of one selection each, sorted by name.
func NewPorts(one map[string]Selection) Ports {
	p := make(Ports, 0, len(one))
	for name, s := range one {
		p = append(p, Port{name, []Selection{s}})
	}
	slices.SortFunc(p, func(a, b Port) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return p
}

// NamedMaps are the projection maps of one port, one for each of its selections.
type NamedMaps struct {
	Name string
	Maps []zspace.ProjectionMap
}

// PortMaps are projection maps by port, sorted by name, no name twice.
type PortMaps []NamedMaps

// Get finds the maps of a port, or nil.
func (p PortMaps) Get(name string) *NamedMaps {
	for i := range p {
		if p[i].Name == name {
			return &p[i]
		}
	}
	return nil
}

// Equal says whether two sets of maps are the same.
func (p PortMaps) Equal(q PortMaps) bool {
	return slices.EqualFunc(p, q, func(a, b NamedMaps) bool {
		return a.Name == b.Name && slices.EqualFunc(a.Maps, b.Maps, zspace.ProjectionMap.Equal)
	})
}

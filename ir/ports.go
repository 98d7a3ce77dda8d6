package ir

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unsafe"

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

// Ports are the inputs or the outputs of a node, sorted by name, no name twice. The selections of all ports are one array, and what the
// ports are called and how many each has is often shared by many nodes: selections are changed in place, ports are replaced.
type Ports struct {
	layout *layout // nil for no ports
	first  *Selection
}

// layout says which part of an array of selections each port has. It is never changed.
type layout struct {
	names []string
	ends  []int // behind the last selection of each port
}

// PortsOf makes ports of a list that is sorted by name. It keeps neither the list nor its selections.
func PortsOf(list []Port) Ports {
	if len(list) == 0 {
		return Ports{}
	}
	l := layoutOf(list)
	return l.fill(list, make([]Selection, l.total()))
}

func layoutOf(list []Port) *layout {
	l, n := &layout{make([]string, len(list)), make([]int, len(list))}, 0
	for i := range list {
		n += len(list[i].Sel)
		l.names[i], l.ends[i] = list[i].Name, n
	}
	return l
}

func (l *layout) total() int { return l.ends[len(l.ends)-1] }

// fill gives the ports whose selections are copied into an array.
func (l *layout) fill(list []Port, all []Selection) Ports {
	to := all[:0]
	for i := range list {
		to = append(to, list[i].Sel...)
	}
	return Ports{l, unsafe.SliceData(all)}
}

// selections gives those of all ports, in order.
func (p Ports) selections() []Selection {
	if p.layout == nil {
		return nil
	}
	return unsafe.Slice(p.first, p.layout.total())
}

// Len is the number of ports.
func (p Ports) Len() int {
	if p.layout == nil {
		return 0
	}
	return len(p.layout.names)
}

// At gives a port. What its selections are may be changed in place; another name or number of selections needs With or PortsOf.
func (p Ports) At(i int) Port {
	from, to := 0, p.layout.ends[i]
	if i > 0 {
		from = p.layout.ends[i-1]
	}
	return Port{p.layout.names[i], p.selections()[from:to:to]}
}

// Each runs over the ports in order.
func (p Ports) Each() iter.Seq2[int, Port] {
	return func(yield func(int, Port) bool) {
		for i := range p.Len() {
			if !yield(i, p.At(i)) {
				return
			}
		}
	}
}

// List gives the ports as a list, to make others of. Their selections are those of the ports.
func (p Ports) List() []Port {
	list := make([]Port, p.Len())
	for i := range list {
		list[i] = p.At(i)
	}
	return list
}

// Get finds a port by name, or nil. The port is a copy, as At gives it.
func (p Ports) Get(name string) *Port {
	i := p.find(name)
	if i < 0 {
		return nil
	}
	port := p.At(i)
	return &port
}

// OneOf gives the first port that has one of the names, nil if there is none.
func (p Ports) OneOf(names []string) *Port {
	for _, x := range p.Each() {
		if slices.Contains(names, x.Name) {
			return &x
		}
	}
	return nil
}

func (p Ports) find(name string) int {
	if p.layout == nil {
		return -1
	}
	return slices.Index(p.layout.names, name)
}

// With gives ports with one more, or with it in place of that of its name.
func (p Ports) With(port Port) Ports {
	list := p.List()
	i, found := slices.BinarySearchFunc(list, port.Name, func(a Port, name string) int { return strings.Compare(a.Name, name) })
	if found {
		list[i] = port
	} else {
		list = slices.Insert(list, i, port)
	}
	return PortsOf(list)
}

// SetSel gives a port other selections.
func (p *Ports) SetSel(i int, sel ...Selection) { p.set(i, Port{p.layout.names[i], sel}) }

// SetName gives a port another name, which keeps the order of the names.
func (p *Ports) SetName(i int, name string) { p.set(i, Port{name, p.At(i).Sel}) }

func (p *Ports) set(i int, port Port) {
	list := p.List()
	list[i] = port
	*p = PortsOf(list)
}

// Equal says whether two lists of ports are the same.
func (p Ports) Equal(q Ports) bool {
	if p.layout != q.layout && (p.Len() != q.Len() || p.layout != nil &&
		!(slices.Equal(p.layout.names, q.layout.names) && slices.Equal(p.layout.ends, q.layout.ends))) {
		return false
	}
	return slices.EqualFunc(p.selections(), q.selections(), Selection.Equal)
}

// Clone copies the ports; ranges are shared, which is safe as ranges are never changed in place.
func (p Ports) Clone() Ports {
	return Ports{p.layout, unsafe.SliceData(slices.Clone(p.selections()))}
}

// All runs f for every selection in order: port number, entry number, selection.
func (p Ports) All(f func(port, entry int, s *Selection)) {
	all, from := p.selections(), 0
	for port := range p.Len() {
		to := p.layout.ends[port]
		for i := from; i < to; i++ {
			f(port, i-from, &all[i])
		}
		from = to
	}
}

// String writes the ports with their selections.
func (p Ports) String() string { return fmt.Sprint(p.List()) }

// NewPorts makes ports of one selection each, sorted by name.
func NewPorts(one map[string]Selection) Ports {
	list := make([]Port, 0, len(one))
	for name, s := range one {
		list = append(list, Port{name, []Selection{s}})
	}
	slices.SortFunc(list, func(a, b Port) int { return strings.Compare(a.Name, b.Name) })
	return PortsOf(list)
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

package machine

import "slices"

// sizes gives how many devices each locality holds, at most MaxDevices + 1.
func (m *Machine) sizes() []int64 {
	sizes := make([]int64, len(m.Localities))
	for i := len(m.Localities) - 1; i >= 0; i-- {
		for _, x := range m.Localities[i].Members {
			sizes[i] = min(sizes[i]+min(x.Count, MaxDevices+1)*m.size(sizes, x.Of), MaxDevices+1)
		}
	}
	return sizes
}

// size gives how many devices are in one thing of a name.
func (m *Machine) size(sizes []int64, name string) int64 {
	if i := m.locality(name); i >= 0 {
		return sizes[i]
	}
	return 1
}

func (m *Machine) locality(name string) int {
	return slices.IndexFunc(m.Localities, func(l Locality) bool { return l.Name == name })
}

// Layout knows where every device of a machine is. Devices have numbers from 0 on, in the order of the members of localities.
type Layout struct {
	machine *Machine
	sizes   []int64
}

// Layout gives that of the machine, which was read.
func (m *Machine) Layout() *Layout { return &Layout{m, m.sizes()} }

// Devices is how many there are.
func (l *Layout) Devices() int64 { return l.sizes[0] }

// Port is what something has of the link of a locality. Depth is how many localities are around that one, and Place tells those of one depth
// apart: the number of the device, of the first device of the member, or of the first of the locality, by who has a port of its own.
type Port struct {
	Link  *Link // nil if the locality holds one thing
	Depth int
	Place int64
}

// Find gives the kind of a device by its number, and its ports, that of the outermost locality first; nil if there is no such number.
func (l *Layout) Find(number int64) (*Device, []Port) {
	if number < 0 || number >= l.Devices() {
		return nil, nil
	}
	var ports []Port
	at, first := 0, int64(0)
	for {
		here := &l.machine.Localities[at]
		of, start := l.member(here, first, number)
		p := Port{l.machine.Link(here.Link), len(ports), start}
		if p.Link != nil && p.Link.Each == EachDevice {
			p.Place = number
		} else if p.Link != nil && p.Link.Each == EachLocality {
			p.Place = first
		}
		ports, first = append(ports, p), start
		if at = l.machine.locality(of); at < 0 {
			d, _ := l.machine.Device(of, "")
			return d, ports
		}
	}
}

// member gives the name of what a locality holds that has a device, and the number of its first device.
func (l *Layout) member(here *Locality, first, number int64) (string, int64) {
	for _, x := range here.Members {
		size := l.machine.size(l.sizes, x.Of)
		if number < first+size*x.Count {
			return x.Of, first + (number-first)/size*size
		}
		first += size * x.Count
	}
	panic("machine: a locality is smaller than its size") // sizes has counted the same members
}

// Route gives the ports that what goes from one device to another passes: outward from the first, then inward to the second. Devices are by
// number; the route from a device to itself has none, nor has one between devices that are not there. A device that has a port of its own to
// a link goes there without passing those of the localities inside.
func (l *Layout) Route(from, to int64) (out, in []Port) {
	_, a := l.Find(from)
	_, b := l.Find(to)
	if from == to || a == nil || b == nil {
		return nil, nil
	}
	common := l.common(from, to)
	out, in = own(a[common:]), own(b[common:])
	slices.Reverse(out)
	return out, in
}

// own leaves out the ports inside of one that a device has of its own.
func own(ports []Port) []Port {
	for i, p := range ports {
		if p.Link != nil && p.Link.Each == EachDevice {
			return slices.Clone(ports[:i+1])
		}
	}
	return slices.Clone(ports)
}

// common gives the depth of the innermost locality that two devices are in.
func (l *Layout) common(a, b int64) int {
	at, first := 0, int64(0)
	for depth := 0; ; depth++ {
		of, start := l.member(&l.machine.Localities[at], first, a)
		if b < start || b >= start+l.machine.size(l.sizes, of) {
			return depth
		}
		first, at = start, l.machine.locality(of)
	}
}

// Member gives the first device of what a device is in at a depth: that of the member of its locality there.
func (l *Layout) Member(device int64, depth int) int64 {
	at, first := 0, int64(0)
	for range depth {
		of, start := l.member(&l.machine.Localities[at], first, device)
		if first, at = start, l.machine.locality(of); at < 0 {
			return start
		}
	}
	_, start := l.member(&l.machine.Localities[at], first, device)
	return start
}

// Named gives the numbers of all devices of a name.
func (l *Layout) Named(name string) (list []int64) {
	for n := range l.Devices() {
		if d, _ := l.Find(n); d.Name == name {
			list = append(list, n)
		}
	}
	return list
}

// Near gives those of some devices that are in the innermost locality of the first.
func (l *Layout) Near(devices []int64) (list []int64) {
	deepest := -1
	for _, d := range devices {
		if d == devices[0] {
			continue
		}
		switch depth := l.common(devices[0], d); {
		case depth > deepest:
			deepest, list = depth, []int64{devices[0], d}
		case depth == deepest:
			list = append(list, d)
		}
	}
	return list
}

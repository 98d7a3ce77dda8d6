package machine

import (
	"fmt"

	"tensortapestry.org/tapc/ir/diag"
)

// CodeDivided is of a machine that can not be divided into so many devices.
const CodeDivided = "TAP0870"

// same is how far apart figures may be that follow from the same ones.
const same = 1e-9

// Divide gives the machine that has n devices in the place of its one, which share its memory: each has as many of its units and as much of the memory. Figures of a device
// are what it reaches while the others do nothing; what all move together is that of the locality, whose link joins them, and their pace while all compute. Of rates of which it is known what all units do
// together, each has its part of that then.
func (m *Machine) Divide(n int64, link Link, pace Figure) (*Machine, error) {
	if len(m.Devices) != 1 || m.Layout().Devices() != 1 {
		return nil, diag.Errorf(CodeDivided, "machine", diag.Location{}, "the machine %s can not be divided", m.Name).Want("one device", fmt.Sprint(m.Layout().Devices()))
	}
	d := m.Devices[0]
	if n < 1 || n > d.Units {
		return nil, diag.Errorf(CodeDivided, "machine", diag.Location{}, "the machine %s can not be divided into %d devices", m.Name, n).
			Want(fmt.Sprintf("1 to %d, of at least one unit each", d.Units), fmt.Sprint(n))
	}
	units := d.Units / n
	all := Locality{Name: m.Localities[0].Name, Link: link.Name, Bandwidth: d.Bandwidth, Read: d.Read, Pace: pace, Members: []Member{{Of: d.Name, Count: n}}}
	part := d
	part.Units, part.Memory = units, d.Memory/n
	part.Bandwidth, part.Read = d.MemoryBandwidth(units), Figure{}
	if d.Read.Known() {
		part.Read = d.MemoryRead(units)
	}
	part.Rates = nil
	for _, r := range d.Rates {
		all := r.Rate.Times(Exactly(float64(units) / float64(d.Units)))
		if r.Rate = d.part(r.Rate, r.Unit, units); all.Value < r.Rate.Value*(1-same) { // it was measured
			r.Beside = all
		}
		part.Rates = append(part.Rates, r)
	}
	out := *m
	out.Devices, out.Links, out.Localities = []Device{part}, append([]Link{link}, m.Links...), []Locality{all}
	return &out, nil
}

// Together gives the machine whose devices have their part of the memory and of the caches that they share, and do the rest at the pace of their locality: what each reaches while all of them work.
func (m *Machine) Together() *Machine {
	out := *m
	out.Devices = append([]Device{}, m.Devices...)
	for i := range out.Devices {
		d := &out.Devices[i]
		d.Caches = append([]Cache{}, d.Caches...)
		for j := range d.Caches {
			if c := &d.Caches[j]; c.Units > d.Units {
				least(&c.Bandwidth, c.All.Times(Exactly(1/float64(c.Units))))
				least(&c.Read, c.AllRead.Times(Exactly(1/float64(c.Units))))
			}
		}
	}
	sizes := m.sizes()
	for i, l := range m.Localities {
		share := Exactly(1 / float64(max(sizes[i], 1)))
		for j := range out.Devices {
			d := &out.Devices[j]
			if !m.holds(i, d.Name) {
				continue
			}
			d.keep(l.Pace)
			least(&d.Bandwidth, l.Bandwidth.Times(share))
			least(&d.UnitBandwidth, l.Bandwidth.Times(share))
			least(&d.Read, l.Read.Times(share))
			least(&d.UnitRead, l.Read.Times(share))
		}
	}
	return &out
}

// keep gives what a device does by itself at a pace, or beside others where that is known.
func (d *Device) keep(pace Figure) {
	if !pace.Known() {
		pace = Exactly(1)
	}
	d.Rates = append([]Rate{}, d.Rates...)
	for i := range d.Rates {
		r := &d.Rates[i]
		if r.Beside.Known() {
			r.Unit, r.Rate = r.Unit.Times(Exactly(r.Beside.Value/r.Rate.Value)), r.Beside
			continue
		}
		r.Rate, r.Unit = r.Rate.Times(pace), r.Unit.Times(pace)
	}
	for i := range d.Caches {
		if c := &d.Caches[i]; c.Units <= d.Units {
			c.Bandwidth, c.Read, c.Columns = c.Bandwidth.Times(pace), c.Read.Times(pace), c.Columns.Times(pace)
		}
	}
}

// least lowers a figure that is known to another one that is.
func least(f *Figure, to Figure) {
	if f.Known() && to.Known() && to.Value < f.Value {
		*f = to
	}
}

// holds says whether a locality holds a device of a name, in whatever is inside.
func (m *Machine) holds(at int, device string) bool {
	for _, x := range m.Localities[at].Members {
		if i := m.locality(x.Of); i < 0 && x.Of == device || i > at && m.holds(i, device) {
			return true
		}
	}
	return false
}

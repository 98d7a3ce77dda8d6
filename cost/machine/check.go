package machine

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// maxFaults bounds how many faults are reported.
const maxFaults = 50

// faults collects what is wrong with a file.
type faults struct {
	file string
	list diag.List
}

func (b *faults) add(code string, n *yaml.Node, expected, found, format string, args ...any) {
	if len(b.list) < maxFaults {
		at := diag.Location{File: b.file}
		if n != nil {
			at.Line, at.Column = n.Line, n.Column
		}
		b.list = append(b.list, diag.Errorf(code, ir.StageParse, at, format, args...).Want(expected, found))
	}
}

// meant names the word that is nearest to one that means nothing.
func meant(word string, words []string) string {
	if near, ok := diag.Nearest(word, words); ok {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// MaxDevices is how many devices a machine has at most.
const MaxDevices = 1 << 20

// check finds what is wrong with what a file says, and gives a machine without localities one.
func (b *faults) check(m *Machine) {
	names := map[string]bool{}
	once := func(what, name string) {
		if names[name] {
			b.add(CodeMeaning, nil, "a name for each", name, "two devices or localities are called %q", name)
		}
		names[name] = true
	}
	for i := range m.Devices {
		once("device", m.Devices[i].Name)
		b.device(&m.Devices[i])
	}
	for _, l := range m.Localities {
		once("locality", l.Name)
	}
	links := map[string]bool{}
	for _, l := range m.Links {
		if links[l.Name] {
			b.add(CodeMeaning, nil, "a name for each", l.Name, "two links are called %q", l.Name)
		}
		links[l.Name] = true
	}
	if len(m.Localities) == 0 {
		m.Localities = []Locality{{Name: m.Name, Members: []Member{{Of: m.Devices[0].Name, Count: 1}}}}
	}
	for i := range m.Localities {
		b.locality(m, i)
	}
	if len(b.list) > 0 {
		return
	}
	if n := m.sizes()[0]; n > MaxDevices {
		b.add(CodeMeaning, nil, fmt.Sprintf("at most %d devices", MaxDevices), fmt.Sprint(n), "the machine has too many devices")
	}
}

// device finds what is said twice of a device, and caches that grow smaller.
func (b *faults) device(d *Device) {
	type of struct{ dtype, row string }
	seen := map[of]bool{}
	for _, r := range d.Rates {
		if seen[of{r.Type, r.Row}] {
			b.add(CodeMeaning, nil, "one rate for a type and row", "two", "the device %s has two rates of %s by the row %s", d.Name, r.Type, r.Row)
		}
		seen[of{r.Type, r.Row}] = true
		if r.Reached.High > 1 {
			b.add(CodeMeaning, nil, "at most 1", Part.Format(r.Reached.High), "a rate of %s of the device %s is reached more than whole", r.Type, d.Name)
		}
		if r.Beside.Value > r.Rate.Value {
			b.add(CodeMeaning, nil, "at most "+PerSecond.Format(r.Rate.Value), PerSecond.Format(r.Beside.Value), "the rate of %s by the row %s of the device %s is larger beside others", r.Type, r.Row, d.Name)
		}
	}
	for i, c := range d.Caches {
		if i > 0 && c.Bytes < d.Caches[i-1].Bytes {
			b.add(CodeMeaning, nil, "caches from the nearest on", c.Name+" behind "+d.Caches[i-1].Name, "a cache of %s is smaller than the one before", d.Name)
		}
		if c.Kept.High > 1 || c.Beyond.Value > c.Kept.Value {
			b.add(CodeMeaning, nil, "at most 1, and no more of what is larger", Part.Format(c.Kept.High)+" and "+Part.Format(c.Beyond.Value), "the cache %s of %s keeps more than there is", c.Name, d.Name)
		}
	}
	if d.Power.Idle.Value > d.Power.Busy.Value {
		b.add(CodeMeaning, nil, "power of at least "+Watts.Format(d.Power.Idle.Value), Watts.Format(d.Power.Busy.Value), "the device %s takes more when it does nothing", d.Name)
	}
}

// locality finds names that nothing has. A locality holds only what stands behind it or devices, so there is no end to what holds itself.
func (b *faults) locality(m *Machine, at int) {
	l := &m.Localities[at]
	total := int64(0)
	for _, x := range l.Members {
		total += min(x.Count, MaxDevices)
		inner := slices.IndexFunc(m.Localities, func(o Locality) bool { return o.Name == x.Of })
		switch device := slices.ContainsFunc(m.Devices, func(d Device) bool { return d.Name == x.Of }); {
		case !device && inner < 0:
			b.add(CodeMeaning, nil, "a device, or a locality that stands behind it", x.Of, "the locality %s holds %q%s", l.Name, x.Of, meant(x.Of, m.places()))
		case !device && inner <= at:
			b.add(CodeMeaning, nil, "a device, or a locality that stands behind it", x.Of, "the locality %s holds %q, which stands before it or is itself", l.Name, x.Of)
		}
	}
	if l.Link == "" && total > 1 {
		b.add(CodeMeaning, nil, "link: the name of a link", "nothing", "nothing joins the %d members of the locality %s", total, l.Name)
	}
	if l.Link != "" && m.Link(l.Link) == nil {
		var links []string
		for _, x := range m.Links {
			links = append(links, x.Name)
		}
		b.add(CodeMeaning, nil, "the name of a link", l.Link, "the locality %s has no link %q%s", l.Name, l.Link, meant(l.Link, links))
	}
}

// places gives the names of devices and localities.
func (m *Machine) places() (names []string) {
	for _, d := range m.Devices {
		names = append(names, d.Name)
	}
	for _, l := range m.Localities {
		names = append(names, l.Name)
	}
	return names
}

// Package machine holds machine files: the devices of a machine or of a cluster, what they do in a second, and the links between them, each
// figure with how sure it is and where it is from.
//
// A file is YAML, of which the fields are declared once, in fields.go: the reader, the writer and the JSON schema are made of that. It knows
// no graphs and no kernels. Read next: fields.go, then cost/price, which prices kernels by it; docs/machines.md is the guide.
package machine

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/ir/diag"
)

// Codes of what is wrong with a machine file.
const (
	CodeForm    = "TAP2801" // not the YAML of a machine file: a key that means nothing, a value of another kind
	CodeMeaning = "TAP2802" // names that nothing has, figures that can't be
	CodeUnknown = "TAP2803" // a figure that is asked for and that the file does not have
)

// Format is what the key "tapc" of a file says.
const Format = "machine/1"

// Machine is what a file says. The first locality is the whole machine.
type Machine struct {
	Format     string
	Name       string
	Doc        string
	Source     string // of the figures that have no source of their own
	Devices    []Device
	Links      []Link
	Localities []Locality
}

// Device is a kind of device. A unit of it is a core of a CPU or a multiprocessor of a GPU.
type Device struct {
	Name          string
	Kind          string // a word of schedule.DeviceWords
	Target        string // of the configs that kernels for it have, such as cpu_v32_r16_l512k; "" is what the back end decides for where nothing is said
	Source        string
	Units         int64
	Memory        int64  // bytes
	Bandwidth     Figure // bytes a second of the memory, of all units together
	UnitBandwidth Figure // of one unit alone
	Read          Figure // of what is read and nothing written; Bandwidth if it is left out
	UnitRead      Figure // of one unit alone
	Launch        Figure // seconds from one kernel to the next
	Region        Figure // seconds more for a kernel that all units share
	Power         Power
	Caches        []Cache
	Rates         []Rate
}

// Power is the watts of a device while it works, and while it does not.
type Power struct{ Busy, Idle Figure }

// Rate is how many operations a device does in a second on elements of a type by a row: a class of instructions. A multiply-add is two.
// Reached is the part of it that good programs reach, 1 if it is left out.
type Rate struct {
	Type    string // a word of scalar.DType
	Row     string
	Rate    Figure // of all units together
	Unit    Figure // of one unit alone; its part of Rate if it is left out
	Beside  Figure // of all units together while all devices of the locality compute so; the rate at its pace if it is left out
	Reached Figure
}

// Cache is a cache, the nearest first. Bandwidth is of one unit alone that reads and writes as much, Read of one that reads alone: Bandwidth if it is left out. All and AllRead are
// the same of all units together that share one; as much as each alone if they are left out. Kept is the part that it still has of data as large as itself that is touched
// in turns, Beyond of data More times as large: caches give up some before they are full, for data lies in few of their sets.
type Cache struct {
	Name      string
	Bytes     int64
	Units     int64 // that share one
	Bandwidth Figure
	Read      Figure
	All       Figure
	AllRead   Figure
	Kept      Figure
	Beyond    Figure
	Lasts     Figure // of the last cache: seconds after which half of what nobody touches is gone, where others use it; it stays if it is left out
	Columns   Figure // of the last cache: what one unit reads of a right factor in place, several of its rows at a time; Read if it is left out. Memory is as much slower for it
	Exchange  Figure // of a cache of one unit: what another reads that is there and just written; as in a cache of its own if it is left out
}

// Sizes of data that is touched in turns, in sizes of a cache: one of which the cache has all, that of the figure Beyond, and one of which it has nothing. What is as large as the first and
// the last is what bandwidths are measured by.
const (
	Fits   = 0.5
	More   = 1.5
	Passes = 3
)

// Nearby ends the name of a cache that is the nearer part of the next one.
const Nearby = " nearby"

// Leaving is how steeply what nobody touches leaves a cache that others use (Cache.Lasts): of what was touched so many times as long ago as half of it lasts, 1/(1+t³) is left. It is last in turn
// after so long as others take to fill the cache, and gone soon after.
const Leaving = 3

// Near says whether a cache of a device is the nearer part of the next one.
func (d *Device) Near(cache int) bool {
	return cache+1 < len(d.Caches) && d.Caches[cache].Name == d.Caches[cache+1].Name+Nearby
}

// Reached gives what so many units of a cache reach together that read and write as much, and that read alone: not known if that is not known of one.
func (c *Cache) Reached(units int64) (copies, reading Figure) {
	of := func(one, all Figure) Figure {
		some := one.Times(Exactly(float64(units)))
		if !all.Known() || units <= 1 {
			return some
		}
		if units >= c.Units { // as it was measured: parts of what all work on are smaller than what one alone does
			return all.Times(Exactly(float64(units) / float64(c.Units)))
		}
		if all.Value < some.Value {
			return all
		}
		return some
	}
	return of(c.Bandwidth, c.All), of(c.Read, c.AllRead)
}

// Link is a kind of link, with a switch in the middle of a locality. Each says who has one of its own to the switch, with the bandwidth in each
// direction: the members of the locality, all devices in them, or nobody: then it is one bus.
type Link struct {
	Name      string
	Source    string
	Latency   Figure // seconds
	Bandwidth Figure // bytes a second
	Each      string // a word of Eaches; "" is the first
}

// Locality is a place that holds devices or other localities, which a link joins. Where its devices share one memory, Bandwidth and Read are what all of them move
// together; those of a device are then what it moves while the others do nothing.
type Locality struct {
	Name      string
	Link      string // "" if it holds one thing
	Bandwidth Figure // bytes a second; not known where each device has a memory of its own
	Read      Figure // of what is read and nothing written
	Pace      Figure // part of what its devices do alone that each does while all compute
	Members   []Member
}

// Member is so many equal things in a locality: devices or localities of a name.
type Member struct {
	Of    string
	Count int64
}

// Device gives the device of a name, or of a kind if no name is given: the first of them.
func (m *Machine) Device(name, kind string) (*Device, error) {
	var names, kinds []string
	for i := range m.Devices {
		d := &m.Devices[i]
		if (name == "" || d.Name == name) && (kind == "" || d.Kind == kind) {
			return d, nil
		}
		names, kinds = append(names, d.Name+" ("+d.Kind+")"), append(kinds, d.Kind)
	}
	want := strings.TrimSpace("device " + name)
	if kind != "" {
		want += " of kind " + kind
	}
	d := diag.Errorf(CodeUnknown, "machine", diag.Location{}, "the machine %s has no %s", m.Name, want).Want(want, strings.Join(names, ", "))
	if near, ok := diag.Nearest(kind, kinds); ok && name == "" {
		d = d.WithHint("did you mean %q?", near)
	}
	return nil, d
}

// Link gives the link of a name, nil if there is none.
func (m *Machine) Link(name string) *Link {
	for i := range m.Links {
		if m.Links[i].Name == name {
			return &m.Links[i]
		}
	}
	return nil
}

// Rate gives what so many units of a device reach on elements of a type by a row, in operations a second; of a type of which the file says nothing, what they reach on the one that stands for it.
func (d *Device) Rate(dtype, row string, units int64) (Figure, error) {
	for _, name := range []string{dtype, standsFor(dtype, row)} {
		for _, r := range d.Rates {
			if r.Type != name || r.Row != row {
				continue
			}
			rate := d.part(r.Rate, r.Unit, units)
			if r.Reached.Known() {
				rate = rate.Times(r.Reached)
			}
			return rate, nil
		}
	}
	return Figure{}, d.Unknown(fmt.Sprintf("rate of %s by the row %q", dtype, row), "rates")
}

// standsFor gives the type at whose rates others are computed: elements one by one, scalar arithmetic and functions take as long in any type as in float32; integers are shuffled as floats are;
// narrow ones are computed as int32 are, and those without sign as those with one.
func standsFor(dtype, row string) string {
	narrow := strings.HasPrefix(dtype, "int") || strings.HasPrefix(dtype, "uint")
	switch {
	case row == "gather", row == "scalar", row == "function" && narrow:
		return "float32"
	case row == "shuffle" && strings.HasSuffix(dtype, "64"):
		return "float64"
	case row == "shuffle":
		return "float32"
	case dtype == "uint64":
		return "int64"
	case narrow && dtype != "int64":
		return "int32"
	}
	return dtype
}

// MemoryBandwidth gives what so many units reach, in bytes a second.
func (d *Device) MemoryBandwidth(units int64) Figure {
	return d.part(d.Bandwidth, d.UnitBandwidth, units)
}

// MemoryRead gives what so many units reach that read alone; MemoryBandwidth if that is not known.
func (d *Device) MemoryRead(units int64) Figure {
	if !d.Read.Known() {
		return d.MemoryBandwidth(units)
	}
	return d.part(d.Read, d.UnitRead, units)
}

// part is what so many units do of what all do, if one alone does so much, or if it is not known how much.
func (d *Device) part(all, one Figure, units int64) Figure {
	if units >= d.Units {
		return all
	}
	share := Exactly(float64(units))
	if !one.Known() {
		one, share = all, Exactly(float64(units)/float64(d.Units))
	}
	some := one.Times(share)
	if some.Value > all.Value {
		return all
	}
	return some
}

// Unknown is the error of a figure that a device does not have.
func (d *Device) Unknown(what, key string) error {
	return diag.Errorf(CodeUnknown, "machine", diag.Location{}, "the machine file has no %s for the device %s", what, d.Name).
		WithHint("give it in the file, under %q; tapc calibrate measures the machine that it runs on", key)
}

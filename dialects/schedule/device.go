package schedule

import (
	"fmt"
	"math"
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
)

// DeviceType is what a device is.
type DeviceType uint8

// The device types.
const (
	CPU DeviceType = iota
	CUDA
)

// Host is the type of the device that a program is started on: inputs and outputs are in its memory.
const Host = CPU

// deviceFacts are what devices of a type are called and what they have. Passes and constraints ask for that, and not which type it is, so
// that a new type of device is a new row.
var deviceFacts = []struct {
	word  string
	binds []Binding // what loops can be bound to, besides what every device has
}{
	CPU:  {"cpu", []Binding{Thread}},
	CUDA: {"cuda", []Binding{Block, Warp, Lane}},
}

var deviceWords = func() (words []string) {
	for _, f := range deviceFacts {
		words = append(words, f.word)
	}
	return words
}()

// DeviceWords gives the words of all device types, in the order of their numbers.
func DeviceWords() []string { return slices.Clone(deviceWords) }

// DeviceNamed finds a device type by its word.
func DeviceNamed(word string) (DeviceType, bool) {
	i := slices.Index(deviceWords, word)
	return DeviceType(max(i, 0)), i >= 0
}

// String gives the type's word.
func (t DeviceType) String() string { return deviceWords[t] }

// Has says whether loops can be bound so on devices of the type.
func (t DeviceType) Has(b Binding) bool {
	return b == Serial || b == Unrolled || b == Vector || slices.Contains(deviceFacts[t].binds, b)
}

// Device is something that runs kernels and has memory. Memory is in bytes, 0 if not known. Allow is what the program may do to numbers
// there.
type Device struct {
	Type   DeviceType
	Number int64
	Memory int64
	Allow  permission.Set
}

// DeviceOf gives a device of a graph; the node is one.
func DeviceOf(g *ir.Graph, id ir.NodeID) *Device { return g.Node(id).Body.(*Device) }

// Kind is DeviceKind.
func (*Device) Kind() *ir.Kind { return DeviceKind }

// Fields names the device's facts.
func (d *Device) Fields(f ir.Fields) {
	ir.Enum(f, ir.Field{Num: 1, Name: "type", Style: ir.Positional}, deviceWords, &d.Type)
	f.Int(ir.Field{Num: 2, Name: "number", Style: ir.Positional}, &d.Number)
	f.Int(ir.Field{Num: 3, Name: "memory", Optional: true}, &d.Memory)
	allow(f, ir.Field{Num: 4, Name: "allow", Optional: true}, &d.Allow)
}

// Holding is what a device holds, in bytes: its arena up to the end of the last buffer, its inputs, outputs and constants, and the largest workspaces of its
// kernels, which run one after the other, for one thread. A buffer over another one takes nothing. math.MaxInt64 stands for more than that.
type Holding struct {
	Arena, Kept     int64
	Device, Private int64    // workspaces
	Count           int      // of buffers outside the arena
	last, largest   *ir.Node // the buffer of the arena that ends last, and the largest of the others
}

// Workspaces gives what the workspaces of a device hold.
func (h *Holding) Workspaces() int64 { return plus(h.Device, h.Private) }

// Total gives all that a device holds.
func (h *Holding) Total() int64 { return plus(plus(h.Arena, h.Kept), h.Workspaces()) }

// Beyond says of a device that holds more than its memory what is expected, what was found, and which buffers show it.
func (h *Holding) Beyond(g *ir.Graph, memory int64, d diag.Diagnostic) diag.Diagnostic {
	found := fmt.Sprintf("%d bytes: an arena of %d", h.Total(), h.Arena)
	if w := h.Workspaces(); w > 0 {
		found += fmt.Sprintf(", %d in workspaces", w)
	}
	d = d.Want(fmt.Sprintf("at most %d bytes", memory), found+fmt.Sprintf(" and %d in %s", h.Kept, check.Count(h.Count, "other buffer")))
	if h.last != nil {
		b := h.last.Body.(*Buffer)
		d = d.WithNote(g.At(h.last, ""), "the arena ends with %s, which has bytes %d to %d in steps %d to %d", g.Name(h.last.ID), b.Offset, plus(b.Offset, b.Bytes), b.First, b.Last)
	}
	if h.largest != nil {
		d = d.WithNote(g.At(h.largest, ""), "the largest of the others is %s of %d bytes", g.Name(h.largest.ID), h.largest.Body.(*Buffer).Bytes)
	}
	return d
}

// plus adds sizes; math.MaxInt64 stands for more than that.
func plus(a, b int64) int64 { return min(a, math.MaxInt64-max(0, b)) + max(0, b) }

// Held says what each device holds.
func Held(g *ir.Graph) map[ir.NodeID]*Holding {
	held := map[ir.NodeID]*Holding{}
	of := func(device ir.NodeID) *Holding {
		if held[device] == nil {
			held[device] = &Holding{}
		}
		return held[device]
	}
	for n := range g.Nodes() {
		switch b := n.Body.(type) {
		case *Kernel:
			h := of(b.Device)
			for i := range b.Configs {
				w := b.Configs[i].Workspaces
				h.Device, h.Private = max(h.Device, BytesOf(w, DeviceScope)), max(h.Private, BytesOf(w, PrivateScope))
			}
		case *Buffer:
			switch h := of(b.Device); {
			case b.Over != ir.NoNode:
			case b.Space == Arena:
				if end := plus(b.Offset, b.Bytes); h.last == nil || end > h.Arena {
					h.Arena, h.last = max(h.Arena, end), n
				}
			default:
				if h.Kept = plus(h.Kept, b.Bytes); h.largest == nil || b.Bytes > h.largest.Body.(*Buffer).Bytes {
					h.largest = n
				}
				h.Count++
			}
		}
	}
	return held
}

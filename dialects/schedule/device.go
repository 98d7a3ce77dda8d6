package schedule

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/ir"
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

// Kind is DeviceKind.
func (*Device) Kind() *ir.Kind { return DeviceKind }

// Fields names the device's facts.
func (d *Device) Fields(f ir.Fields) {
	ir.Enum(f, ir.Field{Num: 1, Name: "type", Style: ir.Positional}, deviceWords, &d.Type)
	f.Int(ir.Field{Num: 2, Name: "number", Style: ir.Positional}, &d.Number)
	f.Int(ir.Field{Num: 3, Name: "memory", Optional: true}, &d.Memory)
	allow(f, ir.Field{Num: 4, Name: "allow", Optional: true}, &d.Allow)
}

// Held gives the bytes that each device holds: its arena up to the end of the last buffer, and its inputs, outputs and constants. An output over an
// input takes none. math.MaxInt64 stands for more than that.
func Held(g *ir.Graph) map[ir.NodeID]int64 {
	arenas, kept := map[ir.NodeID]int64{}, map[ir.NodeID]int64{}
	for n := range g.Nodes() {
		b, ok := n.Body.(*Buffer)
		switch {
		case !ok || b.Over != ir.NoNode:
		case b.Space == Arena:
			arenas[b.Device] = max(arenas[b.Device], b.Offset+b.Bytes)
		default:
			kept[b.Device] = min(kept[b.Device], math.MaxInt64-max(0, b.Bytes)) + max(0, b.Bytes)
		}
	}
	for d, bytes := range arenas {
		kept[d] = min(kept[d], math.MaxInt64-bytes) + bytes
	}
	return kept
}

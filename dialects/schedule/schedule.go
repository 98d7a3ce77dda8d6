// Package schedule is the Scheduled Kernels dialect: where, when, in which loops and on which bytes.
//
// It adds devices, buffers, kernels and transfers to the two dialects above. A kernel carries out one or more applications:
// loops (each with its tiles and what each level is bound to), operands (affine views of buffers) and statements over them.
// The dialect serves every target: a loop level can be bound to a vector, a thread, a GPU block or a lane, a buffer lives in
// a memory space of a device, and data moves between devices only by transfers.
//
// The package has nodes and what each says of itself. It must not import what is said of them: which cells kernels touch
// (dialects/schedule/uses), what every schedule keeps to (dialects/schedule/constraints), passes or back ends. Read next:
// dialects/schedule/constraints, then passes/lower.
package schedule

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

const nodeBase = "http://tensortapestry.org/schemas/tapc/2026-11/schedule.jsd#/nodes/"

// Retired says what is expected in the place of fields that kernels had.
var Retired = map[string]string{
	"fast":      "allow, with permissions such as lost-nan, reciprocal and transformed-tiles",
	"precision": "allow, with the permission bf16",
}

// The node kinds of the dialect.
var (
	DeviceKind   = &ir.Kind{URI: nodeBase + "Device", Keyword: "device", Num: 5, New: func() ir.Body { return new(Device) }}
	BufferKind   = &ir.Kind{URI: nodeBase + "Buffer", Keyword: "buffer", Num: 6, New: func() ir.Body { return new(Buffer) }}
	KernelKind   = &ir.Kind{URI: nodeBase + "Kernel", Keyword: "kernel", Num: 7, Step: true, New: func() ir.Body { return new(Kernel) }}
	TransferKind = &ir.Kind{URI: nodeBase + "Transfer", Keyword: "transfer", Num: 8, Step: true, New: func() ir.Body { return new(Transfer) }}
)

// allow visits a set of permissions, whose form is the text with commas.
func allow(f ir.Fields, field ir.Field, v *permission.Set) {
	before := v.String()
	text := before
	f.String(field, &text)
	if text == before {
		return
	}
	set, err := permission.Parse(text)
	if err != nil {
		f.Fail(field, "permissions with commas between, of "+strings.Join(permission.Names(), ", "), strconv.Quote(text))
		return
	}
	*v = set
}

// Allowed gives what a program may do to numbers on any of its devices.
func Allowed(g *ir.Graph) (set permission.Set) {
	for n := range g.Nodes() {
		if d, ok := n.Body.(*Device); ok {
			set |= d.Allow
		}
	}
	return set
}

// Space is the memory a buffer lives in.
type Space uint8

// The memory spaces: the caller's inputs and outputs, constants that travel with the program, and the program's one arena.
const (
	Input Space = iota
	Output
	Constant
	Arena
)

var spaces = []string{"input", "output", "constant", "arena"}

// String gives the space's word.
func (s Space) String() string { return spaces[s] }

// Buffer holds the elements of a box of a tensor. The element at coordinate c is at
// Base + sum over dimensions of (c - Range.Start)·Strides elements; Align and Offset are bytes, Offset counts from the start
// of the arena. First and Last are the numbers of the first and last step (see Order) that touch an arena buffer. A constant's
// elements stand in its buffer's order too: whoever makes the program puts those of the tensor, which are row-major, in that. Over is the
// buffer in whose memory this one is, or NoNode: a cell of both has one address. It is the input that an output updates, or, of a buffer of the
// arena, which then takes none of it, the one that a device of the same memory has its cells in: it reads there what it would be sent, or computes there what it would send.
type Buffer struct {
	Tensor  ir.NodeID
	Device  ir.NodeID
	DType   string
	Range   zspace.Range
	Strides []int64
	Space   Space
	Align   int64
	Offset  int64
	Bytes   int64
	First   int64
	Last    int64
	Over    ir.NodeID
}

// Kind is BufferKind.
func (*Buffer) Kind() *ir.Kind { return BufferKind }

// Fields names the buffer's facts.
func (b *Buffer) Fields(f ir.Fields) {
	ir.Enum(f, ir.Field{Num: 1, Name: "space", Style: ir.Positional}, spaces, &b.Space)
	f.String(ir.Field{Num: 2, Name: "dtype", Style: ir.Positional}, &b.DType)
	f.Range(ir.Field{Num: 3, Name: "range", Style: ir.Positional}, &b.Range)
	f.Ref(ir.Field{Num: 4, Name: "device"}, &b.Device)
	f.Ref(ir.Field{Num: 5, Name: "tensor", Optional: true}, &b.Tensor)
	f.Ints(ir.Field{Num: 6, Name: "strides"}, &b.Strides)
	f.Int(ir.Field{Num: 7, Name: "align"}, &b.Align)
	f.Int(ir.Field{Num: 8, Name: "bytes"}, &b.Bytes)
	f.Int(ir.Field{Num: 9, Name: "offset", Optional: true}, &b.Offset)
	f.Int(ir.Field{Num: 10, Name: "first", Optional: true}, &b.First)
	f.Int(ir.Field{Num: 11, Name: "last", Optional: true}, &b.Last)
	f.Ref(ir.Field{Num: 12, Name: "over", Optional: true}, &b.Over)
}

// RowMajor says whether the elements stand in row-major order without gaps.
func (b *Buffer) RowMajor() bool {
	shape := b.Range.Shape()
	for d, step := range zspace.RowMajor(shape) {
		if shape[d] != 1 && b.Strides[d] != step {
			return false
		}
	}
	return true
}

// Order gives the dimensions of more than one value, outermost in memory first, if the elements stand in some order of them
// without gaps.
func (b *Buffer) Order() (dims []int, ok bool) {
	shape := b.Range.Shape()
	for d, n := range shape {
		if n != 1 {
			dims = append(dims, d)
		}
	}
	slices.SortStableFunc(dims, func(x, y int) int { return cmp.Compare(b.Strides[y], b.Strides[x]) })
	step := int64(1)
	for _, d := range slices.Backward(dims) {
		if b.Strides[d] != step {
			return nil, false
		}
		step *= max(1, shape[d])
	}
	return dims, true
}

// Nested says whether each stride steps over all that the smaller strides reach, as in every dense layout: then no two cells
// share an element.
func (b *Buffer) Nested() bool {
	if b.Range.Empty() {
		return true
	}
	var dims []int
	for d := range b.Strides {
		if b.Range.End[d]-b.Range.Start[d] > 1 {
			dims = append(dims, d)
		}
	}
	size := func(d int) uint64 { return uint64(max(b.Strides[d], -b.Strides[d])) }
	slices.SortFunc(dims, func(a, b int) int { return cmp.Compare(size(a), size(b)) })
	reach := uint64(0) // of the smaller strides, in elements
	for _, d := range dims {
		hi, lo := bits.Mul64(size(d), uint64(b.Range.End[d]-b.Range.Start[d]-1))
		if size(d) <= reach || hi != 0 || reach > math.MaxInt64 || lo > math.MaxInt64 {
			return false
		}
		reach += lo
	}
	return true
}

// Type is the element type, scalar.Invalid if unknown.
func (b *Buffer) Type() scalar.DType {
	d, err := scalar.ParseDType(b.DType)
	if err != nil {
		return scalar.Invalid
	}
	return d
}

// BufferOf gives a buffer of a graph; the node is one.
func BufferOf(g *ir.Graph, id ir.NodeID) *Buffer { return g.Node(id).Body.(*Buffer) }

// Binding is what carries out one level of a loop.
type Binding uint8

// The bindings.
const (
	Serial Binding = iota
	Unrolled
	Vector
	Thread // threads of a CPU pool
	Block  // blocks of a GPU grid
	Warp   // warps of a GPU block
	Lane   // threads of a GPU block
)

var bindings = []string{"serial", "unrolled", "vector", "thread", "block", "warp", "lane"}

// String gives the binding's word.
func (b Binding) String() string { return bindings[b] }

// Level is one level of a tiled loop, from the outermost in: it steps by Tile; the next level covers that tile. The last
// level has Tile 1.
type Level struct {
	Tile int64
	Bind Binding
}

// Loop is one dimension of a kernel's iteration space, from Start to End. Where the kernel carries out a shard, Of is the start and the
// end of the whole dimension: what is chosen by it, as the order of sums is, is the same for all shards. It is empty where that is Start
// and End.
type Loop struct {
	Name       string
	Start, End int64
	Of         []int64
	Levels     []Level
}

// Extent is the number of values the loop takes.
func (l Loop) Extent() int64 { return l.End - l.Start }

// Mode says what a kernel does to an operand.
type Mode uint8

// The modes.
const (
	Read Mode = iota
	Write
)

var modes = []string{"read", "write"}

// String gives the mode's word.
func (m Mode) String() string { return modes[m] }

// Operand is a view of a buffer: at a point of the loops it is the element at Access of that point, in the coordinates of the
// buffer's range.
type Operand struct {
	Name   string
	Buffer ir.NodeID
	DType  string // of the buffer
	Mode   Mode
	Access zspace.AffineMap // one column for each loop of the kernel
}

// Statement computes one value at every point of the loops in Over (numbers of loops, ascending). Store is the operand it is
// written to, or -1: then later statements use it as a local value.
type Statement struct {
	Name  string
	Over  []int64
	Store int64
	Value *scalar.Expr
}

// Kernel carries out one or more applications on a device. Its steps may run once every node in After is done.
type Kernel struct {
	Name         string
	Device       ir.NodeID
	Applications []ir.NodeID
	After        []ir.NodeID
	Loops        []Loop
	Operands     []Operand
	Statements   []Statement
	Sums         int64          // values that a sum of float products adds before it starts a new partial sum (docs/numerics.md); 0 if it is no product
	Allow        permission.Set // what it may do to numbers, of what its device allows: what would be of no use to it is left out
	Configs      []Config       // how it is carried out, one for each target that was decided for
}

// Kind is KernelKind.
func (*Kernel) Kind() *ir.Kind { return KernelKind }

// Fields names the kernel's facts.
func (k *Kernel) Fields(f ir.Fields) {
	f.String(ir.Field{Num: 1, Name: "name", Style: ir.Positional}, &k.Name)
	f.Ref(ir.Field{Num: 2, Name: "device"}, &k.Device)
	f.Refs(ir.Field{Num: 3, Name: "applications"}, &k.Applications)
	f.Refs(ir.Field{Num: 4, Name: "after", Optional: true}, &k.After)
	f.List(ir.Field{Num: 5, Name: "loops", Optional: true}, len(k.Loops), func(n int) { k.Loops = make([]Loop, n) },
		func(i int, f ir.Fields) { k.Loops[i].fields(f) })
	f.List(ir.Field{Num: 6, Name: "operands", Optional: true}, len(k.Operands), func(n int) { k.Operands = make([]Operand, n) },
		func(i int, f ir.Fields) { k.Operands[i].fields(f) })
	f.List(ir.Field{Num: 7, Name: "statements", Optional: true}, len(k.Statements), func(n int) { k.Statements = make([]Statement, n) },
		func(i int, f ir.Fields) { k.Statements[i].fields(f, k, i) })
	allow(f, ir.Field{Num: 10, Name: "allow", Optional: true}, &k.Allow) // 8 and 9 were precision and fast
	f.Int(ir.Field{Num: 11, Name: "sums", Optional: true}, &k.Sums)
	f.List(ir.Field{Num: 12, Name: "configs", Optional: true}, len(k.Configs), func(n int) { k.Configs = make([]Config, n) },
		func(i int, f ir.Fields) { k.Configs[i].Fields(f) })
}

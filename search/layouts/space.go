// Package layouts is the space of plans of a graph on a mesh of devices: along which of its dimensions, reduced ones too, each operation is cut, how each
// tensor is kept, and what moves between them.
//
// A mesh has at most three axes; each axis goes along one dimension of an operation or of a tensor, or along none. What goes along what follows
// from signatures, as passes/propagate has it. Operations take what cost/price says of their parts, moves what cost/collective says, and memory is
// what lives on a device at a time. A part of a graph that repeats is planned once. It must not change the graph. Read next: new.go, collect.go, then
// tables.go; write.go makes plan files of trials.
package layouts

import (
	"slices"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/marginal"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/cost/reshard"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/search/fusion"
	"tensortapestry.org/tapc/search/meshes"
	"tensortapestry.org/tapc/search/runs"
)

// The objectives. Time is in seconds of one run, memory in bytes of one device, sent in bytes that one device sends in one run.
const (
	Time   = "time"
	Memory = "memory"
	Sent   = "sent"
)

// Objectives are all of them, in the order in which prices are computed.
var Objectives = []string{Time, Memory, Sent}

// The parts of a space that --space names: what is not searched follows from what is.
const (
	Tensors = "tensors" // how intermediate tensors are kept; else as they are computed
	Leaves  = "leaves"  // how inputs and constants are kept; else as their first reader needs them
	Reduced = "reduced" // cuts along reduced dimensions, where permissions let sums be added in another order
)

// Words are the parts.
var Words = []string{Tensors, Leaves, Reduced}

// Settings say what is planned.
type Settings struct {
	Machine    *machine.Machine
	Kind       string  // of device, such as "cpu"; "" is that of the machine's first device
	Devices    int64   // how many of it
	MaxMemory  float64 // bytes of a device; 0 is what the machine says
	Objectives []string
	Allow      permission.Set
	Parts      []string // of Words
	Mesh       []int64  // the only mesh; nil is all
	Stages     int      // of a pipeline, among which devices are divided evenly; 0 is one
}

// has says whether a part is searched.
func (s *Settings) has(part string) bool { return slices.Contains(s.Parts, part) }

// Space is the plans of one graph. It is a search.Space whose first gene is the mesh, followed by the operations' and the tensors'.
type Space struct {
	settings Settings
	graph    *ir.Graph
	device   *machine.Device
	meshes   [][]int64
	ops      []*operation // one of each class
	tensors  []*tensor    // the same
	edges    []edge
	ways     ways
	times    []float64 // that each edge is there
	spots    []spot
	genes    []int
	found    members
	line     pipeline
	costs    []int // the objectives, as numbers of Objectives

	tables []func() *tables // of each mesh
}

// members are the classes of what is in the graph, and what is joined.
type members struct {
	opOf     map[ir.NodeID]member
	tensorOf map[ir.NodeID]int
	joins    joins
}

// joins says what becomes one kernel.
type joins struct {
	classes []int // of steps
	groups  fusion.Groups
	joints  [][]fusion.Joint // of each edge that reads what may not be stored, by how its operation is cut
}

// step is one operation of the graph.
type step struct {
	id      ir.NodeID
	op      *operation
	tensors []ir.NodeID // of its operands
	edges   []int       // the same
	like    *step       // the first one that is equal but for its names; itself if there is none before
}

// pipeline says where operations are.
type pipeline struct {
	stages   int
	order    []ir.NodeID // of operations
	stageOf  []int       // of each of these
	crossing []int       // tensors that are sent from one stage to another
}

// MaxStages bounds the stages of a pipeline.
const MaxStages = 64

// operation is a class of operations that are planned alike.
type operation struct {
	name     string
	count    float64
	dims     []dimension // of the index, then those that are reduced
	operands []operand
	work     price.Operation     // of the whole operation, without its bytes
	wide     int                 // how many times as large as the elements of its results those of partial ones are
	said     *marginal.Operation // of which the graph says what parts take; nil of known kernels, whose parts take their share
	cuts     []meshes.Assignment // how it can be cut: the values of its gene
	gene     int
}

// member is an operation of the graph: its class, and the tensors of its operands.
type member struct {
	class   int
	tensors []ir.NodeID
}

type dimension struct {
	name    string
	extent  int64
	reduced bool
	free    bool // it may be cut
}

func (o *operation) extents() (list []int64) {
	for _, d := range o.dims {
		list = append(list, d.extent)
	}
	return list
}

// operand is what an operation reads or writes. Dims says for each dimension of the tensor which dimension of the operation goes along it, or -1; whole
// operands are read or written entirely.
type operand struct {
	out   bool
	port  int // of the results or of the inputs
	entry int // of the port
	dims  []int
	halo  []int64 // cells that neighbouring parts both read, along each dimension of the tensor
	bytes float64 // that it selects
}

// tensor is a class of tensors that are kept alike.
type tensor struct {
	name    string
	count   float64
	at      []float64 // on the devices of each stage; those that are between count where they are made and where they are read
	sends   float64   // from one stage to another
	extents []int64
	bytes   float64
	leaf    bool
	keeps   []meshes.Assignment // how it can be kept
	gene    int                 // -1 if it is not searched
	made    use                 // the first operand that writes it, or reads it if it is a leaf
	edges   []int               // of its operands
	joined  bool                // no memory holds it where its operations are cut alike (join.go)
	behind  behind
}

// behind is what is held while a tensor waits for its readers that is not stored: what its operation reads last, and what was moved for that.
type behind struct{ tensors, edges []int }

// use is an operand of an operation.
type use struct{ op, operand int }

// edge is an operand and the class of its tensor.
type edge struct {
	use
	tensor int
}

// ways are what edges want of tensors, and the routes by which these get there.
type ways struct {
	wants   []want // of each edge
	demands []*demand
	routes  [][][]reshard.Leg
}

// want is what the cuts of an edge's operation want of its tensor: several want it alike.
type want struct {
	*demand
	of []uint16 // by cut, which of needs it has
}

// demand is what edges have in common that move alike: for each need and each way to keep a tensor, in that order, the number of the routes between.
type demand struct {
	edge   edge // the first
	needs  []need
	routes []int
	number int
}

// need is the layout in which an operand is read or written and, as bits, the axes along which partial results of it are made.
type need struct {
	layout  meshes.Assignment
	partial int
	wide    int // as an operation has it
}

// spot is what lives while an operation runs, beside inputs and constants: operations at which the same lives share one.
type spot struct {
	edges []int // of the operation
	runs.Spot
}

// Genes are the numbers of values.
func (x *Space) Genes() []int { return x.genes }

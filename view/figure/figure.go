// Package figure says what a drawing of a graph shows: boxes of several kinds with their words, marks and the parts that they are cut into, and
// what joins them. A figure has no places and no pixels: view/svg and view/page draw it, and every fact of it is text as well.
//
// It must not know how anything is drawn. Read next: operations.go, then schedule.go.
package figure

import (
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Kind is what a box stands for.
type Kind string

// The kinds.
const (
	Tensor    Kind = "tensor"
	Operation Kind = "operation"
	Selector  Kind = "selector" // an operation that only moves cells
	Source    Kind = "source"
	Sink      Kind = "sink"
	Constant  Kind = "constant" // a tensor with the operation that gives its value
	Kernel    Kind = "kernel"
	Transfer  Kind = "transfer"
	Buffer    Kind = "buffer"
	Note      Kind = "note"
	Sequence  Kind = "sequence point"
)

// Mark is a set of what is said of a box beside its kind.
type Mark uint8

// The marks.
const (
	Observed    Mark = 1 << iota // what the world outside sees
	Pruned                       // nothing observed depends on it
	Precomputed                  // carried out when the program is built
	Alone                        // of several programs side by side, only one has it
	Differs                      // what stands for it in another program is not the same
)

// Part is a box of the coordinates of a tensor, or of the index of an operation: what a shard reads, writes or computes.
type Part struct {
	Range zspace.Range
	Of    ir.NodeID // the shard or operation
	Color int       // of the operation
	Write bool
}

// Matrix is a projection of a signature: where an index point leads in a tensor.
type Matrix struct {
	Name   string
	Rows   [][]int64
	Offset []int64
	Shape  []int64
}

// Fact is something about a box in words.
type Fact struct{ Name, Value string }

// Item is a box.
type Item struct {
	Node     ir.NodeID
	Kind     Kind
	Title    string
	Lines    []string
	Color    int // number of the class of its operation or kernel, from 0
	Marks    Mark
	Whole    zspace.Range // that parts are of
	Parts    []Part
	Matrices []Matrix
	Facts    []Fact
	At       []ir.Pos    // places in the source file that it comes from
	Of       []ir.NodeID // the operations that a kernel carries out
	Bytes    int64       // of a tensor or buffer
	Column   int         // number of the program, of several side by side
	Twins    []int       // items of other programs that stand for the same
}

// Join is an edge: from an item to another one, by their numbers, with what of a tensor it carries.
type Join struct {
	From, To int
	Port     string
	Range    string // "" for the whole tensor
}

// Figure is a graph as it is drawn.
type Figure struct {
	Name    string // of the stage
	Items   []Item
	Joins   []Join
	Classes []string // what items of a color have in common: names of kernels
	Columns []Column // of several programs side by side; none for one
}

// Has says whether a box has a mark.
func (it *Item) Has(m Mark) bool { return it.Marks&m != 0 }

// Package wire reads and writes graphs as protobuf, the form that plugins and caches exchange: everything of a graph, its
// node numbers, positions, provenance and dangling references too.
//
// tapc.proto is the schema, generated from the same field declarations that the other forms use (ir.Field holds each field's
// number); this package reads and writes the bytes directly, without generated code. A graph may be cut into chunks of bounded
// size that, joined, are the message of the whole graph. Input is not trusted: limits hold, and nothing panics. It must not
// import a dialect. Read next: encode.go; docs/wire-form.md holds the promise of compatibility.
package wire

import "fmt"

//go:generate go run ./gen

// Version is the version of the form: a graph of a higher one is refused.
const Version = 1

// MaxChunk is the size in bytes that no chunk of a Writer exceeds.
const MaxChunk = 1 << 20

// The fields of the messages that are not a dialect's. tapc.proto shows them in their places.
const (
	graphVersion  = 1
	graphID       = 2
	graphFile     = 3
	graphDangling = 4
	graphNodes    = 5

	nodeGap    = 1
	nodeID     = 2
	nodeLabel  = 3
	nodePos    = 4
	nodeOrigin = 5
	nodeBody   = 10  // and the number of the node kind
	nodeTag    = 500 // and the number of the tag kind

	posLine = 1
	posCol  = 2
	posDoc  = 3

	originRule = 1
	originFrom = 2

	named1 = 1 // name of a port, a parameter or a port's projections
	named2 = 2 // selections, value or projections

	rangeStart = 1
	rangeEnd   = 2

	selectionTensor = 1
	selectionStart  = 2
	selectionEnd    = 3

	mapCoefficients = 1
	mapOffset       = 2
	mapShape        = 3

	valueBool   = 1
	valueInt    = 2
	valueFloat  = 3
	valueString = 4
	valueList   = 5
	valueMap    = 6

	items = 1 // of a list or a map
)

// maxDepth bounds how deep the values of parameters may nest.
const maxDepth = 500

// Error says what is wrong with bytes that should be a graph.
type Error struct {
	Node    int // number of the node among the nodes, from 0; -1 outside nodes
	Field   string
	Problem string
}

// Error gives node, field and problem on one line.
func (e *Error) Error() string {
	where := "graph"
	if e.Node >= 0 {
		where = fmt.Sprintf("node #%d", e.Node)
	}
	if e.Field != "" {
		where += ", field " + e.Field
	}
	return "protobuf form: " + where + ": " + e.Problem
}

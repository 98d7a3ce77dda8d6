// Package rewrite is the one driver of all rewrites: rules in, a graph with the same observed values out.
//
// A Rule is a small named value. It looks at one operation and says what may stand in its place; the driver decides whether
// that is legal, edits the graph and its index of uses, removes what became dead, and keeps tags, shards and provenance
// right. Most rules are text (the language of docs/rewrites.md, which passes/rewrite/language reads); a rule that text can not say is a Go
// function. This package must not import the pass runner or a form of the IR. Read next: driver.go, then passes/simplify.
package rewrite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
)

// Class says whether a rewrite may or must happen.
type Class uint8

// The classes: an optimization may happen; a semantic rewrite must, for a later stage relies on it.
const (
	Optimization Class = iota
	Semantic
)

// String gives the class's word.
func (c Class) String() string { return [...]string{"may", "must"}[c] }

// Rule is one rewrite. Match looks at a site and gives what may stand for the operation there; it changes nothing and gives
// the same answer for the same graph.
type Rule struct {
	Name    string
	Class   Class
	Roots   []string       // kernels whose operations Match looks at, by name without namespace; none: every operation
	Text    string         // pattern, result and guard as written, or a sentence for a rule written in Go
	Because string         // the identity it rests on
	Source  string         // file and line, or "Go"
	Needs   []string       // kernels that all must be among the producers of the operation's inputs for Match to be asked
	Allow   permission.Set // what Match needs to be allowed to do to numbers, for it to be asked
	Depth   int            // how many operations deep Match looks; 0 is 2: the operation and its producers
	Match   func(*Site) (Result, bool)

	// Instance makes a small random graph that holds what the rule matches, as language.Parse says; nil for a rule written in Go.
	Instance func(*rand.Rand) (*ir.Graph, bool)
}

// Result is what stands for each output of the matched operation, in the order of its output selections.
type Result struct {
	Outputs []Operand
	From    []ir.NodeID // matched operations besides the root, for provenance
	Others  []Result    // alternatives in its place; the driver takes none of them
}

// Operand is a value that a rule builds with: output number Out of a new operation or, when New is nil, a box of a tensor.
type Operand struct {
	Sel ir.Selection
	New *Op
	Out int
}

// Op is an operation to make. Operands that share an Op share the operation.
type Op struct {
	Kernel  string
	Params  ir.Attrs
	Inputs  []Input // sorted by port
	Outputs []Output
}

// Input is a port of a new operation with what it selects.
type Input struct {
	Port string
	Args []Operand
}

// Output is an output port of a new operation with its tensor. The tensor of an output that stands for one of the root's is
// the root's own: its dtype and shape must agree.
type Output struct {
	Port  string
	DType string
	Range zspace.Range
}

// One makes the result of a rule on an operation with one output.
func One(o Operand, from ...ir.NodeID) Result { return Result{Outputs: []Operand{o}, From: from} }

// Fuel is a number of applications that may still happen, shared by all passes of a run. A nil *Fuel never ends.
type Fuel struct{ Left int }

// Take uses one unit and says whether there was one.
func (f *Fuel) Take() bool {
	if f == nil {
		return true
	}
	if f.Left <= 0 {
		return false
	}
	f.Left--
	return true
}

// Options are what a run is given besides the graph and the rules.
type Options struct {
	Library *kernels.Library
	Fuel    *Fuel
	Disable []string       // names of rules that stay off
	Allow   permission.Set // what rules may do to numbers
	Outputs []string       // labels of the only tensors that are observed besides those of sinks; none: every unused result is
	Limit   int            // applications after which a run is said not to end; 0 is 100 for each operation and 10000
	Verify  bool           // bind every operation that a rule makes to its kernel; a misfit is an error that names the rule
	Trace   func(Change)   // called before every application, if not nil
	Load    LoadConst      // nil where no data files can be read
}

// LoadConst reads the value of a constant, for rules that hold for some values only.
type LoadConst func(c tensorops.Const, t *tensorops.Tensor) (tensorfile.Tensor, error)

// Change is one application of a rule, for traces.
type Change struct {
	Rule   string
	Root   ir.NodeID
	Source string // of the rule
}

// Hit counts the applications of a rule.
type Hit struct {
	Rule  string
	Count int
}

// Stats say what a run did.
type Stats struct {
	Hits      []Hit // of every rule given, in order, 0 too
	Applied   int
	Refused   int     // matches that the driver could not carry out without changing what is observed
	Removed   int     // operations
	OutOfFuel bool    // stopped because the fuel was used up
	Next      *Change // the application that fuel was missing for
}

// Of gives the number of applications of a rule.
func (s *Stats) Of(rule string) int {
	for _, h := range s.Hits {
		if h.Rule == rule {
			return h.Count
		}
	}
	return 0
}

// CycleError says that a run did not come to an end: the rules that took turns, in order, with their places in a file where they have one, and where.
type CycleError struct {
	Rules   []string
	Sources []string // by Rules
	Node    string
	Limit   int
}

// Error names the rules.
func (e *CycleError) Error() string {
	turns := strings.Join(slices.Concat(e.Rules, e.Rules[:min(1, len(e.Rules))]), " → ")
	return fmt.Sprintf("rewriting does not end (stopped after %d applications at or below %s): %s", e.Limit, e.Node, turns)
}

// Run applies the rules until none applies, the fuel is used up or ctx ends. At every operation the first rule that applies
// is taken; operations are visited producers first, in graph order, so the outcome depends on the graph and the rules alone.
// The graph must satisfy the constraints of its dialect; it is changed in place, also when an error ends the run, and is
// valid then too.
//
// What is observed stays: tensors that an operation with the IOSequencePoint tag, an import or an export has and, unless an
// export states all outputs or a sequence point is there, those that nobody consumes (or only those that Options.Outputs labels). They keep node, label, dtype and range, and stay
// unconsumed if they were. Graph inputs stay. Operations with the IOSequencePoint tag, and nodes that other nodes than
// operations and applications refer to, are not touched.
func Run(ctx context.Context, g *ir.Graph, rules []Rule, opt Options) (Stats, error) {
	d, err := newDriver(ctx, g, rules, opt)
	if err != nil {
		return Stats{}, err
	}
	err = d.run()
	return d.stats(), err
}

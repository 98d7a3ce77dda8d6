// Package tree is the tile tree: what a kernel does on one target, after every decision is taken and before it is text.
//
// A tree is a pure function of a kernel and its config (backends/codegen). It says which loops run, what carries them out, which
// memory of which scope is declared where, what is copied, multiplied, computed, reduced and stored, and where threads wait for each
// other. Nothing is left to choose: C and CUDA are printed from it, and Verify holds it to what both rely on. Trees are printed
// (--emit=tree) but never read, stored or searched; what can be chosen is in the config.
//
// Integers that are known when the program runs are an Index, elements are an Access of a Memory, and values are scalar expressions
// whose loads are the arguments of a Map. It must not import passes or other back ends. Read next: verify.go, backends/codegen.
package tree

import (
	"fmt"

	"tensortapestry.org/tapc/ir/scalar"
)

// Bind is what carries out the iterations of a loop.
type Bind uint8

// The bindings. Iterations of Serial and Unrolled follow each other; those of Vector are the lanes of one instruction; those of Thread,
// Block and Lane run in no order, on a CPU's threads, as a GPU's blocks, and as the threads of a block.
const (
	Serial Bind = iota
	Unrolled
	Vector
	Thread
	Block
	Lane
)

var binds = []string{"serial", "unrolled", "vector", "thread", "block", "lane"}

// String gives the binding's word.
func (b Bind) String() string { return binds[b] }

// Scope is who has a memory, and how long.
type Scope uint8

// The scopes. Global memory is an operand's buffer; a Workspace is memory of the device that all share while the kernel runs; a Constant is what was packed when
// the program was built; Private memory is one CPU thread's; Shared memory is one GPU block's; Registers are one thread's or lane's.
const (
	Global Scope = iota
	Workspace
	Constant
	Private
	Shared
	Registers
)

var scopes = []string{"global", "workspace", "constant", "private", "shared", "registers"}

// String gives the scope's word.
func (s Scope) String() string { return scopes[s] }

// Dim is one dimension of a memory: its coordinates are from Start to End, each Stride elements from the one before.
type Dim struct{ Start, End, Stride int64 }

// Memory holds elements of one type. The element at a coordinate is Base + sum of (coordinate·Stride) elements from its beginning, which
// for an operand is that of its buffer. An operand has a dimension for each loop of its kernel, or for each dimension that these make: it is accessed where these stand.
type Memory struct {
	Name    string
	Type    scalar.DType
	Scope   Scope
	Dims    []Dim
	Base    int64
	Operand int     // of the kernel, for Global; that which a Constant is made of
	Written bool    // for Global: the kernel writes it
	Lanes   int64   // of the vectors that registers are; 0 for single numbers
	Acc     bool    // values are kept as accumulators are: in the wide type of Type, and not rounded
	Mask    int64   // bytes of a lane, for truth values of the lanes of vectors
	Packed  bool    // elements of a Workspace are as buffers have them, not as they are computed with
	Slack   int64   // elements behind that whole vectors may reach into
	Of      *Memory // whose elements these are, seen in other dimensions; nil for its own
}

// Elements is how many elements from its beginning a declared memory takes.
func (m *Memory) Elements() int64 {
	last := m.Base
	for _, d := range m.Dims {
		last += max(0, d.End-1) * d.Stride
	}
	return last + 1 + m.Slack
}

// Bytes is what a declared memory takes.
func (m *Memory) Bytes() int64 {
	size := m.Type.Size()
	if m.Of != nil {
		return 0
	}
	if m.Acc || m.Scope == Workspace && !m.Packed {
		size = m.Type.Wide().Size()
	}
	return m.Elements() * int64(size)
}

// NewMemory makes a memory of a shape, in row-major order. Rows of the innermost dimension are pad elements apart.
func NewMemory(name string, t scalar.DType, s Scope, pad int64, shape ...int64) *Memory {
	m := &Memory{Name: name, Type: t, Scope: s, Dims: make([]Dim, len(shape)), Operand: -1}
	step := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		m.Dims[i] = Dim{0, shape[i], step}
		step *= shape[i]
		if i == len(shape)-1 {
			step += pad
		}
	}
	return m
}

// Stored gives a memory whose elements are as buffers have them, as those of panels are.
func Stored(name string, t scalar.DType, s Scope, shape ...int64) *Memory {
	m := NewMemory(name, t, s, 0, shape...)
	m.Packed = true
	return m
}

// Access is an element of a memory. Coordinates of dimensions without a stride may be nil.
type Access struct {
	Memory *Memory
	At     []*Index
}

// Address is the number of the element from the beginning of its memory; of neighbouring elements, of the first.
func (a Access) Address() *Index {
	x := Const(a.Memory.Base)
	for i, d := range a.Memory.Dims {
		if d.Stride != 0 {
			x = a.At[i].Times(d.Stride).Add(x)
		}
	}
	return x
}

// Symbol is the name of a memory in what is printed: operands are parameters p and their number.
func (m *Memory) Symbol() string {
	if m.Scope == Global {
		return fmt.Sprintf("p%d", m.Operand)
	}
	return m.Name
}

// Stmt is one step of a tree: *For, *Let, *If, *Once, *At, *Branch, *Declare, *Map, *Sort, *Dot, *Leaf, *Hold, *Choose, *Combine, *Copy, *Prefetch, Commit, Wait or Barrier.
type Stmt interface{ print(p *printer) }

// For runs Body with Var from From to To, which it does not reach, in steps of Step. Lanes is the width of the vectors of a Vector loop,
// which runs at most once around: To - From is at most that. Lanes that are not there change nothing but what is declared inside of the loop.
// Together says that those iterations of a Thread loop that one thread has go through the loop which is all of their body step by step.
type For struct {
	Var      *Var
	From, To *Index
	Step     int64
	Bind     Bind
	Lanes    int64
	Together bool
	Body     []Stmt
}

// Let names an index for what follows it in its list.
type Let struct {
	Var   *Var
	Value *Index
}

// Cond is From <= Var < Limit; nil for no such bound.
type Cond struct {
	Var         *Var
	From, Limit *Index
}

// If runs Then where all conditions hold, else Else.
type If struct {
	Conds      []Cond
	Then, Else []Stmt
}

// Once runs Body, in the tasks of a Thread loop, unless the last task of the same thread had the same Key: what that wrote to Private memory is still there. Last
// names the key of that task.
type Once struct {
	Last *Var
	Key  *Index
	Body []Stmt
}

// Computed is a scalar expression. Loads in Value are numbers of Args; locals and reductions there are none; loops are numbers of Loops.
type Computed struct {
	Value *scalar.Expr
	Args  []Access
	Loops []*Index
}

// At runs Body with Var a computed integer, if that is at least From and less than To.
type At struct {
	Var *Var
	Computed
	From, To int64
	Body     []Stmt
}

// Branch runs Then where a computed truth value is true, else Else: if it differs in the lanes of a vector, where it is true of one that is there, which is seldom.
type Branch struct {
	Computed
	Then, Else []Stmt
}

// Declare makes a memory for what follows it in its list. What it holds is not defined.
type Declare struct{ Memory *Memory }

// Map computes a value and stores it. If Monoid is not NoMonoid, the value is combined with what is stored there: the step of a reduction.
//
// For the lanes of a vector, a choice between the load of neighbours and a constant by where loops stand (affine.Guards) loads only those that it chooses.
type Map struct {
	Dst Access
	Computed
	Monoid scalar.Op
	About  string // the statement of the kernel, for readers
	Stream int64  // if not 0, whole vectors go past caches that do not keep so many bytes
}

// NoMonoid is the Monoid of a Map that only stores.
const NoMonoid = scalar.NoOp

// Sort puts the integers from From on, before To, in an order, where Order has room for twice as many: Before says whether Right comes before Left, and of which
// neither comes before the other keep theirs. If First is not 0, only the first so many are found, of which Order has then twice as many places twice, or
// all of them twice if those are fewer.
type Sort struct {
	Order       Access
	From, To    int64
	First       int64
	Left, Right *Var
	Before      Computed
}

// Room is how many integers are put in order at a time.
func (s *Sort) Room() int64 {
	if s.First > 0 {
		return min(s.To-s.From, 2*s.First)
	}
	return s.To - s.From
}

// Dot adds products to a tile of accumulators: for all k from From to To, in this order, and all rows r and columns c of the tile,
// Acc[r,c] += A[r,k]·B[k,c]. The loop variables K, R and C stand in the coordinates of A and B. Micro names how: a row of the table of
// micro-kernels of the back end.
type Dot struct {
	Acc      *Memory // of dimensions rows and columns
	A, B     Access
	R, C, K  *Var
	From, To *Index
	Micro    string
}

// Rows is the height of the tile.
func (d *Dot) Rows() int64 { return d.Acc.Dims[0].End }

// Cols is the width of the tile.
func (d *Dot) Cols() int64 { return d.Acc.Dims[1].End }

// Leaf runs a template of the back end, text that is written for a few sizes: a register tile, the packing of a panel. The tree says which boxes of
// memories it reads and writes, and what its function is given. What it writes it may go on with: unfinished sums.
type Leaf struct {
	Template      string
	Writes, Reads []Box
	Args          []Argument // in the order of the function's parameters
}

// Box is the elements of a memory whose coordinates are from From to To, which they do not reach. Both are nil in dimensions without a stride.
type Box struct {
	Memory   *Memory
	From, To []*Index
}

// First is the first element of a box.
func (b Box) First() *Access { return &Access{b.Memory, b.From} }

// Argument is what a template is given: the address of an element, a number, or where it asks for memory meanwhile. Without any it is the table of the
// addresses of the kernel's operands.
type Argument struct {
	At     *Access
	Number *Index
	Ahead  *Ahead
}

// Ahead is what a template asks for ahead of its turn: from an element of a memory on, which need not be there, if When holds, in steps of some elements; else it is
// given From and no step. Alone says that it is not given the step.
type Ahead struct {
	Memory     *Memory
	From, More *Index // More is added where When holds
	When       *Cond  // nil for always
	Step       int64
	Alone      bool
	About      string // what is there
}

// Call makes a Leaf that is given the addresses of boxes, the table of operands, and numbers.
func Call(template string, writes, reads []Box, args ...Argument) *Leaf {
	return &Leaf{template, writes, reads, args}
}

// operands gives the operands whose addresses a template is given.
func (s *Leaf) operands() (out []Access) {
	for _, a := range s.Args {
		switch {
		case a.At != nil:
			out = append(out, *a.At)
		case a.Ahead != nil:
			out = append(out, Access{Memory: a.Ahead.Memory})
		}
	}
	return out
}

// Hold has the templates that a task runs find a memory of its own as an operand of the kernel, which begins at an element that need not be there.
type Hold struct{ Access }

// Choose runs the first of several bodies that is for the processor which the program runs on; the last is for every one.
type Choose struct{ Cases []Case }

// Case is a class of instructions, by its name. Known is the condition, for the preprocessor of C, that the compiler knows these, and Feature what the processor
// has then; Begin and End are what a thread calls before and after its tasks; "" for none.
type Case struct {
	Name, Known, Feature, Begin, End string
	Body                             []Stmt
}

// Combine makes the values that the iterations of the innermost Lane or Vector loop have in a register into one, which all of them then
// have: on a GPU neighbours at a distance of 1, 2, 4, ... are combined, on a CPU halves, quarters, .... Lanes is how many there are, a power of 2. Scratch is the shared memory through
// which warps of a block combine: nil if Lanes is at most a warp.
type Combine struct {
	Value   Access
	Monoid  scalar.Op
	Lanes   int64
	Scratch *Memory
}

// Copy copies Count neighbouring elements of one type. An Async copy from global to shared memory is done when a Wait for its group is.
type Copy struct {
	Dst, Src Access
	Count    int64
	Async    bool
}

// Asynchronous says whether a copy of so many bytes can be: those are of 4, 8 or 16 (PTX ISA, cp.async).
func Asynchronous(bytes int64) bool { return bytes == 4 || bytes == 8 || bytes == 16 }

// Prefetch asks for the element with some number of an operand, which need not be there, to be stored to or read soon.
type Prefetch struct {
	Memory *Memory
	At     *Index
	Write  bool
}

// Commit makes a group of the asynchronous copies since the last.
type Commit struct{}

// Wait waits until at most Pending groups of asynchronous copies of this thread are not done.
type Wait struct{ Pending int64 }

// Barrier waits until all lanes of a block are here, and makes what they have written visible to each other.
type Barrier struct{}

// Func is what carries out one kernel: regions of threads or blocks, one after the other. Or it is a function that leaves of such a tree call, as an epilogue on
// a vector of sums, with what these give it; what a function of its own gives back is the Result.
type Func struct {
	Name      string
	Operands  []*Memory
	Params    []Param
	Functions []*Func // that leaves call
	Body      []Stmt
	Result    *Access // a vector, or nil
	Seldom    bool    // it is seldom called, and no part of what calls it
}

// Param is what a function is given: a number from From on, before To, in steps of Step if that is not 0, or a memory: where that is, or its value.
type Param struct {
	Var      *Var
	From, To *Index
	Step     int64
	Memory   *Memory
	Value    bool
}

// Trips is how often a loop runs, at most: as far as that can be told from its ends alone.
func (s *For) Trips() int64 {
	return (newEnv().length(s.From, s.To) + s.Step - 1) / s.Step
}

// Trips is how many products each cell adds, at most.
func (d *Dot) Trips() int64 { return newEnv().length(d.From, d.To) }

// Walk visits some statements and all that are inside of them.
func Walk(body []Stmt, visit func(Stmt)) {
	for _, s := range body {
		visit(s)
		switch s := s.(type) {
		case *For:
			Walk(s.Body, visit)
		case *Once:
			Walk(s.Body, visit)
		case *At:
			Walk(s.Body, visit)
		case *If:
			Walk(s.Then, visit)
			Walk(s.Else, visit)
		case *Branch:
			Walk(s.Then, visit)
			Walk(s.Else, visit)
		case *Choose:
			for _, c := range s.Cases {
				Walk(c.Body, visit)
			}
		}
	}
}

// Reads gives what a statement reads by itself.
func Reads(s Stmt) []Access {
	switch s := s.(type) {
	case *At:
		return s.Args
	case *Branch:
		return s.Args
	case *Map:
		return s.Args
	case *Sort:
		return append([]Access{s.Order}, s.Before.Args...)
	case *Dot:
		return []Access{s.A, s.B}
	case *Copy:
		return []Access{s.Src}
	case *Leaf:
		return s.operands()
	}
	return nil
}

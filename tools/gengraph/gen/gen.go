// Package gen generates large graphs of tensor operations, always the same for the same options, as a stream: what it makes
// goes to a Sink operation by operation, so a graph of a million operations needs no memory of its own.
//
// A tenth of the operations can be folded away (x · 1), a tenth are copies of an earlier one, and every other operation has
// an effect on the result. Read next: loom.go, tap.go, mlir.go and graph.go, the sinks.
package gen

import (
	"fmt"
	"io"
)

// Shape is how the operations hang together.
type Shape string

// The shapes: one chain in which every operation needs the one before; many chains of 1000 operations side by side, each with
// an output of its own; one chain with every operation cut into shards.
const (
	Chain   Shape = "chain"
	Wide    Shape = "wide"
	Sharded Shape = "sharded"
)

// Options say what to generate.
type Options struct {
	Shape  Shape
	Ops    int    // operations, without the one constant
	Seed   uint64 // another seed gives another graph of the same kind
	Shards int    // of each operation, for Sharded; it divides Extent
	Extent int64  // of both dimensions of every tensor; 0 is 16
}

// link is the length of a chain of a wide graph.
const link = 1000

// Value is a tensor, numbered from 0 in order of appearance.
type Value int

// Op is one operation on whole tensors, all float32 of the same shape.
type Op struct {
	Kernel string // constant, add, mul, sub or exp
	Args   []Value
	Result Value
}

// Sink receives a graph in order: inputs, then chains of operations, producers first.
type Sink interface {
	// Begin starts the graph.
	Begin(o Options) error
	// Input declares an input tensor.
	Input(v Value, name string) error
	// Op declares an operation and its result; name is "" for a tensor within the graph.
	Op(op Op, name string) error
	// EndChain ends a chain with its output, which Op named.
	EndChain(output Value) error
	// End ends the graph.
	End() error
}

// NewSink makes the sink that writes a format to w: tap, loom or mlir.
func NewSink(format string, w io.Writer) (Sink, error) {
	switch format {
	case "tap":
		return NewTap(w), nil
	case "loom":
		return NewLoom(w), nil
	case "mlir":
		return NewMLIR(w), nil
	}
	return nil, fmt.Errorf("expected the format tap, loom or mlir, found %q", format)
}

// random is a linear congruential generator (the constants of the C standard's example, with 31 bits).
type random uint64

func (r *random) below(n int) int {
	*r = (*r*1103515245 + 12345) & 0x7fffffff
	return int(*r>>8) % n
}

// generator is the state of one run.
type generator struct {
	o    Options
	sink Sink
	rnd  random
	next Value
	err  error
}

// Generate sends the graph to a sink.
func Generate(o Options, sink Sink) error {
	if o.Extent == 0 {
		o.Extent = 16
	}
	switch {
	case o.Ops < 1:
		return fmt.Errorf("expected at least one operation, found %d", o.Ops)
	case o.Shape != Chain && o.Shape != Wide && o.Shape != Sharded:
		return fmt.Errorf("expected the shape %s, %s or %s, found %q", Chain, Wide, Sharded, o.Shape)
	case o.Shape == Sharded && (o.Shards < 1 || o.Extent%int64(o.Shards) != 0):
		return fmt.Errorf("expected a number of shards that divides %d, found %d", o.Extent, o.Shards)
	}
	g := &generator{o: o, sink: sink, rnd: random(o.Seed*2654435761 + 12345)}
	g.try(sink.Begin(o))
	a, b := g.input("a"), g.input("b")
	one := g.op("constant", "")
	length := o.Ops
	if o.Shape == Wide {
		length = link
	}
	for i, done := 0, 0; done < o.Ops && g.err == nil; i++ {
		n := min(length, o.Ops-done)
		g.chain(i, n, a, b, one)
		done += n
	}
	g.try(sink.End())
	return g.err
}

func (g *generator) try(err error) {
	if g.err == nil {
		g.err = err
	}
}

func (g *generator) value() Value {
	g.next++
	return g.next - 1
}

func (g *generator) input(name string) Value {
	v := g.value()
	g.try(g.sink.Input(v, name))
	return v
}

func (g *generator) op(kernel, name string, args ...Value) Value {
	v := g.value()
	g.try(g.sink.Op(Op{Kernel: kernel, Args: args, Result: v}, name))
	return v
}

// recent is how many of the last values an operation may use.
const recent = 8

// chain makes n operations, each of which uses the result of the one before it.
func (g *generator) chain(number, n int, a, b, one Value) {
	output := func(i int) string {
		if i < n-1 {
			return ""
		}
		return fmt.Sprintf("y%d", number)
	}
	last := []Value{a, b}
	var copied Op // an operation to repeat
	for i := 0; i < n && g.err == nil; i++ {
		x, y := last[len(last)-1], last[len(last)-2-g.rnd.below(len(last)-1)]
		var v Value
		switch kind := g.rnd.below(10); {
		case kind == 0 && i < n-1:
			v = g.op("mul", output(i), x, one)
		case kind == 1 && i < n-1 && copied.Kernel != "":
			twin := g.op(copied.Kernel, "", copied.Args...)
			i++
			v = g.op("add", output(i), x, twin)
		case kind == 2 || kind == 3:
			v = g.op("exp", output(i), x)
			copied = Op{Kernel: "exp", Args: []Value{x}}
		default:
			kernel := [...]string{"add", "mul", "sub"}[g.rnd.below(3)]
			v = g.op(kernel, output(i), x, y)
			copied = Op{Kernel: kernel, Args: []Value{x, y}}
		}
		if last = append(last, v); len(last) > recent {
			last = last[1:]
		}
	}
	g.try(g.sink.EndChain(last[len(last)-1]))
}

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/calls"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/sample"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/standard"
)

// graph is a random program: tensors, and the steps that make some of them from others, in order.
type graph struct {
	seed     uint64
	tensors  []tensor
	steps    []step
	simplify bool // the rewrites of simplify, cse and dce run first
	joins    int  // of how many seeds it is
}

// joined puts graphs side by side into one, with the first one's seed.
func joined(list []*graph) *graph {
	all := &graph{seed: list[0].seed, simplify: list[0].simplify}
	for _, g := range list {
		first := ir.NodeID(len(all.tensors))
		moved := func(ports []infer.Port) []infer.Port {
			ports = slices.Clone(ports)
			for i := range ports {
				ports[i].Sel = slices.Clone(ports[i].Sel)
				for j := range ports[i].Sel {
					ports[i].Sel[j].Sel.Tensor += first
				}
			}
			return ports
		}
		for _, s := range g.steps {
			s.call.Inputs, s.call.Outputs = moved(s.call.Inputs), moved(s.call.Outputs)
			all.steps = append(all.steps, s)
		}
		all.tensors = append(all.tensors, g.tensors...)
		all.joins += g.joins
	}
	return all
}

// tensor is a value of the program: its box, and the numbers that the reference evaluator gives it.
type tensor struct {
	box  zspace.Range
	data tensorfile.Tensor
}

// step is an operation. The selections of its call name tensors by their numbers.
type step struct {
	decl   *declaration.Kernel
	call   infer.Call
	shards string // counts such as 2x1, "" for none
	exact  bool   // its floats do not depend on how they are rounded
	off    bool   // left out: its results are inputs of the program
}

// kept is the number of steps that are not left out.
func (g *graph) kept() int {
	n := 0
	for _, s := range g.steps {
		if !s.off {
			n++
		}
	}
	return n
}

// generator is a graph that is being made.
type generator struct {
	*graph
	rnd      *rand.Rand
	material sample.Material
	names    []string // of kernels
}

// maxWork bounds the points of an operation's index space, folds included, so that the reference evaluator is fast.
const maxWork = 20_000

// generate makes the graph of a seed, of the kernels that are named or of all. An error is a fault of a declaration or of the reference evaluator.
func generate(seed uint64, ops int, names ...string) (*graph, error) {
	return generateOf(seed, ops, nil, names...)
}

// generateOf is generate of some element types; nil for usual ones and two others.
func generateOf(seed uint64, ops int, of []scalar.DType, names ...string) (*graph, error) {
	g := &generator{graph: &graph{seed: seed, joins: 1}, rnd: rand.New(rand.NewPCG(seed, 0x7a70)), names: names}
	if len(names) == 0 {
		g.names = kernels.Builtin().Names()
	}
	pool := []int64{0, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33}
	for range 3 {
		g.material.Sizes = append(g.material.Sizes, pool[1+g.rnd.IntN(len(pool)-1)])
	}
	g.material.Sizes = append(g.material.Sizes, 1)
	if g.rnd.IntN(10) == 0 {
		g.material.Sizes = append(g.material.Sizes, 0)
	}
	types := scalar.DTypes()
	g.material.Types = []scalar.DType{scalar.Float32, scalar.Bool, scalar.Int64, types[g.rnd.IntN(len(types))], types[g.rnd.IntN(len(types))]}
	if of != nil {
		g.material.Types = of
	}
	g.simplify = g.rnd.IntN(2) == 0
	for n := 2 + g.rnd.IntN(max(1, ops-1)); len(g.steps) < n; {
		if err := g.step(); err != nil {
			return nil, fmt.Errorf("while the graph is made: %w", err)
		}
	}
	return g.graph, nil
}

// step adds one operation: of several random ones, that which uses the most results of others.
func (g *generator) step() error {
	var best *step
	most := -1
	for range 6 {
		d, _ := kernels.Builtin().Find(g.names[g.rnd.IntN(len(g.names))])
		types := sample.Types(d)
		if mine := slices.DeleteFunc(slices.Clone(types), func(t scalar.DType) bool { return !slices.Contains(g.material.Types, t) }); len(mine) > 0 {
			types = mine
		}
		c, err := sample.CallOf(d, g.rnd, types[g.rnd.IntN(len(types))], g.material)
		if err != nil {
			return err
		}
		if c == nil {
			continue
		}
		if n := g.matches(c); n > most {
			best, most = &step{decl: d, call: *c}, n
		}
	}
	if best == nil {
		return nil
	}
	in, err := bind.Instance(best.decl, best.call)
	if err != nil {
		return err
	}
	if in.Work() > maxWork {
		return nil
	}
	best.exact = exactInstance(in)
	if g.rnd.IntN(4) == 0 {
		best.shards = sample.Cut(in, g.rnd)
	}
	g.connect(&best.call)
	if err := g.evaluate(best, g.tensors, nil, func(t tensor) { g.tensors = append(g.tensors, t) }); err != nil {
		return fmt.Errorf("%s: %w", best.decl.Name, err)
	}
	g.steps = append(g.steps, *best)
	return nil
}

// matches counts the inputs of a call that tensors of the graph fit.
func (g *generator) matches(c *infer.Call) int {
	n := 0
	for _, p := range c.Inputs {
		for _, s := range p.Sel {
			if slices.ContainsFunc(g.tensors, func(t tensor) bool { return t.fits(s) }) {
				n++
			}
		}
	}
	return n
}

// fits says whether a selection can be cut from a tensor.
func (t tensor) fits(s infer.Selected) bool {
	want := s.Sel.Range()
	if t.data.DType != s.Type || t.box.Rank() != want.Rank() {
		return false
	}
	for i := range want.Start {
		if t.box.End[i]-t.box.Start[i] < want.End[i]-want.Start[i] {
			return false
		}
	}
	return true
}

// connect gives every selection of a call a tensor and a box in it: mostly a result of an earlier step, or an input, new or
// used already.
func (g *generator) connect(c *infer.Call) {
	for i := range c.Inputs {
		c.Inputs[i].Sel = slices.Clone(c.Inputs[i].Sel)
		for j := range c.Inputs[i].Sel {
			s := &c.Inputs[i].Sel[j]
			var fit []int
			for k, t := range g.tensors {
				if t.fits(*s) {
					fit = append(fit, k)
				}
			}
			at := -1
			if len(fit) > 0 && g.rnd.IntN(8) > 0 {
				at = fit[len(fit)-1-min(g.rnd.IntN(len(fit)), g.rnd.IntN(len(fit)))] // late ones more often
			} else {
				at = g.input(*s)
			}
			box := s.Sel.Range().Clone()
			for k := range box.Start {
				n := box.End[k] - box.Start[k]
				free := g.tensors[at].box.End[k] - g.tensors[at].box.Start[k] - n
				box.Start[k] = g.tensors[at].box.Start[k] + g.rnd.Int64N(free+1)
				box.End[k] = box.Start[k] + n
			}
			s.Sel = ir.Select(ir.NodeID(at), box)
		}
	}
	for i := range c.Outputs {
		c.Outputs[i].Sel = slices.Clone(c.Outputs[i].Sel)
		for j := range c.Outputs[i].Sel {
			s := &c.Outputs[i].Sel[j]
			s.Sel = ir.Select(ir.NoNode, sample.Moved(g.rnd, s.Sel.Range()))
		}
	}
}

// input adds an input that a selection can be cut from; sometimes it is larger.
func (g *generator) input(s infer.Selected) int {
	box := sample.Moved(g.rnd, s.Sel.Range())
	for i := range box.Start {
		if g.rnd.IntN(5) == 0 {
			box.Start[i] -= int64(g.rnd.IntN(3))
			box.End[i] += int64(g.rnd.IntN(3))
		}
	}
	n, _ := box.Size()
	data := sample.Values(g.rnd, s.Type, int(n))
	g.tensors = append(g.tensors, tensor{box, tensorfile.Tensor{DType: s.Type, Shape: box.Shape(), Data: data}})
	return len(g.tensors) - 1
}

// exactInstance says whether the kernel's results are the same however a machine rounds: it moves, chooses, compares and
// converts, and computes with integers only.
func exactInstance(in *instance.Instance) bool {
	exact := true
	for _, s := range in.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			floats := e.Type.IsFloat() || e.Type.IsComplex()
			op := e.Op
			if op == scalar.Reduce {
				op = e.Monoid
			}
			exact = exact && !(floats && op.Class() > scalar.Exact)
			return exact
		})
	}
	return exact
}

// evaluate computes a step with the reference evaluator from the tensors given, and hands every result to keep, in the order
// of the call's outputs, whose selections get the numbers that follow those of the tensors if they have none. If shake is not nil
// it is put between: it gives what stands for each expression of the step's kernel.
func (g *graph) evaluate(s *step, tensors []tensor, shake func(*scalar.Expr) *scalar.Expr, keep func(tensor)) error {
	one := &graph{tensors: slices.Clone(tensors), steps: []step{{decl: s.decl, call: s.call}}}
	next := len(tensors)
	for i := range s.call.Outputs {
		for j := range s.call.Outputs[i].Sel {
			if sel := &s.call.Outputs[i].Sel[j]; sel.Sel.Tensor == ir.NoNode {
				sel.Sel.Tensor = ir.NodeID(next)
				one.tensors = append(one.tensors, tensor{})
				next++
			}
			sel := s.call.Outputs[i].Sel[j]
			box := sel.Sel.Range()
			one.tensors[sel.Sel.Tensor] = tensor{box, tensorfile.Tensor{DType: sel.Type, Shape: box.Shape()}}
		}
	}
	x, in := one.build()
	if shake != nil {
		if err := shaken(x, shake); err != nil {
			return err
		}
	}
	ev := reference.Evaluator{Library: kernels.Builtin()}
	out, err := ev.Evaluate(context.Background(), x, in)
	if err != nil {
		return err
	}
	for _, p := range s.call.Outputs {
		for _, sel := range p.Sel {
			keep(tensor{sel.Sel.Range(), out[nameOf(int(sel.Sel.Tensor))]})
		}
	}
	return nil
}

// shaken lowers a graph to Scheduled Kernels and changes their expressions.
func shaken(x *ir.Graph, shake func(*scalar.Expr) *scalar.Expr) error {
	for _, s := range standard.Steps(kernels.Builtin(), lower.Options{}) {
		if err := s.Run(x); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		if s.Name == "lower" {
			break
		}
	}
	for n := range x.Nodes() {
		if k, ok := n.Body.(*schedule.Kernel); ok {
			for i := range k.Statements {
				k.Statements[i].Value = k.Statements[i].Value.Map(shake)
			}
		}
	}
	return nil
}

// nameOf is the label of a tensor.
func nameOf(i int) string { return fmt.Sprintf("t%d", i) }

// build makes the graph of the steps that are not left out, and the inputs that it needs.
func (g *graph) build() (*ir.Graph, map[string]tensorfile.Tensor) {
	x, in := ir.New(), map[string]tensorfile.Tensor{}
	nodes := map[ir.NodeID]ir.NodeID{}
	var made ir.NodeSet
	place := func(_ string, s infer.Selected) ir.Selection {
		i := s.Sel.Tensor
		if _, ok := nodes[i]; !ok {
			t := g.tensors[i]
			nodes[i] = x.Add(&tensorops.Tensor{DType: t.data.DType.String(), Range: t.box}, nameOf(int(i))).ID
			if !made.Has(i) {
				in[nameOf(int(i))] = t.data
			}
		}
		return ir.Select(nodes[i], s.Sel.Range())
	}
	for n, s := range g.steps {
		if s.off {
			continue
		}
		for _, p := range s.call.Outputs {
			for _, sel := range p.Sel {
				made.Add(sel.Sel.Tensor)
			}
		}
		calls.Add(x, fmt.Sprintf("op%d", n), s.decl, s.call, place, place)
	}
	return x, in
}

package propagate

import (
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/parts"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// cutter cuts the operations of a propagation.
type cutter struct {
	p       *propagation
	apps    map[ir.NodeID][]ir.NodeID
	terms   map[ir.NodeID]*terms // of tensors that are combined of partial results
	parts   map[ir.NodeID]Part
	at      int // the number of the operation that is cut
	made    int
	ordered ir.NodeSet // operations that sequence points name
	apart   bool       // what is not cut has an application too, which is placed on devices
	before  []*ir.Node // conversions of what parts of narrow sums read
}

// terms are the partial results that one operation combines, each a tensor of its own.
type terms struct {
	tensors []ir.NodeID
	by      *ir.Node
	behind  []*ir.Node // what goes on with the result, one after the other, to the operation's own
}

// cutAll cuts the operations that got axes, and takes signatures away from the others that had none. Operations on partial results are there once for each part.
func cutAll(p *propagation, r *Result, apart bool) (int, error) {
	r.Parts = map[ir.NodeID]Part{}
	c := &cutter{p: p, parts: r.Parts, apps: application.ByOperation(p.g), terms: map[ir.NodeID]*terms{}, apart: apart, ordered: sequence.Ordered(p.g)}
	for i, o := range p.ops {
		c.at = i
		var err error
		switch {
		case len(o.passes) > 0:
			err = c.pass(o)
		case len(o.reducing()) > 0:
			err = c.reduce(o)
		default:
			err = c.blocks(o, o.n, -1)
		}
		if err != nil {
			return c.made, err
		}
	}
	c.sweep()
	r.terms, r.before = c.terms, c.before
	return c.made, nil
}

// counts says into how many parts each dimension of an index is cut.
func (c *cutter) counts(o *operation) (counts []int64) {
	for _, axes := range o.axes[:o.rank] {
		counts = append(counts, c.p.plan.Mesh.Parts(axes))
	}
	return counts
}

// blocks cuts an operation, or one of its copies, along its index.
func (c *cutter) blocks(o *operation, n *ir.Node, number int64) error {
	c.parts[n.ID] = Part{c.at, number}
	counts := c.counts(o)
	if !c.apart && !slices.ContainsFunc(counts, func(n int64) bool { return n > 1 }) {
		if o.derived {
			cut.Unsign(n)
		}
		return nil
	}
	return c.grid(n, cut.Grid(counts...))
}

func (c *cutter) grid(n *ir.Node, how cut.Cut) error {
	for _, a := range c.apps[n.ID] {
		c.p.g.Remove(a)
	}
	ids, err := cut.Operation(c.p.g, c.p.lib, n, "the plan", how)
	c.made += len(ids)
	return err
}

// reduce cuts an operation along what it reduces, and its parts along their index. If nothing but the combination gives its results, their terms are known.
func (c *cutter) reduce(o *operation) error {
	cut.Unsign(o.n)
	before := ir.NodeID(c.p.g.Bound())
	parts, _, err := c.p.split(c.p.g, c.p.lib, c.p.allow, o.n, cut.Cut{Levels: []cut.Level{c.p.level(o, o.rank)}})
	if err != nil {
		return err
	}
	for i, n := range parts {
		if c.parts[n.ID] = (Part{c.at, int64(i)}); c.like(o, n) == nil {
			continue // a step with another index, which stays whole
		}
		if err := c.blocks(o, n, int64(i)); err != nil {
			return err
		}
	}
	c.combined(parts)
	if o.wide > 0 {
		c.around(o, before)
	}
	if !slices.ContainsFunc(o.operands, func(x operand) bool { return x.out && len(c.p.tensors[x.sel.Tensor].partial) > 0 }) {
		return nil
	}
	return c.follow(o, before)
}

// combined finds the operation that combines what parts give.
func (c *cutter) combined(parts []*ir.Node) {
	var list []ir.NodeID
	for _, n := range parts {
		list = append(list, n.Body.(*tensorops.Operation).Outputs.At(0).Sel[0].Tensor)
	}
	for n := range c.p.g.Nodes() {
		op, ok := n.Body.(*tensorops.Operation)
		if !ok || op.Inputs.Len() != 1 || len(op.Inputs.At(0).Sel) != len(list) || op.Outputs.Len() != 1 {
			continue
		}
		same := true
		for i, s := range op.Inputs.At(0).Sel {
			same = same && s.Tensor == list[i]
		}
		if same {
			c.terms[op.Outputs.At(0).Sel[0].Tensor] = &terms{tensors: list, by: n}
			return
		}
	}
}

// around finds what was added around the parts of a sum of narrow floats: the conversions that these read, and what goes on with the sum of them all.
func (c *cutter) around(o *operation, from ir.NodeID) {
	last, made := map[ir.NodeID]*terms{}, []*ir.Node{}
	for id := from; id < ir.NodeID(c.p.g.Bound()); id++ {
		n := c.p.g.Node(id)
		if n == nil || n.Body.Kind() != tensorops.OperationKind {
			continue
		}
		made = append(made, n)
		if out := n.Body.(*tensorops.Operation).Outputs.At(0).Sel[0].Tensor; c.terms[out] != nil {
			last[out] = c.terms[out]
		}
	}
	for again := true; again; { // what is behind may have been added before
		again = false
		for _, n := range made {
			op := n.Body.(*tensorops.Operation)
			out := op.Outputs.At(0).Sel[0].Tensor
			op.Inputs.All(func(_, _ int, s *ir.Selection) {
				if x := last[s.Tensor]; x != nil && last[out] == nil && c.like(o, n) != nil {
					x.behind, last[out], again = append(x.behind, n), x, true
				}
			})
		}
	}
	for _, n := range made {
		if op := n.Body.(*tensorops.Operation); op.Kernel == "op:cast" && last[op.Outputs.At(0).Sel[0].Tensor] == nil {
			c.before = append(c.before, n)
		}
	}
}

// follow passes terms on through the steps that were added behind a combination: an operation that does more than reduce is cut as its steps.
func (c *cutter) follow(o *operation, from ir.NodeID) error {
	for id := from; id < ir.NodeID(c.p.g.Bound()); id++ {
		n := c.p.g.Node(id)
		if n == nil {
			continue
		}
		if op, ok := n.Body.(*tensorops.Operation); ok && c.reads(op) {
			if _, err := c.copies(n, c.like(o, n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// like gives an operation for one of its steps that has its index, nil for others.
func (c *cutter) like(o *operation, step *ir.Node) *operation {
	in, err := c.p.lib.BindOperation(c.p.g, step.ID)
	if err != nil || !in.Index().Equal(o.index()) {
		return nil
	}
	return o
}

// reads says whether an operation reads what has terms, and is none that combines them.
func (c *cutter) reads(op *tensorops.Operation) (found bool) {
	op.Inputs.All(func(_, _ int, s *ir.Selection) { found = found || c.terms[s.Tensor] != nil })
	return found
}

// pass makes an operation one for each part of its partial inputs, and combines what they give behind it. Without terms it is cut as any other.
func (c *cutter) pass(o *operation) error {
	made, err := c.copies(o.n, o)
	if err != nil || made {
		return err
	}
	return c.blocks(o, o.n, -1)
}

// copies replaces an operation by one on each term of its inputs, and one that combines them for each result; unless it does not distribute over that.
func (c *cutter) copies(n *ir.Node, o *operation) (bool, error) {
	op := n.Body.(*tensorops.Operation)
	x, count := c.common(op)
	if x == nil || n.Tag(tensorops.IOSequencePointKind) != nil || c.ordered.Has(n.ID) {
		return false, nil
	}
	in, err := c.p.lib.BindOperation(c.p.g, n.ID)
	if err != nil {
		return false, nil
	}
	of, rest := func(t ir.NodeID) bool { return c.terms[t] != nil }, op
	if !reduced.Distributes(in, combination(x.by), func(a *instance.Operand) bool { return of(a.Sel.Tensor) }) {
		if !joins(op, in, combination(x.by), of) {
			return false, nil
		}
		rest = c.without(op)
	}
	for _, a := range c.apps[n.ID] {
		c.p.g.Remove(a)
	}
	var results []ir.Selection
	op.Outputs.All(func(_, _ int, s *ir.Selection) { results = append(results, *s) })
	all := make([]terms, len(results))
	for i := range count {
		m, out := c.copy(n, op, i)
		op = rest
		for k := range all {
			all[k].tensors = append(all[k].tensors, out[k])
		}
		if o != nil {
			if err := c.blocks(o, m, int64(i)); err != nil {
				return true, err
			}
		}
	}
	label := n.Label
	for k, result := range results {
		all[k].by = c.combine(n, x.by, all[k].tensors, result, label)
		c.terms[result.Tensor], label = &all[k], ""
	}
	cut.Replaced(c.p.g, n)
	return true, nil
}

// without gives the operation without what joins another part: the sum of the partial tensors alone, or the one of a difference, with its sign.
func (c *cutter) without(op *tensorops.Operation) *tensorops.Operation {
	var left []ir.Selection
	var port string
	op.Inputs.All(func(i, _ int, s *ir.Selection) {
		if c.terms[s.Tensor] != nil {
			left, port = append(left, *s), op.Inputs.At(i).Name
		}
	})
	out := &tensorops.Operation{Kernel: "op:add", Inputs: ir.PortsOf([]ir.Port{{Name: "tensors", Sel: left}}), Outputs: op.Outputs}
	if op.Kernel == "op:sub" && port == "b" {
		out.Kernel, out.Inputs = "op:neg", ir.PortsOf([]ir.Port{{Name: "tensor", Sel: left}})
	}
	return out
}

// common gives the terms of an operation's inputs, if those that have some have equally many.
func (c *cutter) common(op *tensorops.Operation) (found *terms, count int) {
	same := true
	op.Inputs.All(func(_, _ int, s *ir.Selection) {
		if x := c.terms[s.Tensor]; x != nil {
			same = same && (found == nil || len(x.tensors) == count && combination(x.by) == combination(found.by))
			found, count = x, len(x.tensors)
		}
	})
	if !same {
		return nil, 0
	}
	return found, count
}

// combination is the operator of an operation that combines terms.
func combination(n *ir.Node) scalar.Op {
	switch n.Body.(*tensorops.Operation).Kernel {
	case "op:add":
		return scalar.Add
	case "op:mul":
		return scalar.Mul
	case "op:max":
		return scalar.Max
	case "op:min":
		return scalar.Min
	}
	return scalar.NoOp
}

// copy adds an operation on the terms of a number, and gives the tensors of its results.
func (c *cutter) copy(n *ir.Node, op *tensorops.Operation, i int) (m *ir.Node, results []ir.NodeID) {
	inputs, outputs := op.Inputs.Clone(), op.Outputs.Clone()
	inputs.All(func(_, _ int, s *ir.Selection) {
		if x := c.terms[s.Tensor]; x != nil {
			s.Tensor = x.tensors[i]
		}
	})
	outputs.All(func(_, _ int, s *ir.Selection) {
		like := tensorops.TensorOf(c.p.g, s.Tensor)
		t := c.p.g.Add(&tensorops.Tensor{DType: like.DType, Range: like.Range.Clone()}, "")
		t.Pos = n.Pos
		t.SetTag(&parts.Part{})
		s.Tensor, results = t.ID, append(results, t.ID)
	})
	m = c.p.g.Add(&tensorops.Operation{Kernel: op.Kernel, Params: op.Params, Inputs: inputs, Outputs: outputs}, "")
	m.Pos = n.Pos
	m.SetTag(&parts.Part{})
	m.SetOrigin(&ir.Origin{Rule: "propagate", From: []ir.Pos{n.Pos}})
	return m, results
}

// combine adds an operation that combines terms to a result, as another one does.
func (c *cutter) combine(n, like *ir.Node, list []ir.NodeID, result ir.Selection, label string) *ir.Node {
	op := like.Body.(*tensorops.Operation)
	sel := make([]ir.Selection, len(list))
	for i, t := range list {
		sel[i] = ir.Select(t, tensorops.TensorOf(c.p.g, t).Range)
	}
	inputs := ir.PortsOf([]ir.Port{{Name: op.Inputs.At(0).Name, Sel: sel}})
	outputs := ir.PortsOf([]ir.Port{{Name: op.Outputs.At(0).Name, Sel: []ir.Selection{result}}})
	m := c.p.g.Add(&tensorops.Operation{Kernel: op.Kernel, Params: op.Params, Inputs: inputs, Outputs: outputs}, label)
	m.Pos = n.Pos
	m.SetTag(&parts.Part{})
	m.SetOrigin(&ir.Origin{Rule: "propagate", From: []ir.Pos{n.Pos}})
	return m
}

// sweep takes combinations away that nothing reads any more.
func (c *cutter) sweep() {
	var read ir.NodeSet
	for n := range c.p.g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok {
			read.AddPorts(op.Inputs)
		}
	}
	for t, x := range c.terms {
		if l := c.p.tensors[t]; !read.Has(t) && (l == nil || len(l.partial) > 0) {
			c.p.g.Remove(x.by.ID)
			if parts.Is(c.p.g.Node(t)) {
				c.p.g.Remove(t)
			}
		}
	}
}

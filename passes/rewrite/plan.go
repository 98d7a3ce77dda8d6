package rewrite

import (
	"errors"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

var errNoKernel = errors.New("the library has no such kernel")

// action is how an output of the root is replaced.
type action uint8

const (
	become  action = iota // a new operation writes the root's tensor
	forward               // consumers of the root's tensor get another
	rename                // the producer of the other tensor writes the root's instead
)

// plan says how each output of the root is replaced.
type plan []action

// plan decides whether a result can stand for the site without a change of what is observed, and how.
func (d *driver) plan(s *Site, r *Result) (plan, bool) {
	n := 0
	ok := true
	p := make(plan, 0, 1)
	s.Op.Outputs.All(func(_, _ int, out *ir.Selection) {
		if n >= len(r.Outputs) || !ok {
			ok = false
			return
		}
		var a action
		a, ok = d.planOutput(s, *out, &r.Outputs[n])
		p = append(p, a)
		n++
	})
	if !ok || n != len(r.Outputs) || !d.planInputs(s, r) {
		return nil, false
	}
	return p, d.planRemoval(s, r, p)
}

// planOutput plans for one output.
func (d *driver) planOutput(s *Site, out ir.Selection, o *Operand) (action, bool) {
	ix := d.index
	t := tensorops.TensorOf(ix.g, out.Tensor)
	if ix.is(out.Tensor, pinned) || !out.Range().Equal(t.Range) || ix.producer[out.Tensor] != s.Node.ID {
		return 0, false
	}
	if o.New != nil {
		to := &o.New.Outputs[o.Out]
		constant := d.kernels.find(o.New.Kernel).constant
		return become, len(ix.apps[s.Node.ID]) == 0 && to.DType == t.DType && sameShape(to.Range, t.Range) &&
			!(constant && ix.is(out.Tensor, unused))
	}
	x := tensorops.TensorOf(ix.g, o.Sel.Tensor)
	if x == nil || o.Sel.Tensor == out.Tensor || x.DType != t.DType || !sameShape(o.Sel.Range(), t.Range) || !x.Range.Contains(o.Sel.Range()) {
		return 0, false
	}
	if _, err := o.Sel.Range().Start.Sub(t.Range.Start); err != nil {
		return 0, false
	}
	if ix.is(out.Tensor, observed) {
		return rename, d.canRename(s, out, o.Sel)
	}
	return forward, !ix.is(o.Sel.Tensor, unused)
}

// canRename says whether the producer of a tensor may write the observed tensor instead. Whether other consumers are left is
// planRemoval's question.
func (d *driver) canRename(s *Site, out, x ir.Selection) bool {
	ix := d.index
	p := ix.producer[x.Tensor]
	op := tensorops.OperationOf(ix.g, p)
	if op == nil || p == s.Node.ID || ix.is(p, pinned) || ix.is(x.Tensor, observed|pinned) {
		return false
	}
	if ix.is(out.Tensor, unused) && ix.kernelOf(p).constant {
		return false
	}
	total := false
	op.Outputs.All(func(_, _ int, w *ir.Selection) {
		total = total || w.Tensor == x.Tensor && w.Range().Equal(x.Range())
	})
	return total && tensorops.TensorOf(ix.g, x.Tensor).Range.Equal(x.Range())
}

func sameShape(a, b zspace.Range) bool {
	if a.Rank() != b.Rank() {
		return false
	}
	for i := range a.Start {
		if a.End[i]-a.Start[i] != b.End[i]-b.Start[i] {
			return false
		}
	}
	return true
}

// planInputs checks the tensors that new operations would consume.
func (d *driver) planInputs(s *Site, r *Result) bool {
	ok := true
	d.eachUse(s, r, func(t ir.NodeID) {
		ok = ok && d.index.is(t, isTensor) && !d.index.is(t, unused) && d.index.producer[t] != s.Node.ID
	})
	return ok
}

// eachUse calls visit for every input selection that new operations of a result have.
func (d *driver) eachUse(s *Site, r *Result, visit func(t ir.NodeID)) {
	var seen []*Op
	var walk func(op *Op)
	walk = func(op *Op) {
		for _, known := range seen {
			if known == op {
				return
			}
		}
		seen = append(seen, op)
		for _, in := range op.Inputs {
			for _, a := range in.Args {
				if a.New != nil {
					walk(a.New)
				} else {
					visit(a.Sel.Tensor)
				}
			}
		}
	}
	for _, o := range r.Outputs {
		if o.New != nil {
			walk(o.New)
		}
	}
}

// planRemoval looks ahead at what becomes dead when the root goes. A tensor that nobody consumes any more, and whose
// producer stays for another of its outputs, would become an output of the program: that is refused. So is a renaming that
// would leave an unused result with consumers.
func (d *driver) planRemoval(s *Site, r *Result, p plan) bool {
	renames := false
	for _, a := range p {
		renames = renames || a == rename
	}
	if !renames && !d.index.multi || d.index.stated {
		return true
	}
	c := cone{ix: d.index, left: map[ir.NodeID]int32{}, dead: map[ir.NodeID]bool{s.Node.ID: true}}
	d.eachUse(s, r, func(t ir.NodeID) { c.left[t] = c.of(t) + 1 })
	keep := map[ir.NodeID]bool{}
	n := 0
	s.Op.Outputs.All(func(_, _ int, out *ir.Selection) {
		x := r.Outputs[n].Sel.Tensor
		switch p[n] {
		case forward:
			c.left[x] = c.of(x) + d.index.live[out.Tensor]
		case rename:
			keep[x] = true
			c.left[x] = c.of(x) + 1
		}
		n++
	})
	c.release(s.Op)
	if c.strands(keep) {
		return false
	}
	n = 0
	ok := true
	s.Op.Outputs.All(func(_, _ int, out *ir.Selection) {
		if p[n] == rename && d.index.is(out.Tensor, unused) && c.of(r.Outputs[n].Sel.Tensor) != 1 {
			ok = false
		}
		n++
	})
	return ok
}

// cone computes what dies with an operation, without changing the index.
type cone struct {
	ix   *index
	left map[ir.NodeID]int32
	dead map[ir.NodeID]bool
}

func (c *cone) of(t ir.NodeID) int32 {
	if n, ok := c.left[t]; ok {
		return n
	}
	return c.ix.live[t]
}

// release takes an operation's uses away, and those of every operation that dies by it.
func (c *cone) release(op *tensorops.Operation) {
	stack := []*tensorops.Operation{op}
	for len(stack) > 0 {
		op := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		op.Inputs.All(func(_, _ int, s *ir.Selection) {
			c.left[s.Tensor] = c.of(s.Tensor) - 1
			p := c.ix.producer[s.Tensor]
			if !c.dead[p] && c.ix.dies(p, c.of) {
				c.dead[p] = true
				stack = append(stack, tensorops.OperationOf(c.ix.g, p))
			}
		})
	}
}

// strands says whether some tensor is left without consumers while its producer stays.
func (c *cone) strands(keep map[ir.NodeID]bool) bool {
	for t, n := range c.left {
		p := c.ix.producer[t]
		if n == 0 && p >= 0 && !c.dead[p] && !keep[t] && !c.ix.is(t, observed|pinned) {
			return true
		}
	}
	return false
}

// dies says whether an operation is dead when tensors have the uses that left gives.
func (ix *index) dies(op ir.NodeID, left func(ir.NodeID) int32) bool {
	body := tensorops.OperationOf(ix.g, op)
	if body == nil || ix.is(op, pinned) {
		return false
	}
	for _, p := range body.Outputs.Each() {
		for i := range p.Sel {
			if t := p.Sel[i].Tensor; left(t) > 0 || ix.is(t, observed|pinned) {
				return false
			}
		}
	}
	return true
}

// verify binds every operation that a result makes to its kernel.
func (d *driver) verify(s *Site, r *Result) error {
	for _, o := range r.Outputs {
		if o.New != nil {
			if err := d.verifyOp(o.New); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *driver) verifyOp(op *Op) error {
	for _, in := range op.Inputs {
		for _, a := range in.Args {
			if a.New != nil {
				if err := d.verifyOp(a.New); err != nil {
					return err
				}
			}
		}
	}
	call := callOf(d.index.g, op)
	for i := range op.Outputs {
		call.Outputs = append(call.Outputs, infer.Port{Name: op.Outputs[i].Port, Sel: []infer.Selected{selected(&op.Outputs[i])}})
	}
	k := d.kernels.find(op.Kernel)
	if k.decl == nil {
		return nil
	}
	_, err := bind.Instance(k.decl, call)
	return err
}

// callOf is a new operation without its outputs.
func callOf(g *ir.Graph, op *Op) infer.Call {
	call := infer.Call{Params: op.Params}
	for _, in := range op.Inputs {
		p := infer.Port{Name: in.Port}
		for _, a := range in.Args {
			if a.New != nil {
				p.Sel = append(p.Sel, selected(&a.New.Outputs[a.Out]))
			} else {
				p.Sel = append(p.Sel, infer.Selected{Sel: a.Sel, Type: tensorops.TensorOf(g, a.Sel.Tensor).Type()})
			}
		}
		call.Inputs = append(call.Inputs, p)
	}
	return call
}

// Infer gives a new operation the element type and the shape that its one output has by its kernel's declaration; false if it has none or several.
func (s *Site) Infer(op *Op) bool {
	decl := s.driver.kernels.find(op.Kernel).decl
	if decl == nil || len(op.Outputs) != 1 {
		return false
	}
	shapes, types, err := infer.Outputs(decl, callOf(s.Graph, op))
	if err != nil || types[0] == scalar.Invalid {
		return false
	}
	r, err := zspace.FromShape(shapes[0]...)
	op.Outputs[0].DType, op.Outputs[0].Range = types[0].String(), r
	return err == nil
}

func selected(o *Output) infer.Selected {
	t, _ := scalar.ParseDType(o.DType)
	return infer.Selected{Sel: ir.Select(ir.NoNode, o.Range), Type: t}
}

// Package reference evaluates graphs of all three dialects point by point, slowly and certainly.
//
// It runs the scalar bodies of kernels at every index point and is the oracle that every pass and back end is compared with;
// it also runs programs on machines without a C compiler. A graph with scheduled kernels is evaluated from its kernels,
// buffers and transfers; a graph with applications from those; any other from its operations. It must not import another
// back end. Read next: nest.go.
package reference

import (
	"context"
	"encoding/binary"
	"fmt"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/copies"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
)

// Constants loads the value of a constant tensor.
type Constants func(c tensorops.Const, t *tensorops.Tensor) (tensorfile.Tensor, error)

// Evaluator evaluates graphs with a library of kernels.
type Evaluator struct {
	Library   *kernels.Library
	Constants Constants // may be nil if the graph has none
	Unchecked bool      // leaves out the checks that the graph states
}

// Evaluate computes a graph's outputs from its inputs, by name as tensorops.ProgramOf gives them. Inputs must have the dtype
// and shape of their tensors. A graph for which the machine has no room is an error before anything is computed.
func (e *Evaluator) Evaluate(ctx context.Context, g *ir.Graph, inputs map[string]tensorfile.Tensor) (map[string]tensorfile.Tensor, error) {
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		return nil, err
	}
	if err := CheckMemory(g); err != nil {
		return nil, err
	}
	r := &run{Evaluator: e, ctx: ctx, g: g, data: map[ir.NodeID][]byte{}, apps: application.ByOperation(g), defs: definition.Of(g)}
	if err := r.load(p, inputs); err != nil {
		return nil, err
	}
	steps, err := schedule.Order(g)
	if err != nil {
		return nil, err
	}
	if err := r.operations(len(steps) > 0); err != nil {
		return nil, err
	}
	if err := r.schedule(steps); err != nil {
		return nil, err
	}
	if err := r.check(p); err != nil {
		return nil, err
	}
	out := map[string]tensorfile.Tensor{}
	for _, o := range p.Outputs {
		t := tensorops.TensorOf(g, o.Tensor)
		data, err := r.tensor(o.Tensor)
		if err != nil {
			return nil, err
		}
		out[o.Name] = tensorfile.Tensor{DType: t.Type(), Shape: t.Range.Shape(), Data: data}
	}
	return out, nil
}

// check holds the run to what the graph states.
func (r *run) check(p *tensorops.Program) error {
	for _, c := range p.Checks {
		place, err := r.tensor(c.Place)
		if err != nil {
			return err
		}
		index, err := r.tensor(c.Index)
		if err != nil {
			return err
		}
		number := func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }
		if err := c.Fault(number(place), number(index)); err != nil && !r.Unchecked {
			return err
		}
	}
	return nil
}

// run is one evaluation: the bytes of each tensor that has a value, dense and row-major.
type run struct {
	*Evaluator
	ctx  context.Context
	g    *ir.Graph
	data map[ir.NodeID][]byte
	apps map[ir.NodeID][]ir.NodeID
	defs map[string]*definition.Definition
}

func (r *run) load(p *tensorops.Program, inputs map[string]tensorfile.Tensor) error {
	for _, in := range p.Inputs {
		t := tensorops.TensorOf(r.g, in.Tensor)
		x, ok := inputs[in.Name]
		if !ok {
			return fmt.Errorf("input %q is missing", in.Name)
		}
		if err := fits(x, t); err != nil {
			return fmt.Errorf("input %q: %w", in.Name, err)
		}
		r.data[in.Tensor] = x.Data
	}
	for _, c := range p.Constants {
		if c.Computed {
			continue
		}
		if err := r.constant(c); err != nil {
			return err
		}
	}
	return nil
}

// constant loads a stored constant.
func (r *run) constant(c tensorops.Const) error {
	if r.Constants == nil {
		return fmt.Errorf("%s: constants can not be loaded here", r.g.Name(c.Op))
	}
	t := tensorops.TensorOf(r.g, c.Tensor)
	x, err := r.Constants(c, t)
	if err == nil {
		err = fits(x, t)
	}
	if err != nil {
		return fmt.Errorf("constant %s: %w", r.g.Name(c.Tensor), err)
	}
	r.data[c.Tensor] = x.Data
	return nil
}

func fits(x tensorfile.Tensor, t *tensorops.Tensor) error {
	shape := t.Range.Shape()
	if x.DType != t.Type() || !shape.Equal(x.Shape) {
		return fmt.Errorf("expected %s%v, found %v%v", t.DType, shape, x.DType, x.Shape)
	}
	return nil
}

// tensor gives the bytes of a tensor, making zeros for one that nothing has written yet.
func (r *run) tensor(id ir.NodeID) ([]byte, error) {
	if b, ok := r.data[id]; ok {
		return b, nil
	}
	t := tensorops.TensorOf(r.g, id)
	if t == nil || t.Type() == scalar.Invalid {
		return nil, fmt.Errorf("%s has no element type", r.g.Name(id))
	}
	n, err := t.Range.Size()
	if err != nil {
		return nil, err
	}
	if n > maxBytes/int64(t.Type().Size()) {
		return nil, fmt.Errorf("%s has %d elements, more than the reference evaluator holds", r.g.Name(id), n)
	}
	r.data[id] = make([]byte, n*int64(t.Type().Size()))
	return r.data[id], nil
}

// maxBytes bounds one tensor of the reference evaluator.
const maxBytes = 8 << 30

// operations carries out the operations of the graph, or only the precomputed ones.
func (r *run) operations(precomputed bool) error {
	flow := ir.NewFlow(r.g, tensorops.OperationKind)
	order := flow.Order(r.g)
	if len(order) < len(flow.Ops) {
		return fmt.Errorf("the graph has a cycle")
	}
	for _, id := range order {
		op := tensorops.OperationOf(r.g, id)
		if op.IsSource() || op.IsSink() || precomputed && !tensorops.IsPrecomputed(r.g.Node(id)) {
			continue
		}
		if err := r.operation(id, op); err != nil {
			return err
		}
	}
	return nil
}

// operation carries out one operation.
func (r *run) operation(id ir.NodeID, op *tensorops.Operation) error {
	if op.IsComposite() {
		return r.composite(id, op)
	}
	in, err := r.Library.BindOperation(r.g, id)
	if err != nil {
		return err
	}
	if err := r.instance(id, in); err != nil {
		return fmt.Errorf("%s: %w", r.g.Name(id), err)
	}
	return nil
}

// instance runs an operation: whole, or shard by shard where it has applications.
func (r *run) instance(id ir.NodeID, in *instance.Instance) error {
	boxes := []zspace.Range{in.Box()}
	if apps := r.apps[id]; len(apps) > 0 {
		boxes = boxes[:0]
		for _, a := range apps {
			box, err := in.RestrictTo(application.ApplicationOf(r.g, a).Outputs)
			if err != nil {
				return fmt.Errorf("%s: %w", r.g.Name(a), err)
			}
			boxes = append(boxes, box)
		}
	}
	n := nest{ctx: r.ctx}
	for _, o := range in.Operands {
		t := tensorops.TensorOf(r.g, o.Sel.Tensor)
		data, err := r.tensor(o.Sel.Tensor)
		if err != nil {
			return err
		}
		n.views = append(n.views, newView(o.Type, data, t.Range, zspace.RowMajor(t.Range.Shape()), o.Access, len(in.Dims)))
	}
	for _, s := range in.Statements {
		n.steps = append(n.steps, step{s.Over, s.Store, s.Value})
	}
	for _, box := range boxes {
		n.box = box
		if err := n.run(); err != nil {
			return err
		}
	}
	return nil
}

// schedule runs kernels and transfers in order, with every arena buffer at its offset of its device's one arena.
func (r *run) schedule(steps []ir.NodeID) error {
	if len(steps) == 0 {
		return nil
	}
	mem, err := r.buffers()
	if err != nil {
		return err
	}
	for _, id := range steps {
		switch b := r.g.Node(id).Body.(type) {
		case *schedule.Transfer:
			r.transfer(b, mem)
		case *schedule.Kernel:
			if err := r.kernel(b, mem); err != nil {
				return fmt.Errorf("%s: %w", r.g.Name(id), err)
			}
		}
	}
	return nil
}

// transfer copies the cells of a box from buffer to buffer.
func (r *run) transfer(t *schedule.Transfer, mem map[ir.NodeID][]byte) {
	from, to := r.g.Node(t.From).Body.(*schedule.Buffer), r.g.Node(t.To).Body.(*schedule.Buffer)
	c := copies.Of(t, from, to)
	c.Runs(func(a, b int64) { copy(mem[t.To][b:b+c.Bytes], mem[t.From][a:a+c.Bytes]) })
}

// buffers gives every buffer its bytes. Inputs and outputs are the tensors' own, and constants are where they are row-major.
func (r *run) buffers() (map[ir.NodeID][]byte, error) {
	mem := map[ir.NodeID][]byte{}
	arenas := map[ir.NodeID][]byte{}
	for n := range r.g.Nodes() {
		b, ok := n.Body.(*schedule.Buffer)
		if !ok {
			continue
		}
		if b.Space != schedule.Arena {
			data, err := r.tensor(b.Tensor)
			if err != nil {
				return nil, err
			}
			mem[n.ID] = data
			if b.Space == schedule.Constant {
				mem[n.ID] = arranged(b, r.part(b, data))
			}
			continue
		}
		if b.Aliases() {
			continue
		}
		if b.Offset < 0 || b.Bytes < 0 || b.Offset+b.Bytes > maxBytes {
			return nil, fmt.Errorf("%s lies at bytes %d to %d", r.g.Name(n.ID), b.Offset, b.Offset+b.Bytes)
		}
		if need := b.Offset + b.Bytes; need > int64(len(arenas[b.Device])) {
			arenas[b.Device] = make([]byte, need)
		}
	}
	for n := range r.g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok && b.InArena() {
			mem[n.ID] = arenas[b.Device][b.Offset : b.Offset+b.Bytes]
		}
	}
	for n := range r.g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok && b.Aliases() {
			at, under := b.From(schedule.BufferOf(r.g, b.Over)), int64(len(mem[b.Over]))
			if at < 0 || b.Bytes < 0 || b.Bytes > under || at > under-b.Bytes {
				return nil, fmt.Errorf("%s lies at byte %d of a buffer of %d", r.g.Name(n.ID), at, under)
			}
			mem[n.ID] = mem[b.Over][at : at+b.Bytes]
		}
	}
	return mem, nil
}

// part gives the bytes of the cells that a constant buffer holds, row-major.
func (r *run) part(b *schedule.Buffer, data []byte) []byte {
	whole := tensorops.TensorOf(r.g, b.Tensor).Range
	if b.Range.Equal(whole) {
		return data
	}
	return copies.Part(data, b.DType, whole, b.Range)
}

// arranged gives the bytes of a constant in the order in which its buffer has them.
func arranged(b *schedule.Buffer, data []byte) []byte {
	n, err := b.Range.Size()
	if err != nil || n == 0 || b.RowMajor() || int64(len(data)) != b.Bytes || b.Bytes%n != 0 {
		return data
	}
	size, out := b.Bytes/n, make([]byte, b.Bytes)
	shape := b.Range.Shape()
	from := zspace.RowMajor(shape)
	for i := range n {
		to := int64(0)
		for d := range shape {
			to += i / from[d] % shape[d] * b.Strides[d]
		}
		if to < 0 || to >= n {
			return data
		}
		copy(out[to*size:][:size], data[i*size:])
	}
	return out
}

func (r *run) kernel(k *schedule.Kernel, mem map[ir.NodeID][]byte) error {
	n := nest{ctx: r.ctx, box: k.Space()}
	for i := range k.Operands {
		o := &k.Operands[i]
		b, ok := r.g.Node(o.Buffer).Body.(*schedule.Buffer)
		if !ok {
			return fmt.Errorf("operand %s: %s is not a buffer", o.Name, r.g.Name(o.Buffer))
		}
		n.views = append(n.views, newView(o.Type(), mem[o.Buffer], b.Range, b.Strides, o.Access, len(k.Loops)))
	}
	for _, s := range k.Statements {
		over := make([]int, len(s.Over))
		for i, l := range s.Over {
			over[i] = int(l)
		}
		n.steps = append(n.steps, step{over, int(s.Store), s.Value})
	}
	return n.run()
}

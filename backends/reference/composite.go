package reference

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/copies"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// composite carries out an operation that uses a definition: the steps of the definition on values of their own. A shard of it carries out all steps on what it
// selects, with zeros beside it, and gives the cells that it writes: it is right only if it reads all that these need.
func (r *run) composite(id ir.NodeID, op *tensorops.Operation) error {
	name, _ := definition.Used(op.Kernel)
	d := r.defs[name]
	if d == nil {
		return fmt.Errorf("%s uses definition %q, which is not there", r.g.Name(id), name)
	}
	if len(r.apps[id]) == 0 {
		return r.inside(d, op, op.Inputs, op.Outputs)
	}
	for _, a := range r.apps[id] {
		app := application.ApplicationOf(r.g, a)
		if err := r.inside(d, op, app.Inputs, app.Outputs); err != nil {
			return fmt.Errorf("%s: %w", r.g.Name(a), err)
		}
	}
	return nil
}

// inside carries out a definition on boxes of the tensors of an operation, and writes boxes of its results.
func (r *run) inside(d *definition.Definition, op *tensorops.Operation, reads, writes ir.Ports) error {
	in := composite.Graph(d, r.defs)
	p, err := tensorops.ProgramOf(in.Graph)
	if err != nil {
		return err
	}
	inner := &run{Evaluator: r.Evaluator, ctx: r.ctx, g: in.Graph, data: map[ir.NodeID][]byte{}, defs: r.defs}
	if err := inner.load(&tensorops.Program{Constants: p.Constants}, nil); err != nil {
		return err
	}
	for _, f := range d.Inputs {
		whole, part := op.Inputs.Get(f.Port).Sel[0], reads.Get(f.Port).Sel[0].Range()
		t := tensorops.TensorOf(r.g, whole.Tensor)
		from, err := r.tensor(whole.Tensor)
		if err != nil {
			return err
		}
		to, err := inner.tensor(in.Values[f.Port])
		if err != nil {
			return err
		}
		cells(to, whole.Range(), from, t.Range, part, t.DType)
	}
	if err := inner.operations(false); err != nil {
		return err
	}
	for _, o := range d.Outputs {
		whole, part := op.Outputs.Get(o.Port).Sel[0], writes.Get(o.Port).Sel[0].Range()
		t := tensorops.TensorOf(r.g, whole.Tensor)
		to, err := r.tensor(whole.Tensor)
		if err != nil {
			return err
		}
		from, err := inner.tensor(in.Values[o.Value])
		if err != nil {
			return err
		}
		cells(to, t.Range, from, whole.Range(), part, t.DType)
	}
	return nil
}

// cells copies the cells of a box between two row-major arrays that hold boxes around it.
func cells(to []byte, toBox zspace.Range, from []byte, fromBox, box zspace.Range, dtype string) {
	buffer := func(r zspace.Range) *schedule.Buffer {
		return &schedule.Buffer{DType: dtype, Range: r, Strides: zspace.RowMajor(r.Shape())}
	}
	c := copies.Of(&schedule.Transfer{Range: box}, buffer(fromBox), buffer(toBox))
	c.Runs(func(a, b int64) { copy(to[b:b+c.Bytes], from[a:a+c.Bytes]) })
}

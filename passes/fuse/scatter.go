package fuse

import (
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// scatter lets kernels store parts of what a mover moves, and makes movers of the other parts. The mover's application becomes one for each
// part.
func (f *fuser) scatter(id ir.NodeID, k *schedule.Kernel, parts []part, app *ir.Node) {
	waiters := f.waitersOf(id)
	steps := make([]ir.NodeID, len(parts))
	for i, p := range parts {
		applications := k.Applications
		if len(parts) > 1 {
			applications = []ir.NodeID{f.applicationOf(app, k, p)}
		}
		if steps[i] = p.producer; p.stored == nil {
			steps[i] = f.mover(id, k, p, applications)
		} else {
			p.stored.Name += "+" + k.Name
			p.stored.Applications = append(slices.Clone(p.stored.Applications), applications...)
			n := f.g.Node(p.producer)
			n.SetOrigin(&ir.Origin{Rule: "fuse", From: origins(n, f.g.Node(id))})
			n.Label, n.Body = p.stored.Name, p.stored
		}
		f.waiters[steps[i]] = append(f.waiters[steps[i]], waiters...)
	}
	for _, w := range waiters {
		if after := schedule.AfterOf(f.g.Node(w)); after != nil {
			*after = mergeAfter(steps, *after, id)
		}
	}
	if len(parts) > 1 {
		f.g.Remove(app.ID)
	}
	f.g.Remove(id)
}

// applicationOf adds the application of a mover's operation that puts out what a part does, and selects nothing of other tensors.
func (f *fuser) applicationOf(app *ir.Node, k *schedule.Kernel, p part) ir.NodeID {
	a := app.Body.(*application.Application)
	first, last, err := k.Operands[k.Statements[len(k.Statements)-1].Store].Access.Hull(p.box)
	if err != nil {
		panic(err) // part of a box that has a hull
	}
	for d := range last {
		last[d]++
	}
	outputs := a.Outputs.Clone()
	sel := outputs.At(0).Sel[0]
	outputs.SetSel(0, ir.Select(sel.Tensor, zspace.Range{Start: first, End: last}))
	from, _ := body[*schedule.Buffer](f.g, k.Operands[p.load].Buffer)
	inputs := a.Inputs.Clone()
	inputs.All(func(_, _ int, sel *ir.Selection) {
		if sel.Tensor != from.Tensor {
			*sel = ir.Select(sel.Tensor, zspace.Range{Start: sel.Range().Start, End: sel.Range().Start})
		}
	})
	n := f.g.Add(&application.Application{Operation: a.Operation, Inputs: inputs, Outputs: outputs}, "")
	n.Pos = app.Pos
	if placed := app.Tag(application.PlacementKind); placed != nil {
		n.SetTag(placed)
	}
	return n.ID
}

// mover adds a kernel that moves a part, as another does.
func (f *fuser) mover(id ir.NodeID, k *schedule.Kernel, p part, applications []ir.NodeID) ir.NodeID {
	last := k.Statements[len(k.Statements)-1]
	last.Value, last.Store = scalar.NewLoad(0, k.Operands[p.load].Type()), 1
	x := &schedule.Kernel{Name: k.Name, Device: k.Device, Applications: applications, After: slices.Clone(k.After), Loops: inside(k.Loops, p.box),
		Operands: []schedule.Operand{k.Operands[p.load], k.Operands[k.Statements[len(k.Statements)-1].Store]}, Statements: []schedule.Statement{last}, Allow: k.Allow}
	n := f.g.Add(x, k.Name)
	n.Pos = f.g.Node(id).Pos
	n.SetOrigin(&ir.Origin{Rule: "fuse", From: origins(f.g.Node(id))})
	f.at[n.ID] = f.at[id]
	f.readers[x.Operands[0].Buffer] = append(f.readers[x.Operands[0].Buffer], n.ID)
	for _, a := range k.After {
		f.waiters[f.now(a)] = append(f.waiters[f.now(a)], n.ID)
	}
	return n.ID
}

// inside gives loops cut to a box.
func inside(loops []schedule.Loop, box zspace.Range) []schedule.Loop {
	out := slices.Clone(loops)
	for i := range out {
		out[i].Start, out[i].End = box.Start[i], box.End[i]
	}
	return out
}

package simplify

import (
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/rewrite"
)

// deadRule is the name under which dce counts what it takes away.
const deadRule = "dce"

// trim takes optional outputs that nobody reads or observes from operations, their shards and their signatures: a sort whose indices nobody
// wants gives no indices. Imports that read a file for nobody go. An operation keeps one output at least, and those that its kernel has to have. Each output counts as one
// application of dce.
func trim(g *ir.Graph, opt rewrite.Options, s *rewrite.Stats) error {
	if s.OutOfFuel || slices.Contains(opt.Disable, deadRule) {
		return nil
	}
	if opt.Library == nil {
		opt.Library = kernels.Builtin()
	}
	ordered := sequence.Ordered(g)
	t := trimmer{g: g, flow: ir.NewFlow(g, tensorops.OperationKind), opt: opt}
	for _, id := range t.flow.Ops {
		op := tensorops.OperationOf(g, id)
		if op.IsImport() && op.HasResource() && !ordered.Has(id) {
			if err := t.source(id, op, s); err != nil || s.OutOfFuel {
				return err
			}
			continue
		}
		decl, known := opt.Library.Find(op.Kernel)
		if !known || op.Outputs.Len() < 2 || g.Node(id).Tag(tensorops.IOSequencePointKind) != nil {
			continue
		}
		if err := t.operation(id, op, decl, s); err != nil || s.OutOfFuel {
			return err
		}
	}
	return nil
}

// trimmer finds outputs that nobody needs.
type trimmer struct {
	g    *ir.Graph
	flow *ir.Flow
	opt  rewrite.Options
	held ir.NodeSet                               // outputs of the program, and what nodes other than operations and their shards refer to
	apps map[ir.NodeID][]*application.Application // by operation; nil before any of this is asked for
}

// operation takes the outputs that nobody needs from one operation.
func (t *trimmer) operation(id ir.NodeID, op *tensorops.Operation, decl *declaration.Kernel, s *rewrite.Stats) error {
	for i := op.Outputs.Len() - 1; i >= 0 && op.Outputs.Len() > 1; i-- {
		port := op.Outputs.At(i)
		if !optional(decl, port.Name) {
			continue
		}
		if err := t.hold(); err != nil {
			return err
		}
		if slices.ContainsFunc(port.Sel, t.needed) {
			continue
		}
		if !t.may(id, s) {
			return nil
		}
		t.drop(id, port)
	}
	return nil
}

// may asks whether something may be taken from an operation, and counts it.
func (t *trimmer) may(id ir.NodeID, s *rewrite.Stats) bool {
	change := rewrite.Change{Rule: deadRule, Root: id}
	if !t.opt.Fuel.Take() {
		s.OutOfFuel, s.Next = true, &change
		return false
	}
	if t.opt.Trace != nil {
		t.opt.Trace(change)
	}
	s.Applied++
	s.Hits[0].Count++
	return true
}

// source takes an import away that reads a file for nobody.
func (t *trimmer) source(id ir.NodeID, op *tensorops.Operation, s *rewrite.Stats) error {
	if err := t.hold(); err != nil {
		return err
	}
	needed := false
	op.Outputs.All(func(_, _ int, s *ir.Selection) { needed = needed || t.needed(*s) })
	if needed || t.apps[id] != nil || !t.may(id, s) {
		return nil
	}
	op.Outputs.All(func(_, _ int, s *ir.Selection) { t.g.Remove(s.Tensor) })
	t.g.Remove(id)
	return nil
}

// optional says whether a kernel can do without an output.
func optional(decl *declaration.Kernel, port string) bool {
	i := slices.IndexFunc(decl.Operands, func(o declaration.Operand) bool { return o.Out && slices.Contains(o.Names, port) })
	return i >= 0 && decl.Operands[i].Optional
}

func (t *trimmer) needed(s ir.Selection) bool {
	return t.held.Has(s.Tensor) || len(t.flow.Consumers(s.Tensor)) > 0 || len(t.flow.Producers(s.Tensor)) > 1
}

// hold finds what is held, once.
func (t *trimmer) hold() error {
	if t.apps != nil {
		return nil
	}
	t.apps = map[ir.NodeID][]*application.Application{}
	p, err := tensorops.ProgramOf(t.g)
	if err != nil {
		return err
	}
	for _, x := range p.Outputs {
		if label := t.g.Node(x.Tensor).Label; len(t.opt.Outputs) == 0 || slices.Contains(t.opt.Outputs, x.Name) || slices.Contains(t.opt.Outputs, label) {
			t.held.Add(x.Tensor)
		}
	}
	for n := range t.g.Nodes() {
		switch b := n.Body.(type) {
		case *tensorops.Operation:
		case *application.Application:
			t.apps[b.Operation] = append(t.apps[b.Operation], b)
		default:
			t.refers(n.Body)
		}
		for _, tag := range n.Tags() {
			t.refers(tag)
		}
	}
	return nil
}

func (t *trimmer) refers(b ir.Body) {
	for _, id := range ir.References(b) {
		t.held.Add(id)
	}
}

// drop takes an output port with its tensors out of an operation, its shards and its signature.
func (t *trimmer) drop(id ir.NodeID, port ir.Port) {
	n := t.g.Node(id)
	op := n.Body.(*tensorops.Operation)
	without := func(p ir.Ports) ir.Ports {
		return ir.PortsOf(slices.DeleteFunc(p.List(), func(p ir.Port) bool { return p.Name == port.Name }))
	}
	op.Outputs = without(op.Outputs)
	if sig := tensorops.SignatureOf(n); sig != nil {
		n.SetTag(&tensorops.Signature{Inputs: sig.Inputs,
			Outputs: slices.DeleteFunc(slices.Clone(sig.Outputs), func(m ir.NamedMaps) bool { return m.Name == port.Name })})
	}
	for _, a := range t.apps[id] {
		a.Outputs = without(a.Outputs)
	}
	for _, s := range port.Sel {
		t.g.Remove(s.Tensor)
	}
}

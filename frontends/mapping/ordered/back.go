package ordered

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// CodeNamed is the code of a sequence point that names what is no operation of the foreign graph.
const CodeNamed = "TAP0859"

// Back tells the operations of a foreign graph what happens before them: of tells what each operation of the program became. A sequence point right before one operation
// needs nothing more; for others it gives operations that are only between others. A constant has no time, so what is said of it is left out.
func Back(g *ir.Graph, of func(ir.NodeID) []*foreign.Op) (added []*foreign.Op, bad diag.List) {
	b := &backward{g: g, of: of, points: map[ir.NodeID]*foreign.Op{}}
	var linked ir.NodeSet
	for n, p := range b.all {
		for _, id := range slices.Concat(p.After, p.Before) {
			if x := g.Node(id); x != nil && x.Body.Kind() == sequence.Kind {
				linked.Add(n.ID)
				linked.Add(id)
			}
		}
	}
	for n, p := range b.all {
		if len(p.Before) == 1 && !linked.Has(n.ID) && n.Label == "" {
			continue
		}
		op := &foreign.Op{Name: n.Label, Domain: foreign.Added, Type: foreign.Order, Pos: n.Pos}
		b.points[n.ID], added = op, append(added, op)
	}
	for n, p := range b.all {
		before, after := b.ops(n, p.After, true), b.ops(n, p.Before, false)
		if op := b.points[n.ID]; op != nil {
			op.After, before = append(op.After, before...), []*foreign.Op{op}
		}
		for _, op := range after {
			op.After = append(op.After, before...)
		}
	}
	return added, b.bad
}

// backward tells one foreign graph.
type backward struct {
	g      *ir.Graph
	of     func(ir.NodeID) []*foreign.Op
	points map[ir.NodeID]*foreign.Op // what sequence points became
	bad    diag.List
}

func (b *backward) all(yield func(*ir.Node, *sequence.Point) bool) {
	for n := range b.g.Nodes() {
		if p, ok := n.Body.(*sequence.Point); ok && !yield(n, p) {
			return
		}
	}
}

// ops gives the last or the first operations of what a sequence point names.
func (b *backward) ops(n *ir.Node, list []ir.NodeID, last bool) (out []*foreign.Op) {
	for _, id := range list {
		x, op := b.g.Node(id), tensorops.OperationOf(b.g, id)
		if p := b.points[id]; p != nil {
			out = append(out, p)
			continue
		}
		made := b.of(id)
		if len(made) == 0 && !(op != nil && (op.IsSource() && !op.IsImport() || tensorops.IsPrecomputed(x))) {
			b.bad = append(b.bad, diag.Errorf(CodeNamed, "order", b.g.At(n, ""), "%s names %s, which is no operation in the other vocabulary", b.g.Name(n.ID), b.g.Name(id)).
				Want("operations that become some there", "an import, an export or a check"))
		}
		out = append(out, border(made, last)...)
	}
	return out
}

// border gives those of some operations that take nothing from the others, or from which none of the others takes.
func border(ops []*foreign.Op, last bool) (out []*foreign.Op) {
	for _, op := range ops {
		inner := slices.ContainsFunc(ops, func(x *foreign.Op) bool {
			if last {
				return takes(x, op)
			}
			return takes(op, x)
		})
		if !inner {
			out = append(out, op)
		}
	}
	return out
}

func takes(op, from *foreign.Op) bool {
	return slices.ContainsFunc(op.In, func(name string) bool { return name != "" && slices.Contains(from.Out, name) })
}

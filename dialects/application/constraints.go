package application

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/parts"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

// Environment gives the dialect's types and constraints, which begin with those of the Operation Expression dialect. Tensors
// may have the given element types; without any, those of tensorops.DefaultDTypes.
func Environment(dtypes ...string) *check.Environment {
	e := tensorops.Environment(dtypes...)
	e.Name = "Application Expression"
	e.NodeKinds = append(e.NodeKinds, ApplicationKind)
	e.TagKinds = append(e.TagKinds, PlacementKind)
	return e.With(Constraints()...)
}

// Loom gives the environment of the Tapestry documents alone for a graph: their nodes and tags, and their constraints, those on applications if it has any.
// What is tapc's own in a graph, a tag or a node of a later stage, the environment does not have. Kernels mean nothing there, so that an import is
// an operation as any other. Tensors may have the given element types; without any, those that tapc has.
func Loom(g *ir.Graph, dtypes ...string) *check.Environment {
	e := tensorops.Environment()
	for n := range g.Nodes() {
		if n.Body.Kind() == ApplicationKind {
			e = Environment()
			break
		}
	}
	e.Name, e.DTypes = "Loom", tensorops.Environment(dtypes...).DTypes
	e.NodeKinds = slices.DeleteFunc(slices.Clone(e.NodeKinds), func(k *ir.Kind) bool { return k == definition.Kind || k == sequence.Kind || k == parts.WholeKind })
	e.TagKinds = []*ir.Kind{tensorops.SignatureKind, tensorops.IndexKind, tensorops.IOSequencePointKind}
	e.Constraints = slices.DeleteFunc(slices.Clone(e.Constraints), func(c check.Constraint) bool { return slices.Contains(tensorops.OwnConstraints, c.ID) })
	return e.With(noChoices)
}

// Constraints gives the constraints that this dialect adds, in the order in which they are checked.
func Constraints() []check.Constraint {
	return []check.Constraint{
		operationApplicationAgreement,
		applicationSignatureAgreement,
		outputCoverageIsExact,
		choicesAreMade,
		placementIsSane,
	}
}

// shards lists the applications of each operation, in graph order, in two flat slices.
type shards struct {
	start []int32 // by operation id
	nodes []*ir.Node
}

// of gives the applications of an operation.
func (s *shards) of(op ir.NodeID) []*ir.Node { return s.nodes[s.start[op]:s.start[op+1]] }

// shardsOf indexes the applications of the graph once; those whose operation does not exist are left out.
func shardsOf(c *check.Context) *shards {
	return check.Cached(c, "application.shards", func() *shards {
		g := c.Graph()
		s := &shards{start: make([]int32, g.Bound()+1)}
		each := func(f func(op ir.NodeID, n *ir.Node)) {
			for n := range g.Nodes() {
				if a, ok := n.Body.(*Application); ok && g.Node(a.Operation) != nil {
					f(a.Operation, n)
				}
			}
		}
		each(func(op ir.NodeID, _ *ir.Node) { s.start[op+1]++ })
		for i := range g.Bound() {
			s.start[i+1] += s.start[i]
		}
		s.nodes = make([]*ir.Node, s.start[g.Bound()])
		next := append([]int32(nil), s.start...)
		each(func(op ir.NodeID, n *ir.Node) {
			s.nodes[next[op]] = n
			next[op]++
		})
		return s
	})
}

// sides are the two sides of a ported node, in the order in which they are checked.
var sides = [...]string{"inputs", "outputs"}

// side gives one side of a ported node.
func side(b ir.Body, i int) ir.Ports {
	in, out := b.(ir.Ported).Ports()
	if i == 0 {
		return *in
	}
	return *out
}

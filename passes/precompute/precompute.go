// Package precompute is the pass that finds what depends on constants alone and has it carried out when the program is built: it
// marks those operations (tensorops.Precomputed), whose results are constants for all later passes.
//
// Values are those of the reference evaluator, which carries the operations out one group after the other when constants are written
// (reference.Values). Read next: passes/lower.
package precompute

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// maxWork bounds the points that are evaluated when a program is built: ten seconds or so.
const maxWork = 1 << 29

// maxGrowth is by how many bytes the constants of a program may grow on behalf of operations that cost little, and how many one
// result may have, if they are not more themselves: 64 MiB, or what is stored again. A product that reads a broadcast weight is several times faster if it finds the
// weight in panels, but a program should stay of the size of its model.
const maxGrowth = 64 << 20

// smallGrowth is by how many bytes an operation that costs little may grow what it reads where a kernel could compute it on the way.
const smallGrowth = 4 << 10

// unpacks is the kernel whose constants stay as they are: weights of few bits are for the sake of memory.
const unpacks = "op:unpack_weights"

// Run marks the operations that are carried out when the program is built, and gives their number. They have no effect and depend
// on constants alone. Left to the program are those whose evaluation would take too long, and those that cost little and make more
// of what they read (a broadcast, a range of numbers): fusion makes them part of their readers. Where a reader reads elements again
// and again, as products do, they are precomputed too as long as the program does not grow by more than maxGrowth.
func Run(g *ir.Graph, lib *kernels.Library) (int, error) {
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		return 0, err
	}
	m := &marking{g: g, lib: lib, flow: ir.NewFlow(g, tensorops.OperationKind), marked: map[ir.NodeID]*instance.Instance{}, ordered: sequence.Ordered(g)}
	stored := int64(0)
	for _, c := range p.Constants {
		m.known.Add(c.Tensor)
		stored += m.bytes(c.Tensor)
	}
	m.most = max(maxGrowth, stored)
	m.growth = m.most
	order := m.flow.Order(g)
	work := int64(maxWork)
	for _, id := range order {
		work -= m.mark(id, work)
	}
	for i := len(order) - 1; i >= 0; i-- {
		m.drop(order[i])
	}
	for id := range m.marked {
		g.Node(id).SetTag(&tensorops.Precomputed{})
	}
	return len(m.marked), nil
}

// marking is which operations are marked so far.
type marking struct {
	g      *ir.Graph
	lib    *kernels.Library
	flow   *ir.Flow
	known  ir.NodeSet // tensors that depend on constants alone
	marked map[ir.NodeID]*instance.Instance
	most   int64 // bytes of a result
	growth int64 // bytes that constants may still grow by

	ordered ir.NodeSet // operations that sequence points name
}

// mark marks an operation that depends on constants alone, if there is that much work left for it, and gives its work.
func (m *marking) mark(id ir.NodeID, left int64) int64 {
	n := m.g.Node(id)
	op := tensorops.OperationOf(m.g, id)
	ok := op.Kernel != unpacks && !op.IsSource() && !op.IsSink() && !m.ordered.Has(id) && n.Tag(tensorops.IOSequencePointKind) == nil
	op.Inputs.All(func(_, _ int, s *ir.Selection) { ok = ok && m.known.Has(s.Tensor) })
	op.Outputs.All(func(_, _ int, s *ir.Selection) { ok = ok && m.bytes(s.Tensor) <= m.most })
	if !ok {
		return 0
	}
	in, err := m.lib.BindOperation(m.g, id)
	if err != nil || in.Work() > left {
		return 0 // what is wrong with an operation, lower says
	}
	m.marked[id] = in
	m.known.AddPorts(op.Outputs)
	return in.Work()
}

// drop takes the mark from an operation that the program had better carry out. Those that read its results have been decided on: where one has the mark, so does
// what it reads.
func (m *marking) drop(id ir.NodeID) {
	in, ok := m.marked[id]
	if !ok || !cheap(in) {
		return
	}
	op := tensorops.OperationOf(m.g, id)
	growth, kept, again, read := int64(0), false, true, false
	op.Outputs.All(func(_, _ int, s *ir.Selection) {
		readers := m.flow.Consumers(s.Tensor)
		kept = kept || len(readers) == 0
		for _, r := range readers {
			if m.marked[r] != nil {
				read = true
				continue
			}
			kept = true
			again = again && m.folds(r)
		}
		growth += m.bytes(s.Tensor)
	})
	op.Inputs.All(func(_, _ int, s *ir.Selection) {
		growth -= m.bytes(s.Tensor) / int64(max(1, len(m.flow.Consumers(s.Tensor))))
	})
	switch {
	case !kept || growth <= smallGrowth:
	case read || again && growth <= m.growth:
		m.growth -= growth
	default:
		delete(m.marked, id)
	}
}

// cheap says whether an instance computes each element of its result on its own, by few operations.
func cheap(in *instance.Instance) bool {
	cells := int64(0)
	for i, o := range in.Operands {
		if !o.Decl.Out {
			continue
		}
		if r, err := in.Reads(i, in.Box()); err == nil {
			n, _ := r.Size()
			cells += n
		}
	}
	return in.Work() <= 2*cells && in.Flops() <= 8*cells
}

// folds says whether an operation folds along a dimension, as sums of products do, and so reads elements again and again.
func (m *marking) folds(id ir.NodeID) bool {
	if op := tensorops.OperationOf(m.g, id); op.IsSource() || op.IsSink() {
		return false
	}
	in, err := m.lib.BindOperation(m.g, id)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(in.Statements, func(s instance.Statement) bool {
		return s.Value.Any(func(e *scalar.Expr) bool { return e.Op == scalar.Reduce && !e.IsAt() })
	})
}

func (m *marking) bytes(tensor ir.NodeID) int64 {
	t := tensorops.TensorOf(m.g, tensor)
	n, err := t.Range.Size()
	if size := int64(t.Type().Size()); err == nil && n <= math.MaxInt64/4/max(size, 1) {
		return n * size
	}
	return math.MaxInt64 / 4
}

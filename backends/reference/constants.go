package reference

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Values gives the values of a graph's constants: of stored ones as Stored loads them, of computed ones by carrying out the
// precomputed operations that they come from. These are carried out group by group, a group being operations that share what they
// compute: in memory are one group's tensors, each until its last use, and up to maxKept bytes of results that were not asked for
// yet. It is safe for concurrent use.
type Values struct {
	Graph   *ir.Graph
	Library *kernels.Library
	Stored  Constants

	mu    sync.Mutex
	flow  *ir.Flow
	order []ir.NodeID // of the precomputed operations
	kept  map[ir.NodeID]tensorfile.Tensor
	bytes int64
}

// maxKept bounds what is kept of the groups before the last one.
const maxKept = 256 << 20

// Load gives the value of a constant, which has the dtype and shape of its tensor.
func (v *Values) Load(ctx context.Context, c tensorops.Const) (tensorfile.Tensor, error) {
	if !c.Computed {
		return v.Stored(c, tensorops.TensorOf(v.Graph, c.Tensor))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if t, ok := v.kept[c.Tensor]; ok {
		return t, nil
	}
	if v.flow == nil {
		v.flow = ir.NewFlow(v.Graph, tensorops.OperationKind)
		v.order = slices.DeleteFunc(v.flow.Order(v.Graph), func(id ir.NodeID) bool { return !tensorops.IsPrecomputed(v.Graph.Node(id)) })
	}
	err := v.compute(ctx, c.Tensor)
	t, ok := v.kept[c.Tensor]
	if err == nil && !ok {
		err = fmt.Errorf("%s is made by no precomputed operation", v.Graph.Name(c.Tensor))
	}
	return t, err
}

// group gives the operations that a tensor comes from and those that share tensors with them.
func (v *Values) group(tensor ir.NodeID) (in ir.NodeSet) {
	wait := []ir.NodeID{tensor}
	for len(wait) > 0 {
		t := wait[len(wait)-1]
		wait = wait[:len(wait)-1]
		makers := v.flow.Producers(t)
		if len(makers) == 0 || !tensorops.IsPrecomputed(v.Graph.Node(makers[0])) {
			continue // what is stored is loaded by each group that reads it
		}
		for _, id := range slices.Concat(makers, v.flow.Consumers(t)) {
			if !tensorops.IsPrecomputed(v.Graph.Node(id)) || !in.Add(id) {
				continue
			}
			op := tensorops.OperationOf(v.Graph, id)
			for _, ports := range []ir.Ports{op.Inputs, op.Outputs} {
				ports.All(func(_, _ int, s *ir.Selection) { wait = append(wait, s.Tensor) })
			}
		}
	}
	return in
}

// compute carries out the group that a tensor comes from.
func (v *Values) compute(ctx context.Context, tensor ir.NodeID) error {
	group := v.group(tensor)
	r := &run{Evaluator: &Evaluator{Library: v.Library, Constants: v.Stored}, ctx: ctx, g: v.Graph, data: map[ir.NodeID][]byte{}, defs: definition.Of(v.Graph)}
	uses, results := map[ir.NodeID]int{}, map[ir.NodeID]bool{}
	for id := range group.All {
		for t := range tensorsOf(tensorops.OperationOf(v.Graph, id)) {
			uses[t]++
		}
	}
	for id := range group.All {
		tensorops.OperationOf(v.Graph, id).Outputs.All(func(_, _ int, s *ir.Selection) {
			consumers := v.flow.Consumers(s.Tensor)
			results[s.Tensor] = len(consumers) == 0 || slices.ContainsFunc(consumers, func(id ir.NodeID) bool { return !group.Has(id) })
		})
	}
	for _, id := range v.order {
		if !group.Has(id) {
			continue
		}
		if err := r.precompute(v.flow, id); err != nil {
			return fmt.Errorf("%s: %w", v.Graph.Name(id), err)
		}
		for t := range tensorsOf(tensorops.OperationOf(v.Graph, id)) {
			if uses[t]--; uses[t] == 0 && !results[t] {
				delete(r.data, t)
			}
		}
	}
	v.keep(results, r.data)
	return nil
}

// tensorsOf gives the tensors that an operation reads and writes.
func tensorsOf(op *tensorops.Operation) map[ir.NodeID]bool {
	of := map[ir.NodeID]bool{}
	for _, ports := range []ir.Ports{op.Inputs, op.Outputs} {
		ports.All(func(_, _ int, s *ir.Selection) { of[s.Tensor] = true })
	}
	return of
}

// precompute carries out one operation, after loading the stored constants that it reads and that are not there yet.
func (r *run) precompute(flow *ir.Flow, id ir.NodeID) error {
	op := tensorops.OperationOf(r.g, id)
	for t := range tensorsOf(op) {
		makers := flow.Producers(t)
		if _, ok := r.data[t]; ok || len(makers) == 0 || !tensorops.OperationOf(r.g, makers[0]).IsSource() {
			continue
		}
		c, bad := tensorops.ConstOf(r.g, makers[0])
		if err := bad.Err(); err != nil {
			return err
		}
		if err := r.constant(c); err != nil {
			return err
		}
	}
	return r.operation(id, op)
}

// keep takes over what a group gave, and lets go of what earlier ones gave if that is much.
func (v *Values) keep(results map[ir.NodeID]bool, data map[ir.NodeID][]byte) {
	if v.kept == nil || v.bytes > maxKept {
		v.kept, v.bytes = map[ir.NodeID]tensorfile.Tensor{}, 0
	}
	for id, result := range results {
		if t := tensorops.TensorOf(v.Graph, id); result && t != nil {
			v.kept[id] = tensorfile.Tensor{DType: t.Type(), Shape: t.Range.Shape(), Data: data[id]}
			v.bytes += int64(len(data[id]))
		}
	}
}

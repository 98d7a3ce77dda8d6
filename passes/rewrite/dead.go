package rewrite

import (
	"context"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
)

// RemoveDead removes the operations that no observed value and no effect needs, with their tensors and shards. Graph inputs
// stay, and so do imports and operations without outputs. Each operation counts as one application of the named rule.
func RemoveDead(ctx context.Context, g *ir.Graph, rule string, opt Options) (Stats, error) {
	d, err := newDriver(ctx, g, []Rule{{Name: rule}}, opt)
	if err != nil {
		return Stats{}, err
	}
	if len(d.kernels.find("").rules) == 0 {
		return d.stats(), nil // disabled
	}
	live := d.index.needed()
	order := d.work.order
	for i := len(order) - 1; i >= 0; i-- { // consumers first
		if live[order[i]] {
			continue
		}
		if i%1024 == 0 && ctx.Err() != nil {
			return d.stats(), context.Cause(ctx)
		}
		if !opt.Fuel.Take() {
			d.next = &Change{Rule: rule, Root: order[i]}
			break
		}
		if opt.Trace != nil {
			opt.Trace(Change{Rule: rule, Root: order[i]})
		}
		d.hits[0]++
		d.removed++
		d.index.remove(order[i])
	}
	return d.stats(), nil
}

// needed marks the operations that observed values and effects need.
func (ix *index) needed() []bool {
	live := make([]bool, len(ix.marks))
	var stack []ir.NodeID
	mark := func(op ir.NodeID) {
		if op >= 0 && !live[op] {
			live[op] = true
			stack = append(stack, op)
		}
	}
	for _, id := range ix.ops {
		op := tensorops.OperationOf(ix.g, id)
		if ix.is(id, pinned) {
			mark(id)
		}
		op.Outputs.All(func(_, _ int, s *ir.Selection) {
			if ix.is(s.Tensor, observed|pinned) || ix.producer[s.Tensor] == twoProducer {
				mark(id)
			}
		})
	}
	for len(stack) > 0 {
		op := tensorops.OperationOf(ix.g, stack[len(stack)-1])
		stack = stack[:len(stack)-1]
		op.Inputs.All(func(_, _ int, s *ir.Selection) { mark(ix.producer[s.Tensor]) })
	}
	return live
}

// remove takes out an operation and its tensors.
func (ix *index) remove(op ir.NodeID) {
	tensorops.OperationOf(ix.g, op).Outputs.All(func(_, _ int, s *ir.Selection) { ix.dropTensor(s.Tensor) })
	ix.drop(op)
}

// Package numbers gives the whole numbers of constants whose values are in a graph: what places are computed from, where that is known. It must not know of
// kernels. Read next: dialects/tensorops/reads, which takes them apart.
package numbers

import (
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// most bounds the elements that Of gives.
const most = 1 << 16

// Of gives the range and the elements of a tensor, in row-major order, where it is a constant of whole numbers whose value is in the graph, of at most 65,536 elements; else nil, as without a graph.
func Of(g *ir.Graph, tensor ir.NodeID) (r zspace.Range, list []int64) {
	if g == nil {
		return r, nil
	}
	t := tensorops.TensorOf(g, tensor)
	if t == nil || !t.Type().IsInt() {
		return r, nil
	}
	size, err := t.Range.Size()
	if err != nil || size > most {
		return r, nil
	}
	op := producer(g, tensor)
	if op == ir.NoNode || !isConstant(tensorops.OperationOf(g, op)) {
		return r, nil
	}
	c, bad := tensorops.ConstOf(g, op)
	if bad != nil || c.Value == nil {
		return r, nil
	}
	out := make([]int64, 0, size)
	if c.Value.Kind == ir.AttrList {
		list, ok := flat(out, *c.Value, t.Type(), t.Range.Shape())
		return t.Range, given(list, ok)
	}
	n, ok := number(*c.Value, t.Type())
	for range size {
		out = append(out, n)
	}
	return t.Range, given(out, ok)
}

func isConstant(op *tensorops.Operation) bool { return op.IsSource() && !op.IsImport() }

func given(list []int64, ok bool) []int64 {
	if !ok {
		return nil
	}
	return list
}

// flat adds the numbers of nested lists of a shape.
func flat(out []int64, v ir.AttrValue, d scalar.DType, shape zspace.Point) ([]int64, bool) {
	if len(shape) == 0 {
		n, ok := number(v, d)
		return append(out, n), ok
	}
	ok := v.Kind == ir.AttrList && int64(len(v.List)) == shape[0]
	for i := 0; ok && i < len(v.List); i++ {
		out, ok = flat(out, v.List[i], d, shape[1:])
	}
	return out, ok
}

func number(v ir.AttrValue, d scalar.DType) (int64, bool) {
	x := scalar.IntValue(d, v.Int)
	return x.I, v.Kind == ir.AttrInt && x.I == v.Int
}

// producer finds the operation that produces a tensor, or NoNode. It looks near the tensor first: producers mostly are there, and a graph has no list of them.
func producer(g *ir.Graph, tensor ir.NodeID) ir.NodeID {
	for away := 1; away <= g.Bound(); away++ {
		for _, id := range [2]int{int(tensor) - away, int(tensor) + away} {
			if id >= 0 && id < g.Bound() && makes(g.Node(ir.NodeID(id)), tensor) {
				return ir.NodeID(id)
			}
		}
	}
	return ir.NoNode
}

func makes(n *ir.Node, tensor ir.NodeID) bool {
	op, ok := (*tensorops.Operation)(nil), false
	if n != nil {
		op, ok = n.Body.(*tensorops.Operation)
	}
	if !ok {
		return false
	}
	for _, p := range op.Outputs.Each() {
		for _, s := range p.Sel {
			if s.Tensor == tensor {
				return true
			}
		}
	}
	return false
}

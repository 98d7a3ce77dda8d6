package apply

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/parts"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// An application becomes one kernel, which has an operand, and code, for each selection of its operation. Operations with many
// selections are therefore cut into several with few. A join of parts copies them once for each level of its tree, but needs
// no search among many for every element; vectors along the joined dimension have code of their own for as many parts as here.
const (
	mostParts = 16 // of a concatenation, a stack, an interleaving or a split
	mostTerms = 32 // of a fold
)

// cutters cut an operation with many selections by its kernel; each says whether it did. What does not fit its kernel is left for
// others to report.
var cutters = map[string]func(w *wide) bool{
	"op:add": (*wide).fold, "op:mul": (*wide).fold, "op:max": (*wide).fold, "op:min": (*wide).fold,
	"op:concat": (*wide).concat, "op:split": (*wide).split, "op:stack": (*wide).stack, "op:interleave": (*wide).interleave,
}

// cutWide cuts the operation of a node, if it has many selections and no signature, which speaks of all of them.
func cutWide(g *ir.Graph, n *ir.Node) {
	op := n.Body.(*tensorops.Operation)
	if cut, ok := cutters[op.Kernel]; ok && tensorops.SignatureOf(n) == nil {
		cut(&wide{g: g, n: n, op: op})
	}
}

type wide struct {
	g  *ir.Graph
	n  *ir.Node
	op *tensorops.Operation
}

// add puts an operation of the same kernel beside the one that is cut. Its result, a new tensor, has the given shape and the type of a selection.
func (w *wide) add(in ir.Ports, params ir.Attrs, shape []int64, like ir.Selection) ir.Selection {
	return w.made(w.op.Kernel, in, params, shape, like).op.Outputs.At(0).Sel[0]
}

// made is add for any kernel; what it gives can be cut in turn.
func (w *wide) made(kernel string, in ir.Ports, params ir.Attrs, shape []int64, like ir.Selection) *wide {
	box := zspace.MustShape(shape...)
	t := w.g.Add(&tensorops.Tensor{DType: tensorops.TensorOf(w.g, like.Tensor).DType, Range: box}, "")
	op := &tensorops.Operation{Kernel: kernel, Params: params, Inputs: in,
		Outputs: ir.PortsOf([]ir.Port{{Name: w.op.Outputs.At(0).Name, Sel: []ir.Selection{ir.Select(t.ID, box)}}})}
	n := w.g.Add(op, "")
	w.from(t)
	w.from(n)
	return &wide{g: w.g, n: n, op: op}
}

// from gives a node the place of the one that is cut; its operations are carried out when that would be.
func (w *wide) from(n *ir.Node) {
	n.Pos = w.n.Pos
	n.SetOrigin(&ir.Origin{Rule: "apply", From: []ir.Pos{w.n.Pos}})
	if parts.Is(w.n) {
		n.SetTag(&parts.Part{})
	}
	if _, ok := n.Body.(*tensorops.Operation); ok && tensorops.IsPrecomputed(w.n) {
		n.SetTag(&tensorops.Precomputed{})
	}
}

// fold folds the first selections, then that with the next ones, and so on: in the order of the whole.
func (w *wide) fold() bool {
	port := w.op.Inputs.Get("tensors")
	if port == nil || len(port.Sel) <= mostTerms || w.op.Outputs.Len() != 1 {
		return false
	}

	rest := slices.Clone(port.Sel)
	for len(rest) > mostTerms {
		shape, ok := broadcast(rest[:mostTerms])
		if !ok {
			return false
		}
		folded := w.add(ir.PortsOf([]ir.Port{{Name: port.Name, Sel: slices.Clone(rest[:mostTerms])}}), nil, shape, rest[0])
		rest = rest[mostTerms-1:]
		rest[0] = folded
	}
	w.op.Inputs = w.op.Inputs.With(ir.Port{Name: port.Name, Sel: rest})
	return true
}

// broadcast gives the shape that selections are stretched to.
func broadcast(sel []ir.Selection) (shape []int64, ok bool) {
	for _, s := range sel {
		other := slices.Clone(s.Range().Shape())
		if len(other) > len(shape) {
			shape, other = other, shape
		}
		at := len(shape) - len(other)
		for i, n := range other {
			switch have := shape[at+i]; {
			case have == 1:
				shape[at+i] = n
			case n != 1 && n != have:
				return nil, false
			}
		}
	}
	return shape, true
}

// concat joins neighbours, then what was joined, until few are left.
func (w *wide) concat() bool {
	port := w.op.Inputs.Get("tensors")
	if port == nil || len(port.Sel) <= mostParts || w.op.Outputs.Len() != 1 {
		return false
	}
	axis, ok := w.axis(port.Sel)
	for len(port.Sel) > mostParts && ok {
		var joined []ir.Selection
		for part := range slices.Chunk(port.Sel, mostParts) {
			if len(part) == 1 {
				joined = append(joined, part[0])
				continue
			}
			shape := slices.Clone(part[0].Range().Shape())
			for _, s := range part[1:] {
				shape[axis] += s.Range().Shape()[axis]
			}
			joined = append(joined, w.add(ir.PortsOf([]ir.Port{{Name: port.Name, Sel: slices.Clone(part)}}), w.op.Params, shape, part[0]))
		}
		port.Sel = joined
	}
	w.op.Inputs = w.op.Inputs.With(*port)
	return ok
}

// stack stacks neighbours, and joins what was stacked.
func (w *wide) stack() bool {
	sel, axis, ok := w.alike(1)
	if !ok {
		return false
	}
	w.op.Inputs.SetSel(0, w.stacked(sel, axis)...)
	w.op.Kernel, w.op.Params = "op:concat", axisAttr(axis)
	w.concat()
	return true
}

// interleave stacks the parts behind the dimension along which they are shuffled: the cells stand in order then, and have another shape.
func (w *wide) interleave() bool {
	sel, axis, ok := w.alike(0)
	if !ok || w.op.Outputs.At(0).Sel[0].Range().Empty() {
		return false
	}
	shape := slices.Insert(slices.Clone(sel[0].Range().Shape()), axis+1, int64(len(sel)))
	joined := w.made("op:concat", ir.PortsOf([]ir.Port{{Name: "tensors", Sel: w.stacked(sel, axis+1)}}), axisAttr(axis+1), shape, sel[0])
	joined.concat()
	result := w.op.Outputs.At(0).Sel[0].Range().Shape()
	w.op.Kernel, w.op.Params = "op:reshape", ir.Attrs{{Name: "shape", Value: ir.IntsAttr(result...)}}
	w.op.Inputs = ir.PortsOf([]ir.Port{{Name: "tensor", Sel: slices.Clone(joined.op.Outputs.At(0).Sel)}})
	return true
}

func axisAttr(axis int) ir.Attrs { return ir.Attrs{{Name: "axis", Value: ir.IntAttr(int64(axis))}} }

// alike gives the selections of an operation that reads very many of one shape, and the dimension that its parameter says, of so
// many more than they have.
func (w *wide) alike(more int) (sel []ir.Selection, axis int, ok bool) {
	port := w.op.Inputs.Get("tensors")
	if port == nil || len(port.Sel) <= mostParts || w.op.Inputs.Len() != 1 || w.op.Outputs.Len() != 1 || len(w.op.Outputs.At(0).Sel) != 1 {
		return nil, 0, false
	}
	shape := port.Sel[0].Range().Shape()
	if slices.ContainsFunc(port.Sel, func(s ir.Selection) bool { return !slices.Equal(s.Range().Shape(), shape) }) {
		return nil, 0, false
	}
	axis, ok = w.dimension(len(shape) + more)
	return port.Sel, axis, ok
}

// stacked stacks selections of one shape by as many as one kernel may, along a new dimension.
func (w *wide) stacked(sel []ir.Selection, axis int) []ir.Selection {
	var parts []ir.Selection
	for part := range slices.Chunk(sel, mostParts) {
		shape := slices.Insert(slices.Clone(part[0].Range().Shape()), axis, int64(len(part)))
		stack := w.made("op:stack", ir.PortsOf([]ir.Port{{Name: "tensors", Sel: slices.Clone(part)}}), axisAttr(axis), shape, part[0])
		parts = append(parts, stack.op.Outputs.At(0).Sel...)
	}
	return parts
}

// axis gives the dimension that an operation's parameter of that name says, of selections of one rank.
func (w *wide) axis(sel []ir.Selection) (int, bool) {
	rank := sel[0].Range().Rank()
	if slices.ContainsFunc(sel, func(s ir.Selection) bool { return s.Range().Rank() != rank }) {
		return 0, false
	}
	return w.dimension(rank)
}

// dimension gives what the parameter axis says of so many dimensions.
func (w *wide) dimension(rank int) (int, bool) {
	v, given := w.op.Params.Get("axis")
	if !given {
		return 0, rank > 0
	}
	if v.Kind != ir.AttrInt || v.Int < int64(-rank) || v.Int >= int64(rank) {
		return 0, false
	}
	return (int(v.Int) + rank) % rank, true
}

// split makes each part a slice.
func (w *wide) split() bool {
	in, out := w.op.Inputs.Get("tensor"), w.op.Outputs.Get("parts")
	if in == nil || out == nil || len(in.Sel) != 1 || len(out.Sel) <= mostParts || w.op.Inputs.Len()+w.op.Outputs.Len() != 2 {
		return false
	}
	axis, ok := w.axis(append(slices.Clone(in.Sel), out.Sel...))
	value, _ := w.op.Params.Get("sizes")
	sizes, known := value.Ints()
	if !ok || !known || len(sizes) != len(out.Sel) {
		return false
	}
	whole, total := in.Sel[0].Range().Shape(), int64(0)
	for i, s := range out.Sel {
		want := slices.Clone(whole)
		want[axis] = sizes[i]
		if total += sizes[i]; !slices.Equal(want, s.Range().Shape()) || total > whole[axis] {
			return false
		}
	}
	if total != whole[axis] {
		return false
	}
	starts := make([]int64, len(whole))
	for i, s := range out.Sel {
		params := ir.Attrs{{Name: "lengths", Value: ir.IntsAttr(s.Range().Shape()...)}, {Name: "starts", Value: ir.IntsAttr(starts...)}}
		w.from(w.g.Add(&tensorops.Operation{Kernel: "op:slice", Params: params, Inputs: ir.PortsOf([]ir.Port{{Name: "tensor", Sel: slices.Clone(in.Sel)}}),
			Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{s}}})}, ""))
		starts[axis] += sizes[i]
	}
	w.g.Remove(w.n.ID)
	return true
}

package propagate

import (
	"slices"

	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// link finds the operands of an operation and how its index goes along them.
func (p *propagation) link(o *operation, op *tensorops.Operation) error {
	sig, reads := tensorops.SignatureOf(o.n), tensorops.ReadsOf(o.n)
	wide, err := p.reduces(o)
	if err != nil {
		return err
	}
	for _, side := range []struct {
		out   bool
		ports ir.Ports
		maps  ir.PortMaps
		reads *tensorops.Reads
	}{{true, op.Outputs, sig.Outputs, nil}, {false, op.Inputs, sig.Inputs, reads}} {
		var fault error
		side.ports.All(func(port, entry int, s *ir.Selection) {
			name := side.ports.At(port).Name
			maps := side.maps.Get(name)
			if fault != nil || maps == nil || entry >= len(maps.Maps) {
				return
			}
			x := operand{out: side.out, port: name, entry: entry, sel: *s}
			x.boxOf = func(block zspace.Range) (zspace.Range, error) {
				if m := wide.Get(name); !side.out && m != nil && !whole(block, o.box, o.rank) {
					return m.Maps[entry].Apply(block)
				}
				return side.reads.Selects(name, entry, maps.Maps[entry], zspace.Range{Start: block.Start[:o.rank], End: block.End[:o.rank]})
			}
			x.dims, fault = p.goesAlong(o, &x)
			o.operands = append(o.operands, x)
		})
		if fault != nil {
			return fault
		}
	}
	return nil
}

// goesAlong says which dimensions of an operation that carry axes go along those of an operand's tensor. A selection of a part of a tensor has none, since its cuts
// are not the tensor's.
func (p *propagation) goesAlong(o *operation, x *operand) ([]int, error) {
	box := x.sel.Range()
	if !box.Equal(p.tensors[x.sel.Tensor].box) {
		return slices.Repeat([]int{-1}, box.Rank()), nil
	}
	dims, err := Along(o.box, box.Rank(), x.boxOf)
	for k, j := range dims {
		if j >= 0 && !o.carries[j] {
			dims[k] = -1
		}
	}
	return dims, err
}

// Along cuts an index in two along each dimension: a dimension of a tensor along which the second half selects what lies behind what the first does
// belongs to it. It gives for each dimension of a tensor of a rank that of the index, or -1.
func Along(index zspace.Range, rank int, boxOf func(block zspace.Range) (zspace.Range, error)) ([]int, error) {
	dims := slices.Repeat([]int{-1}, rank)
	if index.Empty() {
		return dims, nil
	}
	for j := range index.Start {
		if index.End[j]-index.Start[j] < 2 {
			continue
		}
		low, high := index.Clone(), index.Clone()
		low.End[j] = index.Start[j] + (index.End[j]-index.Start[j])/2
		high.Start[j] = low.End[j]
		a, err := boxOf(low)
		if err != nil {
			return nil, err
		}
		b, err := boxOf(high)
		if err != nil {
			return nil, err
		}
		if a.Empty() || b.Empty() {
			continue
		}
		for k := range dims {
			if dims[k] < 0 && a.Start[k] < b.Start[k] && a.End[k] < b.End[k] {
				dims[k] = j
				break // an axis cuts a tensor once
			}
		}
	}
	return dims, nil
}

// whole says whether a block has all of the dimensions from a number on.
func whole(block, box zspace.Range, from int) bool {
	return slices.Equal(block.Start[from:], box.Start[from:]) && slices.Equal(block.End[from:], box.End[from:])
}

// reduces adds the dimensions that an operation reduces to its box, and gives what it reads at points of the index and these. Those carry axes
// that give partial results which may be combined in any order, all by one operator, and by which the operation can be cut.
func (p *propagation) reduces(o *operation) (ir.PortMaps, error) {
	o.carries = slices.Repeat([]bool{true}, o.rank)
	in, err := p.lib.BindOperation(p.g, o.n.ID)
	if err != nil || !in.Index().Equal(o.box) {
		return nil, nil // no kernel that is known, or with an index of its own
	}
	o.in = in
	tag, err := reduced.Of(in)
	if tag == nil || err != nil {
		return nil, err
	}
	for i, d := range reduced.Dims(in) {
		o.box.Start, o.box.End = append(o.box.Start, 0), append(o.box.End, tag.Dimensions[i].Extent)
		o.names = append(o.names, tag.Dimensions[i].Name)
		by, ok := reduced.Partial(in, d)
		if !ok {
			by, ok = reduced.Beside(in, d)
		}
		result := tensorops.TensorOf(p.g, in.Operands[in.Statements[stored(in)].Store].Sel.Tensor).Type()
		if !ok {
			if by, ok = reduced.Once(in, d); ok {
				o.wide = result.Wide().Size() / max(result.Size(), 1)
			}
		}
		ok = ok && (o.combine == scalar.NoOp || o.combine == by)
		if ok && reduced.Ordered(by, result) && !p.allow.Has(permission.Reassociate) {
			ok, o.ordered = false, true
		}
		if ok = ok && p.split != nil && tag.Dimensions[i].Extent > 1 && p.splits(o, cut.Level{Names: []string{tag.Dimensions[i].Name}, Parts: []cut.Part{{Count: 2}}}); ok {
			o.combine = by
		}
		o.carries = append(o.carries, ok)
	}
	return tag.Inputs, nil
}

// stored gives the number of a statement that stores a result.
func stored(in *instance.Instance) int {
	return slices.IndexFunc(in.Statements, func(s instance.Statement) bool { return s.Store >= 0 })
}

// splits tries on a graph of the operation alone whether it can be cut so along what it reduces. (What can be cut in two can not always be in three: a part of a
// window may be one that its kernel slides otherwise.)
func (p *propagation) splits(o *operation, l cut.Level) bool {
	g, n := alone(p.g, o.n)
	parts, _, err := p.split(g, p.lib, p.allow, n, cut.Cut{Levels: []cut.Level{l}})
	return err == nil && len(parts) > 1
}

// level says how an operation is cut along its dimensions from a number on.
func (p *propagation) level(o *operation, from int) (l cut.Level) {
	for j, axes := range o.axes {
		if n := p.plan.Mesh.Parts(axes); n > 1 && j >= from {
			l.Names, l.Parts = append(l.Names, o.names[j]), append(l.Parts, cut.Part{Count: n})
		}
	}
	return l
}

// alone gives a graph of an operation and its tensors.
func alone(from *ir.Graph, n *ir.Node) (*ir.Graph, *ir.Node) {
	g, ids := ir.New(), map[ir.NodeID]ir.NodeID{}
	op := *n.Body.(*tensorops.Operation)
	side := func(ports ir.Ports) ir.Ports {
		ports = ports.Clone()
		ports.All(func(_, _ int, s *ir.Selection) {
			if _, ok := ids[s.Tensor]; !ok {
				t := *tensorops.TensorOf(from, s.Tensor)
				ids[s.Tensor] = g.Add(&t, "").ID
			}
			s.Tensor = ids[s.Tensor]
		})
		return ports
	}
	op.Inputs, op.Outputs = side(op.Inputs), side(op.Outputs)
	return g, g.Add(&op, "")
}

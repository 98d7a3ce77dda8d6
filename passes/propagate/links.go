package propagate

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// operand is a selection of an operation. Dims says for each dimension of the tensor which dimension of the index goes along it, or -1.
type operand struct {
	out   bool
	port  string
	entry int
	sel   ir.Selection
	boxOf func(block zspace.Range) (zspace.Range, error) // what a block of the index selects
	dims  []int
}

// link finds the operands of an operation and how its index goes along them.
func (p *propagation) link(o *operation, op *tensorops.Operation) error {
	sig, reads := tensorops.SignatureOf(o.n), tensorops.ReadsOf(o.n)
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
				return side.reads.Selects(name, entry, maps.Maps[entry], block)
			}
			x.dims, fault = p.goesAlong(o.index, &x)
			o.operands = append(o.operands, x)
		})
		if fault != nil {
			return fault
		}
	}
	return nil
}

// goesAlong says which dimensions of an index go along those of an operand's tensor. A selection of a part of a tensor has none, since its cuts are not the tensor's.
func (p *propagation) goesAlong(index zspace.Range, x *operand) ([]int, error) {
	box := x.sel.Range()
	if !box.Equal(p.tensors[x.sel.Tensor].box) {
		return slices.Repeat([]int{-1}, box.Rank()), nil
	}
	return Along(index, box.Rank(), x.boxOf)
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

// place puts an annotation on a tensor's layout.
func (p *propagation) place(i int, l *layout, refuse func(expected, found string) error) error {
	a := p.plan.Tensors[i].Layout
	if len(a.Dims) != len(l.dims) {
		return refuse(fmt.Sprintf("dims of %d dimensions", len(l.dims)), fmt.Sprint(len(a.Dims)))
	}
	for k, axes := range a.Dims {
		if n := p.plan.Mesh.Parts(axes); n > max(1, l.box.End[k]-l.box.Start[k]) {
			return refuse(fmt.Sprintf("at most %d parts of dimension %d", l.box.End[k]-l.box.Start[k], k), fmt.Sprint(n))
		}
		l.dims[k], l.open[k] = slices.Clone(axes), a.Open[k]
		for _, x := range axes {
			l.by[x] = i
		}
	}
	l.annotated = i + 1
	return nil
}

// spread carries axes on, forwards and backwards, until nothing changes.
func (p *propagation) spread(upto int64) {
	for changed := true; changed; {
		changed = false
		for _, o := range p.ops {
			changed = p.step(o, upto) || changed
		}
		for _, o := range slices.Backward(p.ops) {
			changed = p.step(o, upto) || changed
		}
	}
}

// step carries axes from the tensors of an operation to its index, and from there to its tensors.
func (p *propagation) step(o *operation, upto int64) (changed bool) {
	for i := range o.operands {
		x := &o.operands[i]
		l := p.tensors[x.sel.Tensor]
		for k, j := range x.dims {
			if j < 0 {
				continue
			}
			for n, a := range l.dims[k] {
				if p.plan.Tensors[l.by[a]].Priority > upto || !p.add(&o.axes[j], o.axes, l.dims[k][:n+1], o.index.End[j]-o.index.Start[j]) {
					continue
				}
				o.by[a], changed = l.by[a], true
			}
		}
	}
	for i := range o.operands {
		x := &o.operands[i]
		l := p.tensors[x.sel.Tensor]
		for k, j := range x.dims {
			if j < 0 || !l.open[k] {
				continue
			}
			for n, a := range o.axes[j] {
				if p.add(&l.dims[k], l.dims, o.axes[j][:n+1], l.box.End[k]-l.box.Start[k]) {
					l.by[a], changed = o.by[a], true
				}
			}
		}
	}
	return changed
}

// add adds the last of some axes to a dimension that has those before it, if the axis is nowhere else yet and leaves each part a cell.
func (p *propagation) add(dim *planfile.Axes, all []planfile.Axes, axes planfile.Axes, extent int64) bool {
	n := len(axes) - 1
	if len(*dim) != n || !slices.Equal(*dim, axes[:n]) || p.plan.Mesh.Parts(axes) > extent {
		return false
	}
	if slices.ContainsFunc(all, func(x planfile.Axes) bool { return slices.Contains(x, axes[n]) }) {
		return false
	}
	*dim = slices.Clone(axes)
	return true
}

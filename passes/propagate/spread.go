package propagate

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/application/planfile"
)

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
	l.partial, l.annotated = slices.Clone(p.plan.Tensors[i].Partial), i+1
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

// step carries axes from the tensors of an operation to its dimensions, and from there to its tensors.
func (p *propagation) step(o *operation, upto int64) (changed bool) {
	for i := range o.operands {
		x := &o.operands[i]
		l := p.tensors[x.sel.Tensor]
		for k, j := range x.dims {
			if j < 0 {
				continue
			}
			for n, a := range l.dims[k] {
				if p.plan.Tensors[l.by[a]].Priority > upto || !p.add(&o.axes[j], o.axes, l.dims[k][:n+1], o.box.End[j]-o.box.Start[j]) {
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

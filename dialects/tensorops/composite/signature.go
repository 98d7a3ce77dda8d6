package composite

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Derived is the signature of a definition, as it follows from those of its steps, in the coordinates of its values: an index, the maps of the ports, and how a block of
// the index cuts each step. A dimension of the index is one of every output, along which the steps that have it are cut in disjoint parts, each of which needs
// nothing of what the others compute; steps without it are carried out once for all.
type Derived struct {
	Index           zspace.Range // from 0
	Names           []string     // of its dimensions
	Others          []Other      // dimensions of the first output that are none of the index
	Inputs, Outputs ir.PortMaps
	steps           []stepCut
}

// Other is a dimension of the first output that is none of the index, and why.
type Other struct {
	Name   string
	Extent int64
	Why    string
}

// stepCut is the index of a step, and for each of its dimensions that of the definition's index that cuts it, or -1.
type stepCut struct {
	index zspace.Range
	by    []int
}

// Block gives the part of a step's index that a block of the definition's index needs.
func (d *Derived) Block(step int, block zspace.Range) zspace.Range {
	s := d.steps[step]
	out := s.index.Clone()
	for i, by := range s.by {
		if by >= 0 {
			out.Start[i], out.End[i] = block.Start[by], block.End[by]
		}
	}
	return out
}

// Derive gives the signature of a definition, which keeps its constraint; all are the definitions of its graph. An error is that of a step that does not fit its kernel.
func Derive(lib *kernels.Library, d *definition.Definition, all map[string]*definition.Definition) (*Derived, error) {
	x := &deriver{d: d, in: Graph(d, all), made: map[string]bool{}}
	for i := range d.Steps {
		s, err := signatureOf(lib, x.in, i, all)
		if err != nil {
			return nil, err
		}
		x.steps = append(x.steps, s)
		for _, m := range d.Steps[i].Makes {
			x.made[m.Value] = true
		}
	}
	return x.derive(), nil
}

// signed is the signature of a step: its index, the names of the dimensions, and the maps of its uses and results in their order.
type signed struct {
	index       zspace.Range
	names       []string
	uses, makes []zspace.ProjectionMap
}

// signatureOf gives the signature of a step. One that has none is carried out whole.
func signatureOf(lib *kernels.Library, in *Inside, step int, all map[string]*definition.Definition) (signed, error) {
	id := in.Steps[step]
	op := tensorops.OperationOf(in.Graph, id)
	var inputs, outputs ir.PortMaps
	var s signed
	if name, ok := definition.Used(op.Kernel); ok {
		inner, err := Derive(lib, all[name], all)
		if err != nil {
			return s, err
		}
		s.index, s.names = inner.Index, inner.Names
		inputs, outputs = inner.maps(op, all[name])
	} else if !op.IsSource() {
		i, err := lib.BindOperation(in.Graph, id)
		if err != nil {
			return s, err
		}
		if inputs, outputs, err = i.Signature(); err != nil {
			return s, err
		}
		s.index = i.Index()
		for _, d := range i.Dims {
			if d.Index {
				s.names = append(s.names, d.Name)
			}
		}
	}
	list := func(ports ir.Ports, maps ir.PortMaps) map[string][]zspace.ProjectionMap {
		out := map[string][]zspace.ProjectionMap{}
		ports.All(func(i, entry int, sel *ir.Selection) {
			name, m := ports.At(i).Name, whole(sel.Range(), s.index.Rank())
			if of := maps.Get(name); of != nil && entry < len(of.Maps) {
				m = of.Maps[entry]
			}
			out[name] = append(out[name], m)
		})
		return out
	}
	ofUses, ofMakes := list(op.Inputs, inputs), list(op.Outputs, outputs)
	take := func(from map[string][]zspace.ProjectionMap, port string) zspace.ProjectionMap {
		m := from[port][0]
		from[port] = from[port][1:]
		return m
	}
	for _, u := range in.steps[step].Inputs {
		s.uses = append(s.uses, take(ofUses, u.Port))
	}
	for _, m := range in.steps[step].Makes {
		s.makes = append(s.makes, take(ofMakes, m.Port))
	}
	return s, nil
}

// whole maps every point of an index to all of a box.
func whole(box zspace.Range, rank int) zspace.ProjectionMap {
	m := zspace.ProjectionMap{AffineMap: zspace.AffineMap{Projection: zspace.Matrix{}, Offset: box.Start.Clone()}, Shape: box.Shape()}
	for range box.Start {
		m.AffineMap.Projection = append(m.AffineMap.Projection, make([]int64, rank))
	}
	return m
}

// maps gives the maps of an operation that uses the definition: where it selects begins elsewhere than inside.
func (d *Derived) maps(op *tensorops.Operation, of *definition.Definition) (inputs, outputs ir.PortMaps) {
	in, out := of.Ports()
	shift := func(ports ir.Ports, formals []definition.Formal, maps ir.PortMaps) (list ir.PortMaps) {
		for _, p := range ports.Each() {
			i := slices.IndexFunc(formals, func(f definition.Formal) bool { return f.Port == p.Name })
			m := maps.Get(p.Name).Maps[0]
			m.AffineMap.Offset = m.AffineMap.Offset.Clone()
			for k := range m.AffineMap.Offset {
				m.AffineMap.Offset[k] += p.Sel[0].Range().Start[k] - formals[i].Range.Start[k]
			}
			list = append(list, ir.NamedMaps{Name: p.Name, Maps: []zspace.ProjectionMap{m}})
		}
		return list
	}
	return shift(op.Inputs, in, d.Inputs), shift(op.Outputs, out, d.Outputs)
}

// deriver finds the dimensions of a definition's index.
type deriver struct {
	d     *definition.Definition
	in    *Inside
	steps []signed
	made  map[string]bool // by steps
}

func (x *deriver) box(value string) zspace.Range {
	return tensorops.TensorOf(x.in.Graph, x.in.Values[value]).Range
}

// need is which part of a value a point of one dimension of the index needs: along dimension at from coef·point + lo to coef·point + hi, inclusive; all of it for at -1.
type need struct {
	at           int
	coef, lo, hi int64
}

var everything = need{at: -1}

// reads gives what a map reads of a value at a point of one dimension of its index.
func reads(m zspace.ProjectionMap, dim int) need {
	n := everything
	for t, row := range m.AffineMap.Projection {
		if row[dim] == 0 {
			continue
		}
		for other, a := range row {
			if other != dim && a != 0 {
				return everything
			}
		}
		if n.at >= 0 {
			return everything
		}
		n = need{t, row[dim], m.AffineMap.Offset[t], m.AffineMap.Offset[t] + m.Shape[t] - 1}
	}
	return n
}

// exact says whether the points of a dimension of some extent need a value's cells along a dimension one for one, all of them in order.
func (n need) exact(box zspace.Range, extent int64) bool {
	return n.at >= 0 && n.coef == 1 && n.lo == n.hi && n.lo == box.Start[n.at] && box.End[n.at]-box.Start[n.at] == extent
}

// with joins two needs of one value.
func (n need) with(m need) need {
	if n.at != m.at || n.coef != m.coef {
		return everything
	}
	return need{n.at, n.coef, min(n.lo, m.lo), max(n.hi, m.hi)}
}

// derive tries each dimension of the first output.
func (x *deriver) derive() *Derived {
	out := &Derived{}
	for _, s := range x.steps {
		out.steps = append(out.steps, stepCut{s.index, slices.Repeat([]int{-1}, s.index.Rank())})
	}
	rows := map[string][]need{} // of each port, by dimension of the index
	first := x.d.Outputs[0].Value
	for t := range x.box(first).Start {
		c := x.along(first, t)
		if c.why != "" {
			out.Others = append(out.Others, Other{c.name, c.extent, c.why})
			continue
		}
		if slices.Contains(out.Names, c.name) {
			c.name = fmt.Sprintf("d%d", len(out.Names))
		}
		out.Index.Start, out.Index.End, out.Names = append(out.Index.Start, 0), append(out.Index.End, c.extent), append(out.Names, c.name)
		for i, d := range c.dims {
			if d >= 0 {
				out.steps[i].by[d] = len(out.Names) - 1
			}
		}
		for _, f := range x.d.Inputs {
			rows["<"+f.Port] = append(rows["<"+f.Port], c.needs[f.Port])
		}
		for _, o := range x.d.Outputs {
			rows[">"+o.Port] = append(rows[">"+o.Port], c.needs[o.Value])
		}
	}
	for _, f := range x.d.Inputs {
		out.Inputs = append(out.Inputs, ir.NamedMaps{Name: f.Port, Maps: []zspace.ProjectionMap{project(f.Range, rows["<"+f.Port], out.Index)}})
	}
	for _, o := range x.d.Outputs {
		out.Outputs = append(out.Outputs, ir.NamedMaps{Name: o.Port, Maps: []zspace.ProjectionMap{project(x.box(o.Value), rows[">"+o.Port], out.Index)}})
	}
	return out
}

// project makes the map of a port from what each dimension of the index needs of it. Where two need the same dimension, or part of what one needs is beside the box, it is all of it.
func project(box zspace.Range, rows []need, index zspace.Range) zspace.ProjectionMap {
	m := whole(box, index.Rank())
	taken := map[int]int{}
	for _, n := range rows {
		taken[n.at]++
	}
	for d, n := range rows {
		if n.at < 0 || taken[n.at] > 1 {
			continue
		}
		last := max(0, index.End[d]-1)
		from, to := min(n.lo, n.coef*last+n.lo), max(n.hi, n.coef*last+n.hi)
		if from < box.Start[n.at] || to >= box.End[n.at] {
			continue
		}
		m.AffineMap.Projection[n.at][d], m.AffineMap.Offset[n.at] = n.coef, n.lo-(from-box.Start[n.at])
		m.Shape[n.at] = n.hi - n.lo + 1 + from - box.Start[n.at] + box.End[n.at] - 1 - to
	}
	return m
}

package kernels

import (
	"fmt"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Instance is a kernel applied to the selections of one operation: its loops, how each operand is read or written along
// them, and what is computed.
type Instance struct {
	Decl       *Decl
	Dims       []Dim // the dimensions of outputs come first, in the order of the first output
	Operands   []Operand
	Statements []Statement
}

// Dim is one dimension of an instance's iteration space, from 0 to Extent. Index says that it is a dimension of the index
// space: one that every output runs along and no result is folded along, so that it can be cut into shards.
type Dim struct {
	Name   string
	Extent int64
	Index  bool
}

// Operand is one selection of an instance. Access maps a point of all the Dims to a coordinate of the tensor.
type Operand struct {
	Decl   *OperandDecl
	Entry  int    // which selection of the port
	Port   string // the name that the operation uses
	Sel    ir.Selection
	Type   scalar.DType
	Access zspace.AffineMap
}

// Statement computes Value at every point of the dims in Over; Store is the operand it is written to, or -1 for a local value.
type Statement struct {
	Name  string
	Over  []int
	Store int
	Value *scalar.Expr
}

// Index is the box of the instance's index space, from 0.
func (in *Instance) Index() zspace.Range {
	var r zspace.Range
	for _, d := range in.Dims {
		if d.Index {
			r.Start = append(r.Start, 0)
			r.End = append(r.End, d.Extent)
		}
	}
	return r
}

// Box is the box of all the instance's dims.
func (in *Instance) Box() zspace.Range {
	r := zspace.Range{Start: make(zspace.Point, len(in.Dims)), End: make(zspace.Point, len(in.Dims))}
	for i, d := range in.Dims {
		r.End[i] = d.Extent
	}
	return r
}

// Signature derives the polyhedral signature: for each operand, the map from a point of the index space to the box of the
// tensor that the point reads or writes. An error is an overflow.
func (in *Instance) Signature() (inputs, outputs ir.PortMaps, err error) {
	for _, o := range in.Operands {
		m, err := in.projection(o)
		if err != nil {
			return nil, nil, err
		}
		side := &inputs
		if o.Decl.Out {
			side = &outputs
		}
		if p := side.Get(o.Port); p != nil {
			p.Maps = append(p.Maps, m)
		} else {
			*side = append(*side, ir.NamedMaps{Name: o.Port, Maps: []zspace.ProjectionMap{m}})
		}
	}
	sortMaps(inputs)
	sortMaps(outputs)
	return inputs, outputs, nil
}

func sortMaps(p ir.PortMaps) {
	for i := 1; i < len(p); i++ {
		for j := i; j > 0 && p[j].Name < p[j-1].Name; j-- {
			p[j], p[j-1] = p[j-1], p[j]
		}
	}
}

// projection splits an operand's access into the part along index dims and the box that the other dims span.
func (in *Instance) projection(o Operand) (zspace.ProjectionMap, error) {
	k := o.Access.Projection.Rows()
	m := zspace.AffineMap{Projection: make(zspace.Matrix, k)}
	lo := zspace.Range{Start: make(zspace.Point, len(in.Dims)), End: make(zspace.Point, len(in.Dims))}
	for j, d := range in.Dims {
		lo.End[j] = d.Extent
		if d.Index {
			lo.End[j] = 1
			for i := range k {
				m.Projection[i] = append(m.Projection[i], o.Access.Projection[i][j])
			}
		}
	}
	for i := range m.Projection {
		if m.Projection[i] == nil {
			m.Projection[i] = []int64{}
		}
	}
	box := zspace.ProjectionMap{AffineMap: o.Access, Shape: ones(k)}
	span, err := box.Apply(lo)
	if err != nil {
		return zspace.ProjectionMap{}, err
	}
	m.Offset = span.Start
	return zspace.ProjectionMap{AffineMap: m, Shape: span.Shape()}, nil
}

func ones(k int) zspace.Point {
	p := make(zspace.Point, k)
	for i := range p {
		p[i] = 1
	}
	return p
}

// Restrict gives the box of all dims that computes the given boxes of the output operands, in operand order. Every output
// box must be the product of a range along each of its dims; dims that are not index dims must be whole.
func (in *Instance) Restrict(outputs []zspace.Range) (zspace.Range, error) {
	box := in.Box()
	n := 0
	for _, o := range in.Operands {
		if !o.Decl.Out {
			continue
		}
		if n >= len(outputs) || outputs[n].Rank() != o.Access.Projection.Rows() {
			return box, fmt.Errorf("output %s[%d]: the shard has no box of rank %d for it", o.Port, o.Entry, o.Access.Projection.Rows())
		}
		if err := in.restrictTo(&box, o, outputs[n]); err != nil {
			return box, err
		}
		n++
	}
	return box, nil
}

func (in *Instance) restrictTo(box *zspace.Range, o Operand, out zspace.Range) error {
	for i, row := range o.Access.Projection {
		for j, a := range row {
			if a == 0 {
				continue
			}
			start, end := out.Start[i]-o.Access.Offset[i], out.End[i]-o.Access.Offset[i]
			if !in.Dims[j].Index && (start != 0 || end != in.Dims[j].Extent) {
				return fmt.Errorf("output %s[%d] is cut along %s, which %s can not be sharded along", o.Port, o.Entry, in.Dims[j].Name, in.Decl.Name)
			}
			box.Start[j], box.End[j] = start, end
		}
	}
	return nil
}

// Reads gives the box of an operand that the instance reads or writes when its dims are restricted to box.
func (in *Instance) Reads(operand int, box zspace.Range) (zspace.Range, error) {
	o := in.Operands[operand]
	return zspace.ProjectionMap{AffineMap: o.Access, Shape: ones(o.Access.Projection.Rows())}.Apply(box)
}

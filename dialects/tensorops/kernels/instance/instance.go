// Package instance holds kernels that are applied to the selections of an operation: loops, accesses and statements, and what follows from
// them: the polyhedral signature, what is read exactly, the box that computes a shard, the work.
//
// How an instance is made of a declaration and a call is in dialects/tensorops/kernels/bind, which this package must not import. Read next:
// signature.go.
package instance

import (
	"cmp"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/reads"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Instance is a kernel applied to the selections of one operation: its loops, how each operand is read or written along
// them, and what is computed.
type Instance struct {
	Decl       *declaration.Kernel
	Dims       []Dim // the dimensions of outputs come first, in the order of the first output
	Operands   []Operand
	Statements []Statement
	Params     map[string]ir.AttrValue // all that the call has, defaults included, lists with one number for each dimension
	derived    reads.Derived           // what is read, once it was asked for
	Graph      *ir.Graph               // that has its constants, or nil
	Cost       int64                   // what the declaration's cost clause gives, or -1
}

// Dim is one dimension of an instance's iteration space, from 0 to Extent. Index says that it is a dimension of the index
// space: one that every output runs along and no result is folded along, so that it can be cut into shards.
type Dim struct {
	Name   string
	Extent int64
	Index  bool
}

// Operand is one selection of an instance. Access maps a point of all the Dims to a coordinate of the tensor, which may lie
// outside the selection only where the body does not read it. A selection that the body reads in several ways is there once
// for each: all but the first are views.
type Operand struct {
	infer.Operand
	Access zspace.AffineMap
	View   bool
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

// RestrictTo gives the box of dims that computes a shard with the given output ports; see Restrict.
func (in *Instance) RestrictTo(outputs ir.Ports) (zspace.Range, error) {
	var boxes []zspace.Range
	for _, o := range in.Operands {
		if !o.Decl.Out {
			continue
		}
		var r zspace.Range
		if p := outputs.Get(o.Port); p != nil && o.Entry < len(p.Sel) {
			r = p.Sel[o.Entry].Range()
		}
		boxes = append(boxes, r)
	}
	return in.Restrict(boxes)
}

func (in *Instance) restrictTo(box *zspace.Range, o Operand, out zspace.Range) error {
	for i, row := range o.Access.Projection {
		start, end := out.Start[i]-o.Access.Offset[i], out.End[i]-o.Access.Offset[i]
		if err := in.restrictRow(box, o, row, start, end); err != nil {
			return err
		}
	}
	return nil
}

// restrictRow cuts the dims of one coordinate so that it goes from start to end: the dims are its digits, the one with the
// greatest factor first. A cut is a range of the first digit, or one value of it and a cut of the rest.
func (in *Instance) restrictRow(box *zspace.Range, o Operand, row []int64, start, end int64) error {
	var digits []int
	for j, a := range row {
		if a != 0 {
			digits = append(digits, j)
		}
	}
	slices.SortStableFunc(digits, func(j, k int) int { return cmp.Compare(row[k], row[j]) })
	for i, j := range digits {
		a, d := row[j], in.Dims[j]
		lo, hi := start/a, (end+a-1)/a
		whole := start%a == 0 && end%a == 0
		switch {
		case end <= start:
			lo, hi = 0, 0
		case !whole && hi-lo > 1 || i == len(digits)-1 && !whole:
			return fmt.Errorf("output %s[%d] is cut along %s into a part that is no box of the index", o.Port, o.Entry, d.Name)
		}
		if !d.Index && (lo != 0 || hi != d.Extent) {
			return fmt.Errorf("output %s[%d] is cut along %s, which %s can not be sharded along", o.Port, o.Entry, d.Name, in.Decl.Name)
		}
		box.Start[j], box.End[j] = lo, hi
		if whole {
			return nil // the other digits go through all their values
		}
		start, end = start-lo*a, end-lo*a
	}
	return nil
}

// Reads gives the box of an operand that the instance reads or writes when its dims are restricted to box.
func (in *Instance) Reads(operand int, box zspace.Range) (zspace.Range, error) {
	o := in.Operands[operand]
	r, err := zspace.ProjectionMap{AffineMap: o.Access, Shape: ones(o.Access.Projection.Rows())}.Apply(box)
	if err != nil || o.Decl.Out {
		return r, err
	}
	return clipTo(r, o.Sel.Range()), nil
}

func ones(k int) zspace.Point {
	p := make(zspace.Point, k)
	for i := range p {
		p[i] = 1
	}
	return p
}

// clipTo gives the part of a box inside another; an empty one lies at the other's border.
func clipTo(r, in zspace.Range) zspace.Range {
	out := r.Clone()
	for i := range out.Start {
		out.Start[i] = min(max(out.Start[i], in.Start[i]), in.End[i])
		out.End[i] = max(out.Start[i], min(out.End[i], in.End[i]))
	}
	return out
}

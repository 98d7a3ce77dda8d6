package foreign

import (
	"encoding/base64"
	"math"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// maxListed bounds the elements of a constant that is written as lists of numbers.
const maxListed = 256

// Params says where a constant's value is: in a file, or in the graph as numbers or, when there are many, as bytes.
func (d *Data) Params() (ir.Attrs, error) {
	if d.File != "" && d.Len() > maxListed {
		return ir.Attrs{{Name: "file", Value: ir.StringAttr(d.File)}, {Name: "offset", Value: ir.IntAttr(d.Offset)}}, nil
	}
	raw, err := d.Read()
	if err != nil {
		return nil, err
	}
	if d.Len() <= maxListed {
		if v, ok := listed(d.DType, d.Shape, raw); ok {
			return ir.Attrs{{Name: "value", Value: v}}, nil
		}
	}
	return ir.Attrs{{Name: "bytes", Value: ir.StringAttr(base64.StdEncoding.EncodeToString(raw))}}, nil
}

// listed writes elements as lists nested as the shape; ok is false for numbers that the forms of a graph can not write.
func listed(d scalar.DType, shape []int64, raw []byte) (ir.AttrValue, bool) {
	if len(shape) == 0 {
		v := scalar.Decode(d, raw)
		switch {
		case d.IsBool():
			return ir.BoolAttr(v.I != 0), true
		case d.IsInt():
			return ir.IntAttr(v.I), d != scalar.UInt64 || v.I >= 0
		}
		return ir.FloatAttr(v.F), d.IsFloat() && !math.IsNaN(v.F) && !math.IsInf(v.F, 0)
	}
	out := ir.AttrValue{Kind: ir.AttrList, List: []ir.AttrValue{}}
	step := int(Elements(shape[1:])) * d.Size()
	for i := range int(shape[0]) {
		v, ok := listed(d, shape[1:], raw[i*step:])
		if !ok {
			return out, false
		}
		out.List = append(out.List, v)
	}
	return out, true
}

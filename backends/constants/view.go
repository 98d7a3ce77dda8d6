package constants

import (
	"encoding/binary"
	"fmt"
	"math"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
)

// view loads what a constant reads and picks its elements. Both are in memory for that time, nothing else.
func (l *Loader) view(c tensorops.Const, t *tensorops.Tensor) (tensorfile.Tensor, error) {
	v := *c.View
	shape := t.Range.Shape()
	r, err := zspace.FromShape(v.Shape...)
	if err == nil {
		err = v.Check(shape)
	}
	if err != nil {
		return tensorfile.Tensor{}, err
	}
	c.View = nil
	from, err := l.Load(c, &tensorops.Tensor{DType: v.DType.String(), Range: r})
	if err != nil {
		return from, err
	}
	n, err := t.Range.Size()
	if err != nil || t.Type() == scalar.Invalid || n > maxRaw {
		return from, fmt.Errorf("%s%v: expected at most %d elements of a known dtype", t.DType, shape, int64(maxRaw))
	}
	out := tensorfile.Tensor{DType: t.Type(), Shape: shape, Data: make([]byte, n*int64(t.Type().Size()))}
	if n > 0 {
		gather(out.Data, from.Data, shape, v, converter(v.DType, out.DType))
	}
	return out, nil
}

// gather goes through the elements of a view in row-major order. Each converts one element, or whole runs that lie together.
func gather(to, from []byte, shape []int64, v tensorops.View, each conversion) {
	rank := len(shape)
	inner, step := int64(1), int64(1)
	if rank > 0 {
		inner, step = shape[rank-1], v.Strides[rank-1]
	}
	point := make([]int64, rank)
	for at, done := v.Start, 0; ; {
		done += each(to[done:], from, at, step, inner)
		k := rank - 2
		for ; k >= 0; k-- {
			at += v.Strides[k]
			if point[k]++; point[k] < shape[k] {
				break
			}
			at -= v.Strides[k] * shape[k]
			point[k] = 0
		}
		if k < 0 {
			return
		}
	}
}

// conversion writes n elements that stand in from at an element's number and in steps, and gives the number of bytes written.
type conversion func(to, from []byte, at, step, n int64) int

func converter(from, to scalar.DType) conversion {
	size, wide := int64(from.Size()), int64(to.Size())
	_, narrow := from.Format()
	switch {
	case from == to:
		return func(out, in []byte, at, step, n int64) int {
			if step == 1 {
				return copy(out, in[at*size:(at+n)*size])
			}
			for i := range n {
				copy(out[i*size:(i+1)*size], in[(at+i*step)*size:])
			}
			return int(n * size)
		}
	case narrow && to == scalar.Float32: // by a table
		values := scalar.NarrowValues(from)
		return func(out, in []byte, at, step, n int64) int {
			for i := range n {
				code := uint16(in[(at+i*step)*size])
				if size == 2 {
					code = binary.LittleEndian.Uint16(in[(at+i*step)*size:])
				}
				binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(float32(values[code])))
			}
			return int(4 * n)
		}
	}
	return func(out, in []byte, at, step, n int64) int {
		for i := range n {
			scalar.Convert(scalar.Decode(from, in[(at+i*step)*size:]), to).Encode(out[i*wide:])
		}
		return int(n * wide)
	}
}

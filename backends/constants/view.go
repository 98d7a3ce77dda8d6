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
		gather(out.Data, from.Data, shape, v, int64(out.DType.Size()), converter(v.DType, out.DType))
	}
	return out, nil
}

// apart is how far apart elements stand that are not in one line of a cache, and chunk how many of them are read for one row before
// the next row, which often has their neighbours, is begun.
const apart, chunk = 16, 256

// gather goes through the elements of a view row by row, the last dimension being a row; each converts a run of one. Rows of elements
// that stand far apart are cut into chunks.
func gather(to, from []byte, shape []int64, v tensorops.View, size int64, each conversion) {
	last := len(shape) - 1
	inner, step := int64(1), int64(1)
	if last >= 0 {
		inner, step = shape[last], v.Strides[last]
	}
	part := inner
	if max(step, -step) > apart {
		part = chunk
	}
	point := make([]int64, max(0, last))
	for begin := int64(0); begin < inner; begin += part {
		n, at := min(part, inner-begin), v.Start+begin*step
		for row := int64(0); ; row++ {
			each(to[(row*inner+begin)*size:], from, at, step, n)
			k := last - 1
			for ; k >= 0; k-- {
				at += v.Strides[k]
				if point[k]++; point[k] < shape[k] {
					break
				}
				at -= v.Strides[k] * shape[k]
				point[k] = 0
			}
			if k < 0 {
				break
			}
		}
	}
}

// conversion writes n elements that stand in from at an element's number and in steps.
type conversion func(to, from []byte, at, step, n int64)

func converter(from, to scalar.DType) conversion {
	size, wide := int64(from.Size()), int64(to.Size())
	_, narrow := from.Format()
	switch {
	case from == to && size == 4:
		return func(out, in []byte, at, step, n int64) {
			if step == 1 {
				copy(out, in[at*4:(at+n)*4])
				return
			}
			for i := range n {
				binary.LittleEndian.PutUint32(out[4*i:], binary.LittleEndian.Uint32(in[(at+i*step)*4:]))
			}
		}
	case from == to:
		return func(out, in []byte, at, step, n int64) {
			if step == 1 {
				copy(out, in[at*size:(at+n)*size])
				return
			}
			for i := range n {
				copy(out[i*size:(i+1)*size], in[(at+i*step)*size:])
			}
		}
	case narrow && to == scalar.Float32: // by a table
		values := scalar.NarrowValues(from)
		return func(out, in []byte, at, step, n int64) {
			for i := range n {
				code := uint16(in[(at+i*step)*size])
				if size == 2 {
					code = binary.LittleEndian.Uint16(in[(at+i*step)*size:])
				}
				binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(float32(values[code])))
			}
		}
	}
	return func(out, in []byte, at, step, n int64) {
		for i := range n {
			scalar.Convert(scalar.Decode(from, in[(at+i*step)*size:]), to).Encode(out[i*wide:])
		}
	}
}

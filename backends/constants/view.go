package constants

import (
	"encoding/binary"
	"fmt"
	"math"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/view"
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
		gather(out.Data, from.Data, v.Along(shape), v, int64(out.DType.Size()), converter(v.DType, out.DType))
		if v.Scaling != nil {
			dequantize(out.Data, shape, *v.Scaling)
		}
	}
	return out, nil
}

// dequantize makes of float32 elements what the kernel of that name makes of the integers that they were converted from.
func dequantize(data []byte, shape []int64, x view.Scaling) {
	inner := int64(1) // elements of one place along the dimension
	if len(x.Scales) > 1 {
		for _, n := range shape[x.Along+1:] {
			inner *= n
		}
	} else {
		inner = int64(len(data)) / 4
	}
	for at, i := int64(0), 0; at < int64(len(data)); at, i = at+4*inner, i+1 {
		scale, zero := x.Scales[i%len(x.Scales)], float32(0)
		if len(x.Zeros) > 0 {
			zero = float32(x.Zeros[i%len(x.Zeros)])
		}
		for run := data[at : at+4*inner]; len(run) > 0; run = run[4:] {
			moved := math.Float32frombits(binary.LittleEndian.Uint32(run)) - zero
			binary.LittleEndian.PutUint32(run, math.Float32bits(moved*scale))
		}
	}
}

// apart is how far apart elements stand that are not in one line of a cache, and chunk how many of them are read for one row before
// the next row, which often has their neighbours, is begun.
const apart, chunk = 16, 256

// gather goes through the elements of a view row by row, the last dimension being a row; each converts a run of one. Rows of elements
// that stand far apart are cut into chunks.
func gather(to, from []byte, shape []int64, v view.View, size int64, each conversion) {
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
	case from == scalar.Int8 && to == scalar.Float32:
		return func(out, in []byte, at, step, n int64) {
			for i := range n {
				binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(float32(int8(in[at+i*step]))))
			}
		}
	case from == scalar.UInt8 && to == scalar.Float32:
		return func(out, in []byte, at, step, n int64) {
			for i := range n {
				binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(float32(in[at+i*step])))
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

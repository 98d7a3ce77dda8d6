package constants_test

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/view"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// An element of a view is the stored element that its strides lead to, in rows that are longer than what is read at once too.
func TestView(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(1, 5), 0, 2).Draw(t, "shape")
		if rapid.Bool().Draw(t, "a long row") {
			shape = append(shape, rapid.Int64Range(250, 600).Draw(t, "row"))
		}
		v := view.View{DType: scalar.UInt16, Strides: make([]int64, len(shape))}
		least, most := int64(0), int64(0)
		for i, n := range shape {
			v.Strides[i] = rapid.Int64Range(-40, 40).Draw(t, "stride")
			d := v.Strides[i] * (n - 1)
			least, most = least+min(0, d), most+max(0, d)
		}
		v.Start, v.Shape = -least, []int64{most - least + 1}
		data := make([]byte, 2*v.Shape[0])
		for i := range v.Shape[0] {
			binary.LittleEndian.PutUint16(data[2*i:], uint16(i))
		}
		to := rapid.SampledFrom([]scalar.DType{scalar.UInt16, scalar.Int32, scalar.Float32}).Draw(t, "to")
		c := tensorops.Const{Raw: true, Bytes: base64.StdEncoding.EncodeToString(data), View: &v}
		x, err := new(constants.Loader).Load(c, &tensorops.Tensor{DType: to.String(), Range: zspace.MustShape(shape...)})
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for p := range zspace.MustShape(shape...).Points() {
			at := v.Start
			for k, n := range p {
				at += v.Strides[k] * n
			}
			if got := scalar.Decode(to, x.Data[i:]); got.Float() != float64(uint16(at)) {
				t.Fatalf("the element at %v is %v, want %d", p, got, uint16(at))
			}
			i += to.Size()
		}
	})
}

func TestViewOutside(t *testing.T) {
	for _, v := range []view.View{
		{Start: 0, Strides: []int64{2}}, {Start: -1, Strides: []int64{1}}, {Start: 1, Strides: []int64{-1}}, {Start: 0, Strides: []int64{1 << 62}},
		{Start: 1 << 62, Strides: []int64{1}}, {Start: 0, Strides: []int64{1, 1}},
	} {
		v.DType, v.Shape = scalar.UInt8, []int64{4}
		c := tensorops.Const{Raw: true, Bytes: "AAECAw==", View: &v}
		if _, err := new(constants.Loader).Load(c, &tensorops.Tensor{DType: "uint8", Range: zspace.MustShape(3)}); err == nil || !strings.Contains(err.Error(), "a view") {
			t.Errorf("%+v: %v", v, err)
		}
	}
}

// Dequantized elements are what the kernel makes of them, with one scale or several, along any dimension.
func TestViewDequantized(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(1, 6), 1, 3).Draw(t, "shape")
		r := zspace.MustShape(shape...)
		n, err := r.Size()
		if err != nil {
			t.Fatal(err)
		}
		stored := rapid.SampledFrom([]scalar.DType{scalar.Int8, scalar.UInt8, scalar.Int16, scalar.Int32}).Draw(t, "stored")
		data := rapid.SliceOfN(rapid.Byte(), int(n)*stored.Size(), int(n)*stored.Size()).Draw(t, "data")
		x := &view.Scaling{Along: rapid.Int64Range(0, int64(len(shape))-1).Draw(t, "along"), Scales: []float32{0.1}}
		if rapid.Bool().Draw(t, "several") {
			x.Scales = rapid.SliceOfN(rapid.Float32Range(-2, 2), int(shape[x.Along]), int(shape[x.Along])).Draw(t, "scales")
		}
		if rapid.Bool().Draw(t, "zero points") {
			x.Zeros = rapid.SliceOfN(rapid.Int64Range(-128, 127), len(x.Scales), len(x.Scales)).Draw(t, "zeros")
		}
		v := view.View{DType: stored, Shape: shape, Strides: zspace.RowMajor(r.Shape()), Scaling: x}
		c := tensorops.Const{Raw: true, Bytes: base64.StdEncoding.EncodeToString(data), View: &v}
		got, err := new(constants.Loader).Load(c, &tensorops.Tensor{DType: "float32", Range: r})
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for p := range r.Points() {
			k := 0
			if len(x.Scales) > 1 {
				k = int(p[x.Along])
			}
			want := float32(scalar.Decode(stored, data[i*stored.Size():]).I)
			if stored == scalar.UInt8 {
				want = float32(data[i])
			}
			if len(x.Zeros) > 0 {
				want -= float32(x.Zeros[k])
			}
			want *= x.Scales[k]
			if f := scalar.Decode(scalar.Float32, got.Data[4*i:]); float32(f.F) != want {
				t.Fatalf("the element at %v is %v, want %v", p, f.F, want)
			}
			i++
		}
	})
}

package main

import (
	"cmp"
	"fmt"
	"math"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// apart says by how much the tensors of two files differ: in how many elements, and how far numbers are apart beside the greatest, which is some units in
// the last place where only rounding differs. It is "" if the bits of NaN alone are others, which nothing decides (docs/numerics.md).
func apart(old, new string) (string, error) {
	a, err := only(old)
	if err != nil {
		return "", err
	}
	b, err := only(new)
	if err != nil {
		return "", err
	}
	size := a.DType.Size()
	if a.DType != b.DType || len(a.Data) != len(b.Data) || size == 0 {
		return fmt.Sprintf("in its type or shape, %v %v and %v %v", a.DType, a.Shape, b.DType, b.Shape), nil
	}
	differ, kinds, farthest, greatest := 0, 0, 0.0, 0.0
	for at := 0; at+size <= len(a.Data); at += size {
		x, y := scalar.Decode(a.DType, a.Data[at:]), scalar.Decode(b.DType, b.Data[at:])
		for _, v := range []float64{x.Float(), x.Im, y.Float(), y.Im} {
			if finite(v) {
				greatest = max(greatest, math.Abs(v))
			}
		}
		if x.Same(y) {
			continue
		}
		differ++
		for _, p := range [][2]float64{{x.Float(), y.Float()}, {x.Im, y.Im}} {
			switch {
			case finite(p[0]) && finite(p[1]):
				farthest = max(farthest, math.Abs(p[0]-p[1]))
			case p[0] != p[1] && !(math.IsNaN(p[0]) && math.IsNaN(p[1])):
				kinds++
			}
		}
	}
	if differ == 0 {
		return "", nil
	}
	says := fmt.Sprintf("in %d of %d elements by %.1e of the greatest", differ, len(a.Data)/size, farthest/cmp.Or(greatest, 1))
	if kinds > 0 {
		says += fmt.Sprintf(", %d numbers infinite or NaN on one side alone", kinds)
	}
	return says, nil
}

func finite(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }

// only reads the one tensor of a file.
func only(path string) (tensorfile.Tensor, error) {
	f, err := tensorfile.Open(path)
	if err != nil {
		return tensorfile.Tensor{}, err
	}
	defer f.Close()
	return f.Load(f.Tensors()[0].Name)
}

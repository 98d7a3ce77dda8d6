package conformance

import (
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/split"
)

// Convolutions and pools are cut along their windows, one value after the other and in larger parts, with any pads, strides and dilations: windows
// that lie beyond a border, that leave cells over, and with ceil_mode and count_pads.
func TestWindowsAreCut(t *testing.T) {
	lib, rnd := kernels.Builtin(), rand.New(rand.NewPCG(17, 6))
	cut, beyond := map[string]int{}, 0
	for range 400 {
		name := []string{"conv", "conv_integer", "max_pool", "sum_pool", "average_pool", "lp_pool"}[rnd.IntN(6)]
		c, w := windowCall(rnd, name)
		d, _ := lib.Find(name)
		shapes, types, err := infer.Outputs(d, *c)
		if err != nil || !w.reads(0, shapes[0][2]) || !w.reads(1, shapes[0][3]) {
			continue // of windows that have no cell of the image at all no kernel reads anything
		}
		c.Outputs = []infer.Port{{Name: d.Operands[len(d.Operands)-1].Name(), Sel: []infer.Selected{{Sel: ir.Select(0, zspace.MustShape(shapes[0]...)), Type: types[0]}}}}
		if name == "max_pool" {
			c.Outputs[0].Name = "Y"
		}
		in, err := bind.Instance(d, *c)
		if err != nil {
			t.Fatal(err)
		}
		for _, dim := range reduced.Dims(in) {
			n := in.Dims[dim].Extent
			if in.Dims[dim].Name == "c" || n < 2 {
				continue
			}
			if why := splitCall(t, rnd, d, c, in, map[string]bool{}, split.Cut{Name: in.Dims[dim].Name, Part: parts(rnd, n)}); why != "" {
				t.Errorf("%s %v along %s: %s", name, c.Params, in.Dims[dim].Name, why)
			}
			if cut[name]++; w.far() {
				beyond++
			}
		}
	}
	if len(cut) != 6 || beyond < 20 {
		t.Errorf("cut %v, %d with pads as wide as windows", cut, beyond)
	}
}

func parts(rnd *rand.Rand, n int64) cut.Part {
	if rnd.IntN(2) == 0 {
		return cut.Part{Size: 1}
	}
	return cut.Part{Count: 2 + rnd.Int64N(n-1)}
}

// windows are those of a call, along two dimensions.
type windows struct{ image, size, strides, dilations, pads, behind []int64 }

// far says whether there are pads as wide as windows.
func (w *windows) far() bool { return w.pads[0] >= w.size[0] || w.behind[1] >= w.size[1] }

// reads says whether some of so many windows along a dimension has a cell of the image.
func (w *windows) reads(d int, out int64) bool {
	for o := range out {
		for k := range w.size[d] {
			if h := o*w.strides[d] + k*w.dilations[d] - w.pads[d]; h >= 0 && h < w.image[d] {
				return true
			}
		}
	}
	return false
}

// windowCall makes a call on an image with random windows.
func windowCall(rnd *rand.Rand, name string) (*infer.Call, *windows) {
	two := func(least, below int64) []int64 {
		return []int64{least + rnd.Int64N(below-least), least + rnd.Int64N(below-least)}
	}
	box := func(t scalar.DType, shape ...int64) infer.Selected {
		return infer.Selected{Sel: ir.Select(0, zspace.MustShape(shape...)), Type: t}
	}
	w := &windows{two(1, 7), two(1, 5), two(1, 4), two(1, 3), two(0, 4), two(0, 4)}
	params := ir.Attrs{}.With("strides", ir.IntsAttr(w.strides...)).With("dilations", ir.IntsAttr(w.dilations...)).
		With("pads", ir.IntsAttr(w.pads...)).With("pads_end", ir.IntsAttr(w.behind...))
	t := scalar.Float32
	if name == "conv_integer" {
		t = scalar.UInt8
	}
	c := &infer.Call{Inputs: []infer.Port{{Name: "X", Sel: []infer.Selected{box(t, 2, 2, w.image[0], w.image[1])}}}}
	if name == "conv" || name == "conv_integer" {
		c.Inputs = append([]infer.Port{{Name: "W", Sel: []infer.Selected{box(t, 3, 2, w.size[0], w.size[1])}}}, c.Inputs...)
	} else {
		params = params.With("kernel", ir.IntsAttr(w.size...))
	}
	if name == "max_pool" || name == "average_pool" {
		params = params.With("ceil_mode", ir.BoolAttr(rnd.IntN(2) == 0))
	}
	if name == "average_pool" {
		params = params.With("count_pads", ir.BoolAttr(rnd.IntN(2) == 0))
	}
	c.Params = params
	return c, w
}

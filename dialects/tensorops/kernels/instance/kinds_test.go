package instance_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// kind draws calls of a kernel with parameters that random calls of all kernels seldom have: the shapes of its inputs, in the order of its declaration.
type kind struct {
	name string
	draw func(n func(lo, hi int64) int64) (params ir.Attrs, inputs [][]int64)
}

// windows draws the parameters of windows over an image of two dimensions: padded, strided and dilated, with windows beyond the border too.
func windows(n func(lo, hi int64) int64, named bool) (params ir.Attrs, image, window []int64) {
	list := func(lo, hi int64) []int64 { return []int64{n(lo, hi), n(lo, hi)} }
	pads, end, strides, dilations, window := list(0, 3), list(0, 3), list(1, 3), list(1, 3), list(1, 3)
	params = ir.Attrs{}.With("dilations", ir.IntsAttr(dilations...)).With("pads", ir.IntsAttr(pads...)).With("pads_end", ir.IntsAttr(end...)).With("strides", ir.IntsAttr(strides...))
	if named {
		params = params.With("kernel", ir.IntsAttr(window...))
	}
	for i := range 2 {
		image = append(image, max(1, (window[i]-1)*dilations[i]+1-pads[i]-end[i])+n(0, 4))
	}
	return params, image, window
}

func pooled(name string) kind {
	return kind{name, func(n func(lo, hi int64) int64) (ir.Attrs, [][]int64) {
		params, image, _ := windows(n, true)
		return params, [][]int64{append([]int64{n(1, 2), n(1, 2)}, image...)}
	}}
}

func resized(name string) kind {
	return kind{name, func(n func(lo, hi int64) int64) (ir.Attrs, [][]int64) {
		params := ir.Attrs{}.With("coordinates", ir.StringAttr([]string{"half_pixel", "align_corners", "asymmetric"}[n(0, 2)])).With("shape", ir.IntsAttr(n(1, 8), n(1, 8)))
		return params, [][]int64{{n(1, 5), n(1, 5)}}
	}}
}

var kinds = []kind{
	{"concat", func(n func(lo, hi int64) int64) (ir.Attrs, [][]int64) {
		axis, other := n(0, 1), n(1, 4)
		var inputs [][]int64
		for range n(2, 5) {
			shape := []int64{other, other}
			shape[axis] = n(0, 3)
			inputs = append(inputs, shape)
		}
		return ir.Attrs{}.With("axis", ir.IntAttr(axis)), inputs
	}},
	{"interleave", func(n func(lo, hi int64) int64) (ir.Attrs, [][]int64) {
		shape := []int64{n(1, 4), n(1, 4)}
		return ir.Attrs{}.With("axis", ir.IntAttr(n(0, 1))), slices.Repeat([][]int64{shape}, int(n(2, 4)))
	}},
	{"pad", func(n func(lo, hi int64) int64) (ir.Attrs, [][]int64) {
		shape := []int64{n(3, 6), n(3, 6)}
		mode := []string{"constant", "edge", "reflect", "symmetric", "wrap"}[n(0, 4)]
		return ir.Attrs{}.With("mode", ir.StringAttr(mode)).With("pads", ir.IntsAttr(n(-1, 2), n(-1, 2))).With("pads_end", ir.IntsAttr(n(-1, 2), n(-1, 2))), [][]int64{shape}
	}},
	{"repeat", func(n func(lo, hi int64) int64) (ir.Attrs, [][]int64) {
		return ir.Attrs{}.With("repeats", ir.IntsAttr(n(1, 4), n(1, 4))), [][]int64{{n(1, 4), n(1, 4)}}
	}},
	{"roll", func(n func(lo, hi int64) int64) (ir.Attrs, [][]int64) {
		return ir.Attrs{}.With("shifts", ir.IntsAttr(n(-7, 7), n(-7, 7))), [][]int64{{n(1, 6), n(1, 6)}}
	}},
	{"split", func(n func(lo, hi int64) int64) (ir.Attrs, [][]int64) {
		sizes := []int64{n(0, 3), n(1, 3), n(0, 3)}
		return ir.Attrs{}.With("axis", ir.IntAttr(1)).With("sizes", ir.IntsAttr(sizes...)), [][]int64{{n(1, 4), sizes[0] + sizes[1] + sizes[2]}}
	}},
	{"reshape", func(n func(lo, hi int64) int64) (ir.Attrs, [][]int64) {
		shapes := [][]int64{{12}, {3, 4}, {4, 3}, {2, 6}, {6, 2}, {2, 3, 2}, {3, 2, 2}, {2, 2, 3}, {1, 12}, {12, 1, 1}}
		from, to := shapes[n(0, 9)], shapes[n(0, 9)]
		return ir.Attrs{}.With("shape", ir.IntsAttr(to...)), [][]int64{from}
	}},
	resized("resize_nearest"), resized("resize_linear"), resized("resize_cubic"),
	{"conv", func(n func(lo, hi int64) int64) (ir.Attrs, [][]int64) {
		params, image, window := windows(n, false)
		c, groups := n(1, 2), n(1, 2)
		return params.With("groups", ir.IntAttr(groups)), [][]int64{append([]int64{n(1, 2), c * groups}, image...), append([]int64{groups * n(1, 2), c}, window...)}
	}},
	{"conv_transpose", func(n func(lo, hi int64) int64) (ir.Attrs, [][]int64) {
		strides, window := []int64{n(1, 3), n(1, 3)}, []int64{n(1, 3), n(1, 3)}
		params := ir.Attrs{}.With("dilations", ir.IntsAttr(n(1, 2), n(1, 2))).With("pads", ir.IntsAttr(n(0, 1), n(0, 1))).With("strides", ir.IntsAttr(strides...))
		c := n(1, 2)
		return params, [][]int64{{1, c, n(2, 4), n(2, 4)}, append([]int64{c, n(1, 2)}, window...)}
	}},
	pooled("max_pool"), pooled("average_pool"), pooled("sum_pool"), pooled("lp_pool"),
}

// What padded, strided, dilated and transposed windows read, and what selectors of every kind do, over random boxes is exact: it is what reading cell by cell finds, and
// no hull takes its place.
func TestPiecesOfKinds(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(17, 2))
			calls := 60
			if testing.Short() {
				calls = 12
			}
			checked, hulls := 0, 0
			for range 20 * calls {
				if checked == calls {
					break
				}
				params, inputs := k.draw(func(lo, hi int64) int64 { return lo + rnd.Int64N(hi-lo+1) })
				in := called(k.name, params, inputs)
				if in == nil {
					continue
				}
				checked++
				for range 4 {
					if checkPieces(t, fmt.Sprintf("%s %v of %v", k.name, params, inputs), in, subBox(rnd, in.Index()), nil) {
						hulls++
					}
				}
			}
			if checked < calls || hulls > 0 {
				t.Errorf("%d calls, expected %d, of which %d boxes have a hull", checked, calls, hulls)
			}
		})
	}
}

// called is a call of a kernel on inputs of some shapes, or nil if that is none.
func called(name string, params ir.Attrs, inputs [][]int64) *instance.Instance {
	d, _ := kernels.Builtin().Find(name)
	sel := func(shape []int64, typ scalar.DType) infer.Selected {
		return infer.Selected{Sel: ir.Select(0, zspace.MustShape(shape...)), Type: typ}
	}
	c := infer.Call{Params: params}
	results := 1
	for i := range d.Operands {
		if o := &d.Operands[i]; !o.Out && len(inputs) > 0 {
			p := infer.Port{Name: o.Name()}
			for len(inputs) > 0 && (o.Variadic || len(p.Sel) == 0) {
				p.Sel, inputs = append(p.Sel, sel(inputs[0], scalar.Float32)), inputs[1:]
			}
			c.Inputs = append(c.Inputs, p)
		} else if o.Out && o.Variadic {
			v, _ := params.Get("sizes")
			results = len(v.List)
			c.Outputs = []infer.Port{{Name: o.Name(), Sel: make([]infer.Selected, results)}}
		}
	}
	shapes, types, err := infer.Outputs(d, c)
	if err != nil {
		return nil
	}
	for i := range d.Operands {
		if o := &d.Operands[i]; o.Out {
			p := infer.Port{Name: o.Name()}
			for j := range results {
				p.Sel = append(p.Sel, sel(shapes[j], types[j]))
			}
			c.Outputs = []infer.Port{p}
			break
		}
	}
	in, err := bind.Instance(d, c)
	if err != nil {
		return nil
	}
	return in
}

package expr

import (
	"fmt"
	"math"

	"tensortapestry.org/tapc/frontends/foreign"
)

// resizeTaps says how an axis is resized: resize_taps(cells, extent, scale, coordinates, mode, nearest, a, antialias, exclude,
// from, to). It gives the list of taps, each a list of the places read and a list of their weights, one for every cell of the result;
// and then the list of truth values that say which cells lie outside the part from..to of the input.
func resizeTaps(_ *Env, a []foreign.Value) (foreign.Value, error) {
	r := resizer{coordinates: a[3].Str, mode: a[4].Str, nearest: a[5].Str, antialias: a[7].Int != 0, exclude: a[8].Int != 0}
	var ok [5]bool
	for i, at := range []int{2, 6, 9, 10} {
		var into = [...]*float64{&r.scale, &r.a, &r.from, &r.to}[i]
		*into, ok[i] = a[at].Number()
	}
	ok[4] = a[0].Kind == foreign.Int && a[1].Kind == foreign.Int
	for _, good := range ok {
		if !good {
			return foreign.Value{}, fmt.Errorf("expected numbers")
		}
	}
	r.cells, r.extent = a[0].Int, a[1].Int
	if !(r.scale > 0) || r.cells < 1 || r.extent < 0 {
		return foreign.Value{}, Refuse("%d cells can not be resized by the factor %v", r.cells, r.scale)
	}
	if r.extent*r.support() > maxList {
		return foreign.Value{}, Refuse("resizing to %d cells from %d each has too many weights", r.extent, r.support())
	}
	return r.taps()
}

// resizer resizes one axis. Coordinates and weights are those of ONNX's operator Resize, in float64.
type resizer struct {
	cells, extent              int64
	scale, a, from, to         float64
	coordinates, mode, nearest string
	antialias, exclude         bool
}

// support is the number of cells that one cell of the result reads.
func (r *resizer) support() int64 {
	shrink := 1.0
	if r.antialias {
		shrink = max(min(r.scale, 1), 1e-6)
	}
	switch r.mode {
	case "linear":
		return 2 - 2*int64(math.Floor(-1/shrink)+1)
	case "cubic":
		return 2 - 2*int64(math.Floor(-2/shrink)+1)
	}
	return 2
}

// place gives the coordinate in the input of a cell of the result.
func (r *resizer) place(x float64) (float64, bool) {
	n, width := float64(r.cells), r.scale*float64(r.cells)
	switch r.coordinates {
	case "align_corners":
		if width == 1 {
			return 0, true
		}
		return x * (n - 1) / (width - 1), true
	case "asymmetric":
		return x / r.scale, true
	case "half_pixel", "pytorch_half_pixel":
		if r.coordinates == "pytorch_half_pixel" && r.extent == 1 {
			return 0, true
		}
		return (x+0.5)/r.scale - 0.5, true
	case "tf_half_pixel_for_nn":
		return (x + 0.5) / r.scale, true
	case "half_pixel_symmetric":
		return n/2*(1-float64(r.extent)/width) + (x+0.5)/r.scale - 0.5, true
	case "tf_crop_and_resize":
		if width == 1 {
			return (r.to-r.from)*(n-1)/2 + r.from*(n-1), true
		}
		return x*(r.to-r.from)*(n-1)/(width-1) + r.from*(n-1), true
	}
	return 0, false
}

// taps computes all places and weights.
func (r *resizer) taps() (foreign.Value, error) {
	k := r.support()
	places, weights := make([][]foreign.Value, k), make([][]foreign.Value, k)
	var outside []foreign.Value
	for o := range r.extent {
		x, ok := r.place(float64(o))
		if !ok {
			return foreign.Value{}, Refuse("the coordinates %q are not known", r.coordinates)
		}
		outside = append(outside, foreign.BoolValue(r.coordinates == "tf_crop_and_resize" && (x < 0 || x > float64(r.cells-1))))
		left := math.Ceil(x) - 1 // a whole coordinate is the right one of two
		w, ok := r.weights(x - left)
		if !ok {
			return foreign.Value{}, Refuse("the mode %q with %q is not known", r.mode, r.nearest)
		}
		first := int64(left) - k/2 + 1
		if r.exclude && r.mode != "nearest" {
			r.inside(w, first)
		}
		for i := range k {
			places[i] = append(places[i], foreign.IntValue(min(max(first+i, 0), r.cells-1)))
			weights[i] = append(weights[i], foreign.FloatValue(w[i]))
		}
	}
	taps := foreign.Value{Kind: foreign.List}
	for i := range k {
		taps.List = append(taps.List, foreign.ListValue(foreign.Value{Kind: foreign.List, List: places[i]}, foreign.Value{Kind: foreign.List, List: weights[i]}))
	}
	return foreign.ListValue(taps, foreign.Value{Kind: foreign.List, List: outside}), nil
}

// inside takes the weights away that lie outside the input.
func (r *resizer) inside(w []float64, first int64) {
	total := 0.0
	for i := range w {
		if at := first + int64(i); at < 0 || at >= r.cells {
			w[i] = 0
		}
		total += w[i]
	}
	for i := range w {
		if total != 0 {
			w[i] /= total
		}
	}
}

// weights gives the weights for a coordinate that lies part, in (0, 1], right of the cell in the middle's left.
func (r *resizer) weights(part float64) ([]float64, bool) {
	if r.mode == "nearest" {
		right := map[string]bool{"round_prefer_floor": part > 0.5, "round_prefer_ceil": part >= 0.5, "floor": part == 1, "ceil": true}
		ceil, ok := right[r.nearest]
		if ceil {
			return []float64{0, 1}, ok
		}
		return []float64{1, 0}, ok
	}
	if r.mode != "linear" && r.mode != "cubic" {
		return nil, false
	}
	shrink := 1.0
	if r.antialias {
		shrink = min(r.scale, 1)
	}
	w, total := make([]float64, r.support()), 0.0
	for i := range w {
		away := math.Abs(float64(i-len(w)/2+1)-part) * shrink
		if r.mode == "linear" {
			w[i] = max(1-away, 0)
		} else {
			w[i] = r.cubic(away)
		}
		total += w[i]
	}
	for i := range w {
		if r.antialias {
			w[i] /= total
		}
	}
	return w, true
}

// cubic is the cubic convolution with the coefficient a. Source: R. Keys, "Cubic Convolution Interpolation for Digital Image
// Processing", 1981.
func (r *resizer) cubic(x float64) float64 {
	switch {
	case x <= 1:
		return ((r.a+2)*x-(r.a+3))*x*x + 1
	case x < 2:
		return ((r.a*x-5*r.a)*x+8*r.a)*x - 4*r.a
	}
	return 0
}

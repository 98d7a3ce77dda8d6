package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// extremes are numbers that a reduction must not lose, and not make of others.
var extremes = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1)}

// extremeLength is as long as two of the widest vectors and a tail, so that a row has every lane and every position in a tail.
const extremeLength = 2*16 + 5

// extremeRows is a matrix with every extreme number in every position of a row, once among random numbers and once among zeros of either
// sign; and rows of nothing else.
func extremeRows() [][]float64 {
	rnd := rand.New(rand.NewPCG(1, 2))
	backgrounds := []func() float64{rnd.NormFloat64, func() float64 { return 0 }, func() float64 { return math.Copysign(0, -1) }}
	var rows [][]float64
	for _, x := range extremes {
		for at := -1; at < extremeLength; at++ { // -1 is everywhere
			for _, number := range backgrounds {
				row := make([]float64, extremeLength)
				for i := range row {
					if row[i] = number(); i == at || at < 0 {
						row[i] = x
					}
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// reduction is one of a kernel, along rows; fits says how near its results are to the reference's, in units in the last place of each.
type reduction struct {
	kernel, params string
	keeps          bool // the result has the shape of the input
	index          bool // the result is int64
	signed         bool // the sign of a zero is the reference's, unless the row has zeros of both signs
	ulps           float64
}

func reductions() []reduction {
	return []reduction{
		{kernel: "reduce_max", params: "dims: [D]", signed: true},
		{kernel: "reduce_min", params: "dims: [D]", signed: true},
		{kernel: "arg_max", params: "dims: [D]", index: true},
		{kernel: "arg_min", params: "dims: [D], last: true", index: true},
		{kernel: "sum", params: "dims: [D]", ulps: 64},
		{kernel: "mean", params: "dims: [D]", ulps: 64},
		{kernel: "prod", params: "dims: [D]", ulps: 64, signed: true},
		{kernel: "l2_norm", params: "dims: [D]", ulps: 64},
		{kernel: "log_sum_exp", params: "dims: [D]", ulps: 64},
		{kernel: "softmax", params: "dims: [D]", keeps: true, ulps: 64},
		{kernel: "log_softmax", params: "dims: [D]", keeps: true, ulps: 1 << 12},
		{kernel: "lp_normalization", params: "dims: [D]", keeps: true, ulps: 64},
	}
}

// extremeGraph is all reductions of one input, whose rows lie along dimension 1, or 0 if they are turned.
func extremeGraph(dtype string, rows int, turned bool) string {
	shape, left, dim := cputest.Box(int64(rows), extremeLength), cputest.Box(int64(rows)), "1"
	if turned {
		shape, dim = cputest.Box(extremeLength, int64(rows)), "0"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%%x = tensor %s %s\n", dtype, shape)
	for _, r := range reductions() {
		out, typ := left, dtype
		if r.keeps {
			out = shape
		}
		if r.index {
			typ = "int64"
		}
		fmt.Fprintf(&b, "%%%s = tensor %s %s\noperation op:%s {%s} (tensor: %%x) -> (result: %%%s)\n", r.kernel, typ, out, r.kernel,
			strings.ReplaceAll(r.params, "D", dim), r.kernel)
	}
	return b.String()
}

func extremeInput(d scalar.DType, rows [][]float64, turned bool) tensorfile.Tensor {
	out := tensorfile.Tensor{DType: d, Shape: []int64{int64(len(rows)), extremeLength}, Data: make([]byte, d.Size()*len(rows)*extremeLength)}
	if turned {
		out.Shape[0], out.Shape[1] = out.Shape[1], out.Shape[0]
	}
	for r, row := range rows {
		for i, x := range row {
			at := r*extremeLength + i
			if turned {
				at = i*len(rows) + r
			}
			scalar.FloatValue(d, x).Encode(out.Data[at*d.Size():])
		}
	}
	return out
}

// TestExtremes has NaN, infinities and zeros of both signs in every lane and every position of a tail of reductions along and across
// vectors, without permissions and with each. What a permission allows is allowed for the rows that it speaks of, and for no others.
func TestExtremes(t *testing.T) {
	cc := cputest.Compiler(t)
	rows := extremeRows()
	hasNaN, bothZeros := make([]bool, len(rows)), make([]bool, len(rows))
	for r, row := range rows {
		var zeros [2]bool
		for _, x := range row {
			hasNaN[r] = hasNaN[r] || math.IsNaN(x)
			zeros[int(math.Float64bits(x)>>63)] = zeros[int(math.Float64bits(x)>>63)] || x == 0
		}
		bothZeros[r] = zeros[0] && zeros[1]
	}
	runs := testkit.Turns(t, 4)
	for _, d := range []scalar.DType{scalar.Float32, scalar.Float64, scalar.BFloat16} {
		for _, turned := range []bool{false, true} {
			graph := extremeGraph(d.String(), len(rows), turned)
			in := map[string]tensorfile.Tensor{"x": extremeInput(d, rows, turned)}
			allowed := append([]string{""}, permission.Names()...)
			var want map[string]tensorfile.Tensor
			for _, name := range append(allowed, "all") {
				if name != "" && name != "lost-nan" && !runs() {
					continue
				}
				if want == nil {
					want = cputest.Evaluate(t, cputest.Operations(t, graph), in)
				}
				expected := want
				t.Run(fmt.Sprintf("%v/turned=%v/%s", d, turned, name), func(t *testing.T) {
					t.Parallel()
					allow := permission.FastMath
					if name != "all" {
						allow = permissionNamed(t, name)
					}
					got := cputest.Executes(cc, "native", []string{"-O1"})(cputest.RandomConstant)(t, cputest.Allowing(t, graph, allow), in)
					for _, r := range reductions() {
						checkExtremes(t, r, expected[r.kernel], got[r.kernel], func(element int) (skip, signed bool) {
							row := element
							if r.keeps && turned {
								row = element % len(rows)
							} else if r.keeps {
								row = element / extremeLength
							}
							lost := allow.Has(permission.LostNaN)
							return lost && hasNaN[row], r.signed && !lost && (!bothZeros[row] || r.kernel == "prod")
						})
					}
				})
			}
		}
	}
}

func permissionNamed(t *testing.T, name string) permission.Set {
	t.Helper()
	if name == "" {
		return 0
	}
	s, err := permission.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkExtremes compares the results of one reduction; how says which elements are not compared, and where the sign of a zero counts.
func checkExtremes(t *testing.T, r reduction, want, got tensorfile.Tensor, how func(element int) (skip, signed bool)) {
	t.Helper()
	size, wrong := want.DType.Size(), 0
	if len(got.Data) != len(want.Data) {
		t.Errorf("%s: %d bytes, expected %d", r.kernel, len(got.Data), len(want.Data))
		return
	}
	for i := range len(want.Data) / size {
		skip, signed := how(i)
		if skip {
			continue
		}
		one := func(x tensorfile.Tensor) tensorfile.Tensor {
			return tensorfile.Tensor{DType: x.DType, Shape: []int64{1}, Data: x.Data[i*size : i*size+size]}
		}
		w, g := one(want), one(got)
		err := reference.CompareElements(r.kernel, w, g, r.ulps)
		if zero := scalar.Decode(w.DType, w.Data).F == 0 && scalar.Decode(g.DType, g.Data).F == 0; zero && err != nil && !signed {
			err = nil
		}
		if err != nil {
			if wrong++; wrong <= 3 {
				t.Errorf("element %d: %v", i, err)
			}
		}
	}
	if wrong > 3 {
		t.Errorf("%s: %d elements are wrong", r.kernel, wrong)
	}
}

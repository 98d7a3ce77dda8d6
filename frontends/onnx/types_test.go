package onnx_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/frontends/onnx/onnxtest"
)

// newest is the head of a model at the newest version of the operator set.
const newest = `<ir_version: 13, opset_import: ["": 25]>`

// Numbers go to a narrow type and back as the tables of ONNX's Cast say.
func TestCastToNarrowFloats(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	in := []float32{0, 3, 5, -7, 1000, 1e-9, inf, nan}
	for _, c := range []struct {
		attrs string
		want  []float64
	}{
		{"to = 18", []float64{0, 3, 5, -7, 240, 0, 240, math.NaN()}},
		{"to = 18, saturate = 0", []float64{0, 3, 5, -7, math.NaN(), 0, math.NaN(), math.NaN()}},
		{"to = 20", []float64{0, 3, 5, -7, 1024, 0, 57344, math.NaN()}},
		{"to = 19, saturate = 0", []float64{0, 3, 5, -7, 1024, 0, math.Inf(1), math.NaN()}},
		{"to = 23", []float64{0, 3, 4, -6, 6, 0, 6, math.Copysign(0, -1)}},
		{"to = 25", []float64{0, 3, 1, 1, 0, 0, 3, 0}},
		{"to = 26", []float64{0, -1, 1, 1, 0, 0, -1, 0}},
		{`to = 24, round_mode = "up"`, []float64{0x1p-127, 4, 8, 8, 1024, 0x1p-29, 0x1p127, math.NaN()}},
		{`to = 24, round_mode = "down"`, []float64{0x1p-127, 2, 4, 4, 512, 0x1p-30, 0x1p127, math.NaN()}},
		{`to = 24, round_mode = "nearest", saturate = 0`, []float64{math.NaN(), 4, 4, 8, 1024, 0x1p-30, math.NaN(), math.NaN()}},
	} {
		text := fmt.Sprintf("g (float[8] x) => (float[8] y) { n = Cast<%s>(x) y = Cast<to = 1>(n) }", c.attrs)
		expect(t, run(t, newest+text, onnx.Options{}, map[string][]float32{"x": in})["y"], c.want...)
	}
}

// A scale that is a power of two stays what it is in every way of rounding, the least, which is no normal float32, too.
func TestScalesStay(t *testing.T) {
	var in []float32
	var want []float64
	for e := -127; e <= 127; e++ {
		in, want = append(in, float32(math.Ldexp(1, e))), append(want, math.Ldexp(1, e))
	}
	for _, mode := range []string{"up", "down", "nearest"} {
		for saturate := range 2 {
			text := fmt.Sprintf(`g (float[255] x) => (float[255] y) { n = Cast<to = 24, round_mode = "%s", saturate = %d>(x) y = Cast<to = 1>(n) }`, mode, saturate)
			expect(t, run(t, newest+text, onnx.Options{}, map[string][]float32{"x": in})["y"], want...)
		}
	}
}

func TestBitCast(t *testing.T) {
	text := `g (float[2] x) => (float[2] y) <int32[2] s = {-2147483648, -2147483648}> { b = BitCast<to = 6>(x) n = BitwiseXor(b, s) y = BitCast<to = 1>(n) }`
	expect(t, run(t, `<ir_version: 13, opset_import: ["": 26]>`+text, onnx.Options{}, map[string][]float32{"x": {1.5, -3}})["y"], -1.5, 3)
	m, err := onnx.Read(onnxtest.Must(`<ir_version: 13, opset_import: ["": 26]>g (float[2] x) => (double[1] y) { y = BitCast<to = 11>(x) }`), "model.onnx")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := onnx.Import(context.Background(), m, onnx.Options{}); err == nil || !strings.Contains(err.Error(), "not as wide as each other") {
		t.Errorf("32 bits read as 64: %v", err)
	}
}

// N-grams are counted where they stand with at most so many cells between, one number only once.
func TestTfIdf(t *testing.T) {
	for _, c := range []struct {
		attrs string
		want  []float64
	}{
		{`mode = "TF", max_skip_count = 0, min_gram_length = 1`, []float64{3, 1, 1, 0}},
		{`mode = "TF", max_skip_count = 1, min_gram_length = 1`, []float64{3, 1, 2, 0}},
		{`mode = "TF", max_skip_count = 1, min_gram_length = 2`, []float64{0, 0, 2, 0}},
		{`mode = "IDF", max_skip_count = 1, min_gram_length = 1, weights = [2.0, 3.0, 4.0, 5.0]`, []float64{3, 2, 5, 0}},
		{`mode = "TFIDF", max_skip_count = 1, min_gram_length = 1, weights = [2.0, 3.0, 4.0, 5.0]`, []float64{9, 2, 10, 0}},
	} {
		text := fmt.Sprintf(`g (float[5] x) => (float[4] y) { n = Cast<to = 6>(x)
  y = TfIdfVectorizer<max_gram_length = 2, ngram_counts = [0, 2], ngram_indexes = [1, 0, 3, 2], pool_int64s = [7, 5, 8, 8, 5, 5], %s>(n) }`, c.attrs)
		expect(t, run(t, newest+text, onnx.Options{}, map[string][]float32{"x": {5, 5, 7, 5, 8}})["y"], c.want...)
	}
}

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/tools/digits/glyph"
	"tensortapestry.org/tapc/tools/digits/mlp"
)

const dir = "../../examples/classifier"

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func floats(data []byte) []float32 {
	out := make([]float32, len(data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out
}

// checkedIn reads the net from examples/classifier/weights.safetensors.
func checkedIn(t *testing.T) *mlp.Net {
	t.Helper()
	data := read(t, "weights.safetensors")
	size := int(binary.LittleEndian.Uint64(data))
	header := map[string]struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}{}
	if err := json.Unmarshal(data[8:8+size], &header); err != nil {
		t.Fatal(err)
	}
	body, shapes := data[8+size:], map[string][]int{}
	values := func(key string) []float32 { return floats(body[header[key].Offsets[0]:header[key].Offsets[1]]) }
	for key, e := range header {
		if shapes[key] = e.Shape; e.DType != "F32" {
			t.Errorf("%s has dtype %s", key, e.DType)
		}
	}
	want := map[string][]int{"W1": {784, 512}, "b1": {512}, "W2": {512, 512}, "b2": {512}, "W3": {512, 10}, "b3": {10}}
	if diff := cmp.Diff(want, shapes); diff != "" {
		t.Fatalf("shapes: -want +got:\n%s", diff)
	}
	return &mlp.Net{Layers: []mlp.Layer{
		{In: 784, Out: 512, W: values("W1"), B: values("b1")},
		{In: 512, Out: 512, W: values("W2"), B: values("b2")},
		{In: 512, Out: 10, W: values("W3"), B: values("b3")},
	}}
}

// The checked-in weights recognise digits that training never saw, and their
// logits leave exp far from overflow, on pictures of nothing as well.
func TestCheckedInWeightsAreGood(t *testing.T) {
	net := checkedIn(t)
	right, top := evaluate(net, 12345+streamHeldOut, 1000)
	if right < standard.accuracy || top > standard.logit {
		t.Errorf("%.2f %% right, |logit| up to %.2f", 100*right, top)
	}
	white, stripes := make([]float32, glyph.Pixels), make([]float32, glyph.Pixels)
	for i := range white {
		white[i], stripes[i] = 1, float32(i/3%2)
	}
	for name, img := range map[string][]float32{"black": make([]float32, glyph.Pixels), "white": white, "stripes": stripes} {
		for _, v := range net.Logits(img) {
			if !(math.Abs(float64(v)) < 60) {
				t.Errorf("a %s picture gives logit %v", name, v)
			}
		}
	}
}

// nearly allows for the fused multiply-adds of other processors.
var nearly = cmp.Comparer(func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-5 })

// Each test image is the generator's, has the right form, is classified as its
// digit, and is what the preview shows.
func TestCheckedInImages(t *testing.T) {
	net, files := checkedIn(t), map[string][]byte{}
	if err := samples(files, net, standard.seed); err != nil {
		t.Fatal(err)
	}
	preview, err := png.Decode(bytes.NewReader(read(t, "digits.png")))
	if err != nil {
		t.Fatal(err)
	}
	for digit, name := range names {
		data := read(t, name+".npy")
		generated := files[name+".npy"]
		if diff := cmp.Diff(floats(generated[128:]), floats(data[128:]), nearly); diff != "" || len(data) != len(generated) {
			t.Errorf("%s.npy: -generated +checked in:\n%s", name, diff)
		}
		if !bytes.Contains(data, []byte("'descr': '<f4', 'fortran_order': False, 'shape': (1, 784)")) {
			t.Errorf("%s.npy has header %q", name, data[:128])
		}
		img := floats(data[len(data)-4*glyph.Pixels:])
		if got := mlp.Argmax(net.Logits(img)); got != digit {
			t.Errorf("%s is taken for a %d", name, got)
		}
		for i, v := range img {
			x, y := gap*zoom+digit%5*(glyph.Side+gap)*zoom+i%glyph.Side*zoom, gap*zoom+digit/5*(glyph.Side+gap)*zoom+i/glyph.Side*zoom
			if grey, _, _, _ := preview.At(x, y).RGBA(); int(grey>>8) != int(v*255+0.5) {
				t.Fatalf("%s: cell %d is %v, the preview has %d", name, i, v, grey>>8)
			}
		}
	}
}

func TestCheckedInGraphIsGenerated(t *testing.T) {
	want, err := classifier()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(read(t, "classifier.loom.json"))); diff != "" {
		t.Errorf("-generated +checked in:\n%s", diff)
	}
}

func TestCheckedInSize(t *testing.T) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, e := range entries {
		total += len(read(t, e.Name()))
	}
	if total > 3_500_000 {
		t.Errorf("examples/classifier holds %d bytes", total)
	}
}

// A short plan trains to the same bytes twice and learns something; a plan whose
// demand is not met is an error and writes nothing.
func TestShortTraining(t *testing.T) {
	short := standard
	short.epochs, short.batches, short.size, short.heldOut, short.accuracy = 1, 25, 32, 200, 0.5
	var files [2][]byte
	for i := range files {
		net, err := train(short, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if files[i], err = weights(net); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two trainings wrote different bytes")
	}
	short.batches, short.accuracy = 1, 0.98
	out := t.TempDir()
	if err := run(out, true, short); err == nil || !strings.Contains(err.Error(), "not good enough") {
		t.Errorf("error %v", err)
	}
	if entries, _ := os.ReadDir(out); len(entries) != 0 {
		t.Errorf("a failed run wrote %v", entries)
	}
}

func TestGraphAlone(t *testing.T) {
	out := t.TempDir()
	if err := run(out, false, standard); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(out); len(entries) != 1 || entries[0].Name() != "classifier.loom.json" {
		t.Errorf("wrote %v", entries)
	}
}

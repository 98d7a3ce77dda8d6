package compare

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

func floats(values ...float32) tensorfile.Tensor {
	t := tensorfile.Tensor{DType: scalar.Float32, Shape: []int64{int64(len(values))}}
	for _, v := range values {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(v))
	}
	return t
}

func TestErrors(t *testing.T) {
	next := math.Nextafter32
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		name          string
		want, got     tensorfile.Tensor
		units, scaled float64
		parts         bool
	}{
		{"the same", floats(1, 2, inf, nan), floats(1, 2, inf, nan), 0, 0, false},
		{"one unit", floats(1, 2), floats(next(1, 2), 2), 1, math.Ldexp(1, -24), false},
		{"units across 0", floats(1, math.Float32frombits(1)), floats(1, -math.Float32frombits(1)), 2, math.Ldexp(1, -148), false},
		{"two zeros", floats(0, 4), floats(float32(math.Copysign(0, -1)), 4), 0, 0, false},
		{"beyond the tolerance", floats(0, 4), floats(0, 5), 1 << 21, 0.25, true},
		{"a step of a narrow type", halves(0x3c00, 0x4000), halves(0x3c01, 0x4000), 1, math.Ldexp(1, -11), false},
		{"two steps of it", halves(0x3c00, 0x3c00), halves(0x3c02, 0x3c00), 2, math.Ldexp(1, -9), true},
		{"a number for NaN", floats(nan), floats(1), 0, math.MaxFloat64, true},
		{"another infinity", floats(inf), floats(-inf), 0, math.MaxFloat64, true},
		{"another shape", floats(1), floats(1, 2), 0, 0, true},
	} {
		v := ValuesOf([]Tensor{{Name: "y"}}, map[string]tensorfile.Tensor{"y": c.want}, map[string]tensorfile.Tensor{"y": c.got}, Bound{1e-4, true})
		a := v.Outputs[0]
		if a.Units != c.units || a.Scaled != c.scaled || a.Parts != c.parts || v.Agree() == c.parts {
			t.Errorf("%s: %+v", c.name, a)
		}
	}
}

// Who says a tolerance means it, of any type.
func TestToleranceOfNarrowTypes(t *testing.T) {
	v := ValuesOf([]Tensor{{Name: "y"}}, map[string]tensorfile.Tensor{"y": halves(0x3c00)}, map[string]tensorfile.Tensor{"y": halves(0x3c01)}, Bound{Tolerance: 1e-4})
	if v.Agree() || v.steps() != "" {
		t.Errorf("%+v", v)
	}
}

// halves is a tensor of float16.
func halves(bits ...uint16) tensorfile.Tensor {
	x := tensorfile.Tensor{DType: scalar.Float16, Shape: []int64{int64(len(bits))}}
	for _, b := range bits {
		x.Data = binary.LittleEndian.AppendUint16(x.Data, b)
	}
	return x
}

func TestFirstThatParts(t *testing.T) {
	v := Values{Bound: Bound{Tolerance: 1e-4}}
	want := map[string]tensorfile.Tensor{"a": floats(1), "b": floats(1), "c": floats(1)}
	v.AddInside([]Tensor{{Name: "a"}, {Name: "b"}, {Name: "c"}}, want, map[string]tensorfile.Tensor{"a": floats(1), "b": floats(2), "c": floats(9)})
	if v.Parting == nil || v.Parting.Name != "b" || v.Parting.At[0] != 0 || v.Parting.Got != "2" {
		t.Errorf("%+v", v.Parting)
	}
}

func TestIntervals(t *testing.T) {
	// Ranks for the 95 % interval of a median: 0-based, from tables of the sign test.
	for n, k := range map[int]int{1: 0, 5: 0, 6: 0, 9: 1, 10: 1, 20: 5, 30: 9} {
		if got := rank(n); got != k {
			t.Errorf("%d values: from number %d, expected %d", n, got, k)
		}
	}
	if got := (intervalOf([]float64{9, 1, 5, 3, 7, 2, 8, 4, 6})); got != (Interval{5, 2, 8}) {
		t.Error(got)
	}
	c := contest([4][]float64{{1, 1}, {4, 4}, {2, 2}, {2, 2}})
	if c.Ratio.Median != 0.5 || c.Same[0].Median != 0.5 || c.Same[1].Median != 2 || c.Rounds != 2 {
		t.Errorf("%+v", c)
	}
}

func TestRaceTakesTurns(t *testing.T) {
	order := ""
	side := func(name string) timed {
		return func(context.Context) (float64, error) { order += name; return 1, nil }
	}
	if _, err := race(t.Context(), 2, side("a"), side("b"), func(round int) { order += fmt.Sprint(round) }); err != nil || order != "0abab1abab" {
		t.Error(order, err)
	}
	stop := errors.New("stop")
	if _, err := race(t.Context(), 2, side("a"), func(context.Context) (float64, error) { return 0, stop }, func(int) {}); !errors.Is(err, stop) {
		t.Error(err)
	}
}

func TestWithOutputs(t *testing.T) {
	graph := protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), "g")
	model := protowire.AppendBytes(protowire.AppendTag(nil, modelGraph, protowire.BytesType), graph)
	out, err := WithOutputs(model, []string{"t"})
	if want := "\x3a\x08\x12\x01g\x62\x03\x0a\x01t"; err != nil || string(out) != want {
		t.Errorf("%q, %v", out, err)
	}
	for _, bad := range []string{"", "\x08\x01", "\x3a\x7f", "\xff"} {
		if _, err := WithOutputs([]byte(bad), nil); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestPictureIsXML holds the picture to what any viewer reads, with names that need care.
func TestPictureIsXML(t *testing.T) {
	r := &Report{Model: `<&">`, Ours: "a", Against: "b", Speed: contest([4][]float64{{1, 2}, {1, 2}, {1, 2}, {1, 2}}), Memory: &Memory{Ours: 1, Against: 2},
		Values: Values{Bound: Bound{Tolerance: 1e-4}, Outputs: []Agreement{{Tensor: Tensor{Name: "</svg>"}, Scaled: 1, Parts: true}}, Inside: []Agreement{{}, {Fault: "missing"}}}}
	var b bytes.Buffer
	if err := r.WritePicture(&b); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Count(text, ">exact<") != 1 || !strings.Contains(text, ">&lt;/svg&gt;</text>") {
		t.Errorf("expected the name under a bar, and one tensor that is exact:\n%s", text)
	}
	rects := 0
	for d := xml.NewDecoder(&b); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			rects++
		}
	}
	if rects != 1+2+2+1+2 { // the ground, speed, memory, outputs, inside
		t.Errorf("%d rectangles", rects)
	}
}

// TestSeries holds the table of several sizes to what it sums up.
func TestSeries(t *testing.T) {
	at := func(size string, parts bool, ms float64) *Report {
		return &Report{Model: "m", Size: size, Speed: contest([4][]float64{{ms}, {1}, {ms}, {1}}), Values: Values{Outputs: []Agreement{{Scaled: 0.5, Parts: parts}}}}
	}
	var b bytes.Buffer
	s := Series{at("n=1", false, 2), at("n=8", true, 0.5)}
	if err := s.Write(&b); err != nil || s.Agree() || !s[:1].Agree() {
		t.Fatal(err)
	}
	for _, want := range []string{"m at n=8:", "one program at 2 sizes", "agrees  n=1", "PARTS   n=8", "geometric mean                             1  "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	each, names, err := Sizes([]string{"m=3", "n=1,2"}, nil, "")
	if err != nil || !slices.Equal(names, []string{"n=1", "n=2"}) || !slices.Equal(each[1], []string{"m=3", "n=2"}) {
		t.Error(each, names, err)
	}
	if each, names, err = Sizes([]string{"n=1"}, []string{"x.npy"}, "p"); err != nil || len(each) != 1 || names[0] != "" {
		t.Error(each, names, err)
	}
}

// TestPeerFiles holds inputs of types that NumPy lacks to being bare elements with their type, and outputs to being read back.
func TestPeerFiles(t *testing.T) {
	bf := tensorfile.Tensor{DType: scalar.BFloat16, Shape: []int64{2}, Data: []byte{0x80, 0x3f, 0, 0x40}}
	f := peerFile{File: t.TempDir() + "/out.npy"}
	if data, err := f.content(bf); err != nil || !bytes.Equal(data, bf.Data) || f.Type != 16 || !slices.Equal(f.Shape, bf.Shape) {
		t.Error(f, err)
	}
	if data, err := (&peerFile{}).content(tensorfile.Tensor{DType: scalar.Float16, Shape: []int64{1}, Data: []byte{0, 0}}); err != nil || !bytes.HasPrefix(data, []byte("\x93NUMPY")) {
		t.Error(err)
	}
	if _, err := (&peerFile{}).content(tensorfile.Tensor{DType: scalar.Int4, Shape: []int64{1}, Data: []byte{1}}); err == nil {
		t.Error("int4 is taken")
	}
	message, err := onnx.WriteTensor("", bf)
	if err == nil {
		err = os.WriteFile(f.File+".pb", message, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.value(); err != nil || got.DType != scalar.BFloat16 || !bytes.Equal(got.Data, bf.Data) {
		t.Error(got, err)
	}
}

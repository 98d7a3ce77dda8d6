package onnx_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/frontends/onnx/onnxtest"
	"tensortapestry.org/tapc/frontends/survey"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

const head = "<ir_version: 8, opset_import: [\"\": 17]>\n"

// run imports the model of a text, evaluates it and gives its outputs as numbers.
func run(t *testing.T, text string, o onnx.Options, in map[string][]float32) map[string][]float64 {
	t.Helper()
	m, err := onnx.Read(onnxtest.Must(text), "model.onnx")
	if err != nil {
		t.Fatal(err)
	}
	g, _, err := onnx.Import(context.Background(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	tensors := map[string]tensorfile.Tensor{}
	for name, list := range in {
		var data []byte
		for _, f := range list {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(f))
		}
		tensors[name] = tensorfile.Tensor{DType: scalar.Float32, Shape: []int64{int64(len(list))}, Data: data}
	}
	ev := reference.Evaluator{Library: kernels.Builtin(), Constants: (&constants.Loader{}).Load}
	out, err := ev.Evaluate(context.Background(), g, tensors)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]float64{}
	for name, x := range out {
		for i := 0; i < len(x.Data); i += x.DType.Size() {
			got[name] = append(got[name], scalar.Decode(x.DType, x.Data[i:]).Float())
		}
	}
	return got
}

func expect(t *testing.T, got []float64, want ...float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("found %v, expected %v", got, want)
	}
	for i := range got {
		if math.Abs(got[i]-want[i]) > 1e-6 {
			t.Errorf("found %v, expected %v", got, want)
			return
		}
	}
}

func TestImport(t *testing.T) {
	for _, c := range []struct {
		name, text string
		dims       map[string]int64
		in, want   []float64
	}{
		{"weights", `g (float[3] x) => (float[3] y) <float[3] w = {1, 2, 4}> { t = Mul(x, w) y = Add(t, w) }`, nil, []float64{1, 1, -1}, []float64{2, 4, 0}},
		{"named size", `g (float[N] x) => (float[N] y) { y = Neg(x) }`, map[string]int64{"N": 2}, []float64{1, 2}, []float64{-1, -2}},
		{"size by place", `g (float[?] x) => (float[?] y) { y = Neg(x) }`, map[string]int64{"x:0": 2}, []float64{1, 2}, []float64{-1, -2}},
		{"shape arithmetic", `g (float[4] x) => (float[2, 2] y) <int64[1] two = {2}> { s = Shape(x) h = Div(s, two) s2 = Concat<axis = 0>(two, h) y = Reshape(x, s2) }`, nil,
			[]float64{1, 2, 3, 4}, []float64{1, 2, 3, 4}},
		{"any order", `g (float[1] x) => (float[1] y) { y = Neg(t) t = Exp(x) }`, nil, []float64{0}, []float64{-1}},
		{"if", `g (float[1] x) => (float[1] y) <bool c = {0}> { y = If<then_branch = a () => (float[1] p) { p = Neg(x) }, else_branch = b () => (float[1] q) { q = Exp(x) }>(c) }`, nil,
			[]float64{0}, []float64{1}},
		{"if on data, then", `g (float[1] x) => (float y) <float[1] z = {0}, int64[0] n = {}> { c = LessOrEqual(x, z) y = If<then_branch = a () => (float p) { o = Neg(x) p = Reshape(o, n) }, else_branch = b () => (float q) { o = Exp(x) q = Reshape(o, n) }>(c) }`, nil,
			[]float64{-3}, []float64{3}},
		{"if on data, else", `g (float[1] x) => (float[1] y) <float[1] z = {0}> { c = Less(x, z) y = If<then_branch = a () => (float[1] p) { p = Neg(x) }, else_branch = b () => (float[1] q) { q = Exp(x) }>(c) }`, nil,
			[]float64{0}, []float64{1}},
		{"loop", `g (float[1] x) => (float[1] y, float[3, 1] s) <int64 n = {3}> {
			y, s = Loop<body = b (int64 i, bool c, float[1] v) => (bool d, float[1] w, float[1] k) { d = Identity(c) w = Add(v, v) k = Identity(v) }>(n, , x) }`, nil,
			[]float64{1}, []float64{8}},
		{"scan", `g (float[3] x) => (float y, float[3] s) <float z = {0}> {
			y, s = Scan<body = b (float a, float e) => (float f, float h) { f = Add(a, e) h = Identity(f) }, num_scan_inputs = 1>(z, x) }`, nil,
			[]float64{1, 2, 3}, []float64{6}},
		{"input is output", `g (float[1] x) => (float[1] x2) { x2 = Identity(x) }`, nil, []float64{5}, []float64{5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var in []float32
			for _, f := range c.in {
				in = append(in, float32(f))
			}
			got := run(t, head+c.text, onnx.Options{Dims: c.dims}, map[string][]float32{"x": in})
			first := got["y"]
			if first == nil {
				first = got["x2"]
			}
			expect(t, first, c.want...)
		})
	}
}

func TestScanOutputsAreStacked(t *testing.T) {
	got := run(t, head+`g (float[3] x) => (float y, float[3] s) <float z = {0}> {
		y, s = Scan<body = b (float a, float e) => (float f, float h) { f = Add(a, e) h = Identity(f) }, num_scan_inputs = 1, scan_output_directions = [1]>(z, x) }`,
		onnx.Options{}, map[string][]float32{"x": {1, 2, 3}})
	expect(t, got["s"], 6, 3, 1)
}

func TestFunctions(t *testing.T) {
	text := "<ir_version: 8, opset_import: [\"\": 17, \"my\": 1]>\n" + `g (float[2] x) => (float[2] y) { y = my.twice<k = 3.0>(x) }
		<domain: "my", opset_import: ["": 17]> twice <k> (a) => (b) { c = Constant<value_float = @k>() b = Mul(a, c) }`
	expect(t, run(t, text, onnx.Options{}, map[string][]float32{"x": {1, 2}})["y"], 3, 6)
}

func TestImportRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no rule", `g (float[1] x) => (float[1] y) { [odd] y = NoSuchOp(x) }`, "NoSuchOp@17 can not be mapped: no rule maps it"},
		{"data-dependent shape", `g (float[4] x, int64[2] s) => (float[2, 2] y) { y = Reshape(x, s) }`, `"s" must be known when compiling`},
		{"data-dependent result", `g (float[4] x) => (int64[1, N] y) { y = NonZero(x) }`, "the shape of its result depends on data"},
		{"missing size", `g (float[N, 3] x) => (float[N, 3] y) { y = Neg(x) }`, "--dim N=N"},
		{"missing shape", `g (float x, float y) => (float z) { z = Add(x, y) }`, "has no shape"},
		{"string", `g (string[1] x) => (string[1] y) { y = Identity(x) }`, "element type string"},
		{"sequence", `g (seq(float[1]) x) => (float[1] y) { y = SequenceAt(x, x) }`, "is a sequence"},
		{"cycle", `g (float[1] x) => (float[1] y) { a = Add(x, b) b = Neg(a) y = Neg(b) }`, "wait for each other in a cycle"},
		{"two producers", `g (float[1] x) => (float[1] y) { y = Neg(x) y = Exp(x) }`, `"y" has two producers`},
		{"no such value", `g (float[1] x) => (float[1] y) { y = Neg(z) }`, `"z" is not there`},
		{"no such output", `g (float[1] x) => (float[1] y) { z = Neg(x) }`, `output "y" is not there`},
		{"shapes do not fit", `g (float[2] x, float[3] z) => (float[3] y) { y = Add(x, z) }`, "shapes"},
		{"an attribute that no rule reads", `g (float[2] x) => (float[2] y) { y = Neg<strength = 3>(x) }`, "attribute strength is not supported"},
		{"too many inputs", `g (float[2] x) => (float[2] y) { y = Neg(x, x) }`, "it has 2 inputs"},
		{"loop without end", `g (float[1] x) => (float[1] y) { y = Loop<body = b (int64 i, bool c, float[1] v) => (bool d, float[1] w) { d = Identity(c) w = Neg(v) }>(, , x) }`, "too many to be unrolled"},
		{"if on data with two shapes", `g (float[1] x) => (float[N] y) { c = IsNaN(x) y = If<then_branch = a () => (float[2] p) { p = Concat<axis = 0>(x, x) }, else_branch = b () => (float[1] q) { q = Exp(x) }>(c) }`, "different types or shapes, and for its condition \"c\" must be known when compiling"},
		{"if on data with an index", `g (float[1] x, int64[1] i) => (float[1] y) { c = IsNaN(x) y = If<then_branch = a () => (float[1] p) { p = Gather(x, i) }, else_branch = b () => (float[1] q) { q = Exp(x) }>(c) }`, "a branch has indices that each run checks"},
		{"if on data with more values", `g (float[1] x) => (float[1] y) { c = IsNaN(x) y = If<then_branch = a () => (float[1] p, float[1] o) { p = Neg(x) o = Neg(x) }, else_branch = b () => (float[1] q) { q = Exp(x) }>(c) }`, "give 2 and 1 values"},
		{"functions that multiply", `g (float[1] x) => (float[1] y) { y = my.a(x) } <domain: "my", opset_import: ["": 17]> a (p) => (q) { r = my.b(p) s = my.b(r) t = my.b(s) q = my.b(t) }
			<domain: "my", opset_import: ["": 17]> b (p) => (q) { r = my.c(p) s = my.c(r) t = my.c(s) q = my.c(t) } <domain: "my", opset_import: ["": 17]> c (p) => (q) { r = my.d(p) s = my.d(r) t = my.d(s) q = my.d(t) }
			<domain: "my", opset_import: ["": 17]> d (p) => (q) { r = my.e(p) s = my.e(r) t = my.e(s) q = my.e(t) } <domain: "my", opset_import: ["": 17]> e (p) => (q) { r = my.f(p) s = my.f(r) t = my.f(s) q = my.f(t) }
			<domain: "my", opset_import: ["": 17]> f (p) => (q) { r = my.h(p) s = my.h(r) t = my.h(s) q = my.h(t) } <domain: "my", opset_import: ["": 17]> h (p) => (q) { r = my.i(p) s = my.i(r) t = my.i(s) q = my.i(t) }
			<domain: "my", opset_import: ["": 17]> i (p) => (q) { r = my.j(p) s = my.j(r) q = my.j(s) } <domain: "my", opset_import: ["": 17]> j (p) => (q) { q = Neg(p) }`, "are unrolled"},
		{"function that calls itself", `g (float[1] x) => (float[1] y) { y = my.f(x) } <domain: "my", opset_import: ["": 17]> f (a) => (b) { b = my.f(a) }`, "nested deeper"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := onnx.Read(onnxtest.Must(head+c.text), "model.onnx")
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = onnx.Import(context.Background(), m, onnx.Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("expected an error with %q, found %v", c.want, err)
			}
		})
	}
}

func TestReport(t *testing.T) {
	m, err := onnx.Read(onnxtest.Must(head+`g (float[1] x) => (float[1] y) { a = Exp(x) [one] b = Odd(a) [two] c = Odd(b) y = Exp(c) }`), "model.onnx")
	if err != nil {
		t.Fatal(err)
	}
	found, err := survey.Look(context.Background(), m.Graph, m.Mapping(onnx.Options{}))
	if err != nil || found.Err == nil {
		t.Fatal("expected a survey with an error", err)
	}
	var b bytes.Buffer
	if err := found.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 of 4 operations mapped", "2  Odd@17", "no-rule: no rule maps it [one, two]", "1  operations wait for those"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("expected %q in\n%s", want, b.String())
		}
	}
}

// Every prefix of a model, and every model with one byte changed, is read or refused with one error.
func TestBrokenFiles(t *testing.T) {
	whole := onnxtest.Must(head + `g (float[2, N] x) => (float[2, N] y) <float[2, 1] w = {1, 2}> { [n] y = Mul<a = [1.5, 2], b = "s">(x, w) }`)
	for n := range whole {
		if _, err := onnx.Read(whole[:n], "model.onnx"); err != nil && !strings.HasPrefix(err.Error(), "model.onnx: error: ") {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		data := bytes.Clone(whole)
		data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] ^= rapid.Byte().Draw(t, "bits")
		if m, err := onnx.Read(data, "model.onnx"); err == nil {
			onnx.Import(context.Background(), m, onnx.Options{Dims: map[string]int64{"N": 1}})
		}
	})
}

func TestReadRefuses(t *testing.T) {
	var huge []byte
	for range 3 {
		huge = protowire.AppendVarint(protowire.AppendTag(huge, 1, protowire.VarintType), 1<<62)
	}
	huge = protowire.AppendVarint(protowire.AppendTag(huge, 2, protowire.VarintType), 1)
	if _, _, err := onnx.ReadTensor(huge); err == nil || !strings.Contains(err.Error(), "2^59") {
		t.Errorf("huge sizes: %v", err)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":     {nil, "it has no graph"},
		"no opset":  {protowire.AppendBytes(protowire.AppendTag(nil, 7, protowire.BytesType), nil), "it imports no operator set"},
		"not proto": {[]byte("hello, world"), "model"},
		"text":      {onnxtest.Must("<ir_version: 8>\ng () => () { }"), "it imports no operator set"},
		"twice":     {onnxtest.Must(head + `g () => () <float[1] w = {1}, float[1] w = {2}> { }`), `two initializers have the name "w"`},
		"short":     {onnxtest.Must(head + `g () => () <float[2] w = {1}> { }`), "expected 8 bytes"},
	} {
		if _, err := onnx.Read(c.data, "model.onnx"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: expected an error with %q, found %v", name, c.want, err)
		}
	}
}

// Weights lie in the file, and a constant knows where.
func TestConstantsKnowTheirPlace(t *testing.T) {
	data := onnxtest.Must(head + `g () => () <float[3] w = {1, 2, 4}> { }`)
	m, err := onnx.Read(data, "dir/model.onnx")
	if err != nil {
		t.Fatal(err)
	}
	w := m.Graph.Consts["w"]
	if w.File != "model.onnx" || !bytes.Equal(data[w.Offset:w.Offset+12], w.Bytes) || &data[w.Offset] != &w.Bytes[0] {
		t.Errorf("found %q at %d", w.File, w.Offset)
	}
}

// external makes a model with a constant of two floats outside.
func external(entries map[string]string) []byte {
	var tensor []byte
	tensor = protowire.AppendVarint(protowire.AppendTag(tensor, 1, protowire.VarintType), 2)
	tensor = protowire.AppendVarint(protowire.AppendTag(tensor, 2, protowire.VarintType), 1)
	tensor = protowire.AppendString(protowire.AppendTag(tensor, 8, protowire.BytesType), "w")
	for _, key := range []string{"location", "offset", "length"} {
		if v, ok := entries[key]; ok {
			e := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), key)
			e = protowire.AppendString(protowire.AppendTag(e, 2, protowire.BytesType), v)
			tensor = protowire.AppendBytes(protowire.AppendTag(tensor, 13, protowire.BytesType), e)
		}
	}
	tensor = protowire.AppendVarint(protowire.AppendTag(tensor, 14, protowire.VarintType), 1)
	graph := protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), tensor)
	opset := protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 17)
	m := protowire.AppendBytes(protowire.AppendTag([]byte{8, 8}, 7, protowire.BytesType), graph)
	return protowire.AppendBytes(protowire.AppendTag(m, 8, protowire.BytesType), opset)
}

func TestExternalData(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "w.bin"), make([]byte, 20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.bin")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "model.onnx")
	m, err := onnx.Read(external(map[string]string{"location": "w.bin", "offset": "12", "length": "8"}), file)
	if err != nil {
		t.Fatal(err)
	}
	if w := m.Graph.Consts["w"]; w.File != "w.bin" || w.Offset != 12 || w.Bytes != nil {
		t.Errorf("found %q at %d", w.File, w.Offset)
	}
	for want, entries := range map[string]map[string]string{
		"no such file":            {"location": "missing.bin"},
		"only name files in":      {"location": "../w.bin"},
		"in its own folder":       {"location": "/etc/passwd"},
		"escapes":                 {"location": "link.bin"},
		"expected 8 bytes at 16":  {"location": "w.bin", "offset": "16"},
		"expected a number for":   {"location": "w.bin", "offset": "-4"},
		"expected 8 bytes for":    {"location": "w.bin", "length": "4"},
		"expected a number for o": {"location": "w.bin", "offset": "99999999999999999999"},
	} {
		if _, err := onnx.Read(external(entries), file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: expected an error with %q, found %v", entries, want, err)
		}
	}
}

// Writing a tensor and reading it gives it back, for every type that both have.
func TestTensorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(scalar.DTypes()).Draw(t, "dtype")
		shape := rapid.SliceOfN(rapid.Int64Range(0, 4), 0, 3).Draw(t, "shape")
		x := tensorfile.Tensor{DType: d, Shape: shape}
		n, err := x.Len()
		if err != nil {
			t.Fatal(err)
		}
		x.Data = make([]byte, n*int64(d.Size()))
		for i := 0; i < len(x.Data); i += d.Size() {
			switch v := rapid.IntRange(0, 7).Draw(t, "v"); {
			case d.IsBool():
				scalar.BoolValue(v > 3).Encode(x.Data[i:])
			case d.IsInt():
				scalar.IntValue(d, int64(v)).Encode(x.Data[i:])
			default:
				scalar.FloatValue(d, float64(v)/2).Encode(x.Data[i:])
			}
		}
		data, err := onnx.WriteTensor("name", x)
		if err != nil {
			t.Fatal(err)
		}
		name, back, err := onnx.ReadTensor(data)
		if err != nil || name != "name" || back.DType != d || !bytes.Equal(back.Data, x.Data) {
			t.Fatalf("%v%v came back as %q %v%v: %v", d, shape, name, back.DType, back.Shape, err)
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`g (float[2, N] x) => (float[2, N] y) <float[2, 1] w = {1, 2}> { [n] y = Mul<a = [1.5, 2], b = "s">(x, w) }`,
		`g (float[1] x) => (float[1] y) <bool c = {0}> { y = If<then_branch = a () => (float[1] p) { p = Neg(x) }, else_branch = b () => (float[1] q) { q = Exp(x) }>(c) }`,
		`g (float[1] x) => (float[1] y) <int64 n = {3}> { y = Loop<body = b (int64 i, bool c, float[1] v) => (bool d, float[1] w) { d = Identity(c) w = Add(v, v) }>(n, , x) }`,
		`g (float[1,3,8,8] x) => (float[1,2,6,6] y) <float[2,3,3,3] w = {0}> { y = Conv<pads = [0,0,0,0]>(x, w) }`,
		`g (float[4] x) => (float[2, 2] y) <int64[2] s = {2, -1}> { y = Reshape(x, s) }`,
		`g (float[2] x) => (float[2] y) { y = my.f<k = 2>(x) } <domain: "my", opset_import: ["": 17]> f <k> (a) => (b) { b = Pow<q = @k>(a, a) }`,
	} {
		if data, err := onnxtest.Model(head + text); err == nil {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := onnx.Read(data, "model.onnx")
		if err != nil {
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if g, _, err := onnx.Import(ctx, m, onnx.Options{Dims: map[string]int64{"N": 2}}); err == nil && g == nil {
			t.Error("neither a graph nor an error")
		}
	})
}

func FuzzReadTensor(f *testing.F) {
	x := tensorfile.Tensor{DType: scalar.Float32, Shape: []int64{2}, Data: make([]byte, 8)}
	data, err := onnx.WriteTensor("x", x)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		_, x, err := onnx.ReadTensor(data)
		if err != nil {
			return
		}
		if n, err := x.Len(); err != nil || n*int64(x.DType.Size()) != int64(len(x.Data)) {
			t.Errorf("%v%v with %d bytes: %v", x.DType, x.Shape, len(x.Data), err)
		}
	})
}

func TestSequences(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []float64
	}{
		"at":     {`s = SequenceConstruct(x, z) y = SequenceAt(s, m1)`, []float64{5, 6, 7}},
		"insert": {`e = SequenceEmpty() s = SequenceInsert(e, x) u = SequenceInsert(s, z, i0) y = ConcatFromSequence<axis = 0>(u)`, []float64{5, 6, 7, 1, 2, 3}},
		"erase":  {`s = SequenceConstruct(x, z) u = SequenceErase(s, i0) y = ConcatFromSequence<axis = 0, new_axis = 1>(u)`, []float64{5, 6, 7}},
		"length": {`s = SequenceConstruct(x, z) n = SequenceLength(s) y = Cast<to = 1>(n)`, []float64{2}},
		"split":  {`s = SplitToSequence(x, i2) a = SequenceAt(s, i0) b = SequenceAt(s, m1) y = Concat<axis = 0>(b, a)`, []float64{3, 1, 2}},
		"cells":  {`s = SplitToSequence<keepdims = 0>(x) y = SequenceAt(s, i2)`, []float64{3}},
		"map": {`s = SequenceConstruct(x, z) u = SequenceMap<body = b (float[3] v) => (float[3] w) { w = Neg(v) }>(s) y = SequenceAt(u, i0)`,
			[]float64{-1, -2, -3}},
		"loop": {`e = SequenceEmpty() s = Loop<body = b (int64 i, bool c, seq(float[3]) q) => (bool d, seq(float[3]) r) { d = Identity(c) r = SequenceInsert(q, x) }>(i2, , e) y = ConcatFromSequence<axis = 0>(s)`,
			[]float64{1, 2, 3, 1, 2, 3}},
		"optional": {`o = Optional(x) h = OptionalHasElement(o) g = OptionalGetElement(o) f = Cast<to = 1>(h) y = Add(g, f)`, []float64{2, 3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			text := `g (float[3] x) => (float[3] y) <float[3] z = {5, 6, 7}, int64 i0 = {0}, int64 i2 = {2}, int64 m1 = {-1}> { ` + c.text + " }"
			expect(t, run(t, head+text, onnx.Options{}, map[string][]float32{"x": {1, 2, 3}})["y"], c.want...)
		})
	}
	for want, text := range map[string]string{
		"position 3 of a sequence of 1":   `s = SequenceConstruct(x) y = SequenceAt(s, i3)`,
		"position 0 of a sequence of 0":   `s = SequenceEmpty() y = SequenceAt(s, i0)`,
		"not a tensor":                    `y = SequenceConstruct(x)`,
		"the optional value is not there": `o = Optional() y = OptionalGetElement(o)`,
		"it needs a sequence":             `n = SequenceLength(x) y = Cast<to = 1>(n)`,
		"parts of 0 cells of 3":           `s = SplitToSequence(x, i0) y = SequenceAt(s, i0)`,
		"must be known when compiling":    `a = ReduceSum(x) b = Cast<to = 7>(a) s = SequenceConstruct(x) y = SequenceAt(s, b)`,
		"the entries of a sequence of 0":  `s = SequenceEmpty() y = ConcatFromSequence<axis = 0>(s)`,
		"axis 2 of a rank of 1":           `s = SplitToSequence<axis = 2>(x) y = SequenceAt(s, i0)`,
		"sequences of 2 and 1 entries":    `s = SequenceConstruct(x, x) q = SequenceConstruct(x) u = SequenceMap<body = b (float[3] v, float[3] t) => (float[3] w) { w = Add(v, t) }>(s, q) y = SequenceAt(u, i0)`,
		"input X is not a tensor":         `s = SequenceConstruct(x) y = Neg(s)`,
	} {
		m, err := onnx.Read(onnxtest.Must(head+`g (float[3] x) => (float[3] y) <int64 i0 = {0}, int64 i3 = {3}> { `+text+" }"), "model.onnx")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := onnx.Import(context.Background(), m, onnx.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected an error with %q, found %v", want, err)
		}
	}
}

// Models of old files have attributes without a type: the field that is there tells.
func TestAttributesWithoutAType(t *testing.T) {
	attr := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "axis")
	attr = protowire.AppendVarint(protowire.AppendTag(attr, 3, protowire.VarintType), 1)
	node := protowire.AppendString(protowire.AppendTag(nil, 4, protowire.BytesType), "Flatten")
	node = protowire.AppendBytes(protowire.AppendTag(node, 5, protowire.BytesType), attr)
	graph := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), node)
	model := protowire.AppendBytes(protowire.AppendTag(nil, 7, protowire.BytesType), graph)
	model = protowire.AppendBytes(protowire.AppendTag(model, 8, protowire.BytesType), protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 7))
	m, err := onnx.Read(model, "old.onnx")
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := m.Graph.Ops[0].Attr("axis"); !ok || v.Kind != foreign.Int || v.Int != 1 {
		t.Errorf("found %v", v)
	}
}

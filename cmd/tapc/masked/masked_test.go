package masked

import (
	"bytes"
	"encoding/base64"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/text"
)

// random makes a tensor of a type, with the odd numbers that floats have.
func random(d scalar.DType, n int) tensorfile.Tensor {
	source := rand.New(rand.NewPCG(7, uint64(d)))
	t := tensorfile.Tensor{DType: d, Shape: []int64{int64(n)}, Data: make([]byte, n*d.Size())}
	for i := range n {
		v := scalar.IntValue(d, int64(source.IntN(100))-50)
		switch {
		case d.IsBool():
			v = scalar.BoolValue(i%2 == 0)
		case d.IsFloat():
			v = scalar.FloatValue(d, source.Float64()*3+1)
		case d.IsComplex():
			v = scalar.Value{DType: d, F: source.Float64(), Im: source.Float64()}
		}
		v.Encode(t.Data[i*d.Size():])
	}
	return t
}

// TestTensor holds masked tensors of every type to being tensors, between the bounds of the original, and others.
func TestTensor(t *testing.T) {
	for d := scalar.Invalid + 1; d.Valid(); d++ {
		for _, n := range []int{0, 1, 16, 64} {
			x := random(d, n)
			if y := Tensor(x); Small(d, n) && !bytes.Equal(x.Data, y.Data) {
				t.Errorf("%v: a small tensor has changed", d)
			}
		}
		x := random(d, 5000)
		y := Tensor(x)
		if err := y.Check(); err != nil || y.DType != d || !slices.Equal(x.Shape, y.Shape) {
			t.Fatalf("%v: %v", d, err)
		}
		if again := Tensor(x); !bytes.Equal(y.Data, again.Data) {
			t.Errorf("%v: masked twice it is two tensors", d)
		}
		if bytes.Equal(x.Data, y.Data) {
			t.Errorf("%v: it has not changed", d)
		}
		if d.IsComplex() || d.IsBool() {
			continue
		}
		lo, hi, some := bounds(drawn(d), x.Data)
		for i := range 5000 {
			if v := scalar.Decode(drawn(d), y.Data[i*d.Size():]); !some || less(v, lo) || less(hi, v) {
				t.Fatalf("%v: %v is not between %v and %v", d, v, lo, hi)
			}
		}
	}
}

func TestTensorWithoutFiniteElements(t *testing.T) {
	x := tensorfile.Tensor{DType: scalar.Float32, Shape: []int64{40}, Data: make([]byte, 160)}
	for i := range 40 {
		scalar.FloatValue(scalar.Float32, []float64{math.NaN(), math.Inf(1)}[i%2]).Encode(x.Data[4*i:])
	}
	y := Tensor(x)
	if v := scalar.Decode(scalar.Float32, y.Data); !(v.F >= 0 && v.F <= 1) {
		t.Error(v)
	}
	wide := tensorfile.Tensor{DType: scalar.Float64, Shape: []int64{40}, Data: make([]byte, 320)}
	for i := range 40 {
		scalar.FloatValue(scalar.Float64, math.MaxFloat64*float64(i%2*2-1)).Encode(wide.Data[8*i:])
	}
	for y, i := Tensor(wide), 0; i < 40; i++ {
		if v := scalar.Decode(scalar.Float64, y.Data[8*i:]); math.IsInf(v.F, 0) || math.IsNaN(v.F) {
			t.Error(v)
		}
	}
}

// TestGraph masks a graph with every kind of constant.
func TestGraph(t *testing.T) {
	secret := random(scalar.Float32, 40)
	numbers := strings.TrimSuffix(strings.Repeat("1.5, 2.25, ", 20), ", ")
	src := `tapc 1
%a = tensor float32 [0:40]
%b = tensor float32 [0:40]
%c = tensor float32 [0:40]
%d = tensor float32 [0:40]
%e = tensor float32 [0:3]
operation op:constant {value: [` + numbers + `]} -> (result: %a)
operation op:constant {bytes: "` + base64.StdEncoding.EncodeToString(secret.Data) + `"} -> (result: %b)
operation op:constant {file: "w.npz", key: "w"} -> (result: %c)
operation op:constant {file: "w.bin", offset: 8} -> (result: %d)
operation op:constant {value: [1.5, 2.25, 4.125]} -> (result: %e)
`
	g, err := text.Read([]byte(src), "g.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	u := Graph(g)
	if !slices.Equal(u.Files, []string{"w.npz"}) || len(u.Parts) != 1 || u.Parts[0].File != "w.bin" || u.Parts[0].Offset != 8 || u.Parts[0].DType != scalar.Float32 {
		t.Errorf("%+v", u)
	}
	var out bytes.Buffer
	if err := text.Write(&out, g, text.Options{}); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); strings.Contains(s, "1.5, 2.25, 1.5") || strings.Contains(s, base64.StdEncoding.EncodeToString(secret.Data)[:40]) || !strings.Contains(s, "[1.5, 2.25, 4.125]") {
		t.Error(s)
	}
	if _, err := text.Read(out.Bytes(), "g.tap", dialects.Registry()); err != nil {
		t.Error(err)
	}
}

func TestAmanda(t *testing.T) {
	long := make([]ir.AttrValue, 30)
	for i := range long {
		long[i] = ir.FloatAttr(float64(i) + 0.25)
	}
	inner := &amanda.Op{Attrs: ir.Attrs{{Name: "file", Value: ir.StringAttr("a.npz")}, {Name: "value", Value: ir.AttrValue{Kind: ir.AttrList, List: long}}}}
	u := Amanda([]*amanda.Op{{Ops: []*amanda.Op{inner}}})
	if v, _ := inner.Attrs.Get("value"); !slices.Equal(u.Files, []string{"a.npz"}) || len(v.List) != 30 || v.List[3].Num == 3.25 {
		t.Errorf("%v %v", u, v)
	}
}

// TestParts writes a file without a table of contents again.
func TestParts(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	x := random(scalar.Float32, 30)
	if err := os.WriteFile(from, slices.Concat([]byte("secret12"), x.Data, []byte("tail")), 0o600); err != nil {
		t.Fatal(err)
	}
	parts := []Part{{"a", 8, scalar.Float32, []int64{30}}, {"a", 8, scalar.Float32, []int64{1 << 40, 1 << 40}}, {"a", -1, scalar.Float32, nil}, {"a", 500, scalar.Int8, nil}}
	if err := Parts(from, to, parts); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(to)
	if err != nil || len(data) != 132 || !bytes.Equal(data[:8], make([]byte, 8)) || !bytes.Equal(data[8:128], Tensor(x).Data) {
		t.Errorf("%v %d", err, len(data))
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	x := random(scalar.Float16, 100)
	proto, err := onnx.WriteTensor("x", x)
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(string) error{
		"a.npy":         func(p string) error { return tensorfile.WriteNPY(p, x) },
		"a.npz":         func(p string) error { return tensorfile.WriteNPZ(p, map[string]tensorfile.Tensor{"x": x}) },
		"a.safetensors": func(p string) error { return tensorfile.WriteSafetensors(p, map[string]tensorfile.Tensor{"x": x}) },
		"a.pb":          func(p string) error { return os.WriteFile(p, proto, 0o600) },
	} {
		from, to := filepath.Join(dir, name), filepath.Join(dir, "masked-"+name)
		if err := write(from); err != nil {
			t.Fatal(err)
		}
		if err := File(from, to); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadFile(from)
		after, err := os.ReadFile(to)
		if err != nil || len(before) != len(after) || bytes.Contains(after, x.Data[:20]) {
			t.Errorf("%s: %v, %d and %d bytes", name, err, len(before), len(after))
		}
	}
}

// field appends a field of bytes.
func field(b []byte, num protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), value)
}

// sample makes a model whose weights, texts and metadata are to go.
func sample(t testing.TB) []byte {
	w, err := onnx.WriteTensor("w", random(scalar.Float32, 100))
	if err != nil {
		t.Fatal(err)
	}
	shape, err := onnx.WriteTensor("shape", random(scalar.Int64, 3))
	if err != nil {
		t.Fatal(err)
	}
	w = field(w, 12, []byte("secret text"))
	numbers := []byte(nil)
	for range 40 {
		numbers = protowire.AppendFixed32(protowire.AppendTag(numbers, 7, protowire.Fixed32Type), math.Float32bits(float32(7.0/3)))
	}
	attribute := append(field(field(nil, 1, []byte("values")), 4, []byte(strings.Repeat("secret", 100))), numbers...)
	attribute = field(attribute, 7, bytes.Repeat([]byte{0x55, 0x55, 0x15, 0x40}, 20))
	node := field(field(field(field(nil, 1, []byte("x")), 4, []byte("Relu")), 6, []byte("secret text")), 5, attribute)
	outside := field(field(protowire.AppendVarint(protowire.AppendTag(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 40), 2, protowire.VarintType), 1),
		8, []byte("out")), 13, field(field(nil, 1, []byte("location")), 2, []byte("w.bin")))
	outside = field(outside, 13, field(field(nil, 1, []byte("offset")), 2, []byte("64")))
	graph := field(field(field(field(field(nil, 1, node), 5, w), 5, shape), 5, outside), 10, []byte("secret text"))
	out := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 9)
	out = field(field(out, 7, graph), 14, field(field(nil, 1, []byte("key")), 2, []byte("secret")))
	return field(field(out, 2, []byte("producer")), 999, []byte("secret"))
}

func TestModel(t *testing.T) {
	in := sample(t)
	out, parts, err := Model(in, func(s string) string { return strings.ReplaceAll(s, "Relu", "Relu6") })
	if err != nil {
		t.Fatal(err)
	}
	if len(parts) != 1 || parts[0].File != "w.bin" || parts[0].Offset != 64 || parts[0].DType != scalar.Float32 || !slices.Equal(parts[0].Shape, []int64{40}) {
		t.Errorf("%+v", parts)
	}
	if bytes.Contains(out, []byte("secret")) || bytes.Contains(out, random(scalar.Float32, 100).Data[:16]) {
		t.Errorf("%q", out)
	}
	for _, want := range []string{"producer", "Relu6", "values", "shape", "out", "location", string(random(scalar.Int64, 3).Data)} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("%q is lost", want)
		}
	}
	again, _, err := Model(out, func(s string) string { return s })
	if err != nil || len(again) != len(out) {
		t.Errorf("%v: %d and %d bytes", err, len(again), len(out))
	}
}

// FuzzModel holds damaged models to an error or a model without the texts.
func FuzzModel(f *testing.F) {
	f.Add(sample(f))
	f.Add([]byte{0x0a})
	f.Fuzz(func(t *testing.T, data []byte) {
		out, _, err := Model(data, func(s string) string { return s })
		if err == nil && len(out) > 16*len(data)+4096 {
			t.Errorf("%d bytes became %d", len(data), len(out))
		}
	})
}

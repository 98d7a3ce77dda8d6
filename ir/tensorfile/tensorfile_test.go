package tensorfile

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/scalar"
)

// smallFloat encodes a small integer, exactly, in a float of the given mantissa bits, exponent bias and sign bit.
func smallFloat(v int, mantissa, bias, sign uint) uint64 {
	if v == 0 {
		return 0
	}
	fraction, exponent := math.Frexp(math.Abs(float64(v)))
	code := uint64(exponent-1+int(bias))<<mantissa | uint64(math.Ldexp(fraction, int(mantissa)+1))&(1<<mantissa-1)
	if v < 0 {
		code |= 1 << sign
	}
	return code
}

// element encodes element k of a fixture (see testdata/README.md).
func element(d scalar.DType, k int) []byte {
	var word uint64
	switch {
	case d == scalar.Bool:
		word = uint64(min(k%3, 1) ^ 1)
	case d == scalar.Complex64:
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(k))), math.Float32bits(float32(k-7)))
	case d == scalar.Complex128:
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(k))), math.Float64bits(float64(k-7)))
	case d == scalar.Float64:
		word = math.Float64bits(float64(k - 5))
	case d == scalar.Float32:
		word = uint64(math.Float32bits(float32(k - 5)))
	case d == scalar.Float16:
		word = smallFloat(k-5, 10, 15, 15)
	case d == scalar.BFloat16:
		word = smallFloat(k-5, 7, 127, 15)
	case d.IsSigned():
		word = uint64(int64(k - 5))
	default:
		word = uint64(k)
	}
	return binary.LittleEndian.AppendUint64(nil, word)[:d.Size()]
}

func fixture(d scalar.DType) Tensor {
	t := Tensor{DType: d, Shape: []int64{2, 3, 4}}
	for k := range 24 {
		t.Data = append(t.Data, element(d, k)...)
	}
	return t
}

func open(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestFixturesOfOthers(t *testing.T) {
	for path, want := range map[string]int{"plain.npz": 14, "turned.npz": 14, "all.safetensors": 16} {
		f := open(t, filepath.Join("testdata", path))
		checked := 0
		for _, info := range f.Tensors() {
			d, err := scalar.ParseDType(info.Name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.Load(info.Name)
			if err != nil {
				t.Fatal(err)
			}
			checked++
			if d == scalar.Float8E4M3 || d == scalar.Float8E5M2 {
				if got.DType != d || len(got.Data) != 24 {
					t.Errorf("%s: %s: got %s with %d bytes", path, info.Name, got.DType, len(got.Data))
				}
				continue
			}
			if diff := cmp.Diff(fixture(d), got); diff != "" {
				t.Errorf("%s: %s (-want +got)\n%s", path, info.Name, diff)
			}
		}
		if checked != want {
			t.Errorf("%s: %d tensors, want %d", path, checked, want)
		}
	}
}

func TestSingleFixtures(t *testing.T) {
	for path, want := range map[string]Tensor{
		"v2.npy":     fixture(scalar.Float32),
		"v3.npy":     fixture(scalar.Int16),
		"scalar.npy": {scalar.Float64, []int64{}, []byte{0, 0, 0, 0, 0, 0, 4, 0x40}},
		"vector.npy": {scalar.Int32, []int64{3}, []byte{0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}},
		"empty.npy":  {scalar.Float32, []int64{0, 4}, []byte{}},
	} {
		got, err := open(t, filepath.Join("testdata", path)).Load("")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
	}
}

// What NumPy wrote and no dtype describes is refused by name.
func TestRefusedFixtures(t *testing.T) {
	for path, want := range map[string]string{
		"bfloat16.npy": "raw records '<V2' have no element type",
		"record.npy":   "expected a type string",
		"text.npy":     `found "<U2"`,
	} {
		if _, err := Open(filepath.Join("testdata", path)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", path, err, want)
		}
	}
}

// What NumPy wrote, written again, is the same file.
func TestWriteNPYIsNumPys(t *testing.T) {
	for _, path := range []string{"scalar.npy", "vector.npy", "empty.npy"} {
		from := filepath.Join("testdata", path)
		tensor, err := open(t, from).Load("")
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), path)
		if err := WriteNPY(to, tensor); err != nil {
			t.Fatal(err)
		}
		want, _ := os.ReadFile(from)
		got, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
	}
}

// Offset and Length say where the bytes of a tensor lie, when they lie in the file.
func TestOffsets(t *testing.T) {
	direct := map[string]bool{"plain.npz": true, "all.safetensors": true, "v2.npy": true, "turned.npz": false, "v3.npy": false}
	for path, want := range direct {
		path = filepath.Join("testdata", path)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f := open(t, path)
		for _, info := range f.Tensors() {
			tensor, err := f.Load(info.Name)
			if err != nil {
				t.Fatal(err)
			}
			if (info.Offset >= 0) != want || info.Length != int64(len(tensor.Data)) {
				t.Errorf("%s: %+v: direct should be %v", path, info, want)
				continue
			}
			if want {
				if diff := cmp.Diff(tensor.Data, raw[info.Offset:info.Offset+info.Length]); diff != "" {
					t.Errorf("%s: %s: bytes at the offset differ (-want +got)\n%s", path, info.Name, diff)
				}
			}
		}
	}
}

var digests = map[string]string{ // of sha256sum
	"":    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"abc": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
}

func TestSHA256(t *testing.T) {
	for text, want := range digests {
		if got := (Tensor{scalar.UInt8, []int64{int64(len(text))}, []byte(text)}).SHA256(); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	f := open(t, "testdata/turned.npz")
	got, err := f.SHA256("float32")
	if want := fixture(scalar.Float32).SHA256(); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func drawTensor(t *rapid.T, dtypes []scalar.DType) Tensor {
	d := rapid.SampledFrom(dtypes).Draw(t, "dtype")
	shape := rapid.SliceOfN(rapid.Int64Range(0, 5), 0, 4).Draw(t, "shape")
	size, err := byteSize(d, shape)
	if err != nil {
		t.Fatal(err)
	}
	data := rapid.SliceOfN(rapid.Byte(), int(size), int(size)).Draw(t, "data")
	if d == scalar.Bool {
		for i := range data {
			data[i] &= 1
		}
	}
	return Tensor{d, shape, data}
}

func drawTensors(t *rapid.T, dtypes []scalar.DType) map[string]Tensor {
	name := rapid.StringMatching(`[a-zA-Z0-9_./:="\\ äλ-]{1,12}`)
	return rapid.MapOfN(name, rapid.Custom(func(t *rapid.T) Tensor { return drawTensor(t, dtypes) }), 0, 5).Draw(t, "tensors")
}

func dtypesOf(table map[scalar.DType]string) []scalar.DType {
	var list []scalar.DType
	for _, d := range scalar.DTypes() {
		if _, ok := table[d]; ok {
			list = append(list, d)
		}
	}
	return list
}

// Writing then reading is the identity, in all three formats, and writing twice gives the same bytes.
func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		roundTrip(t, filepath.Join(dir, "x.npz"), drawTensors(t, dtypesOf(npyTypes)), WriteNPZ)
		roundTrip(t, filepath.Join(dir, "x.safetensors"), drawTensors(t, dtypesOf(safetensorsTags)), WriteSafetensors)
		one := map[string]Tensor{"": drawTensor(t, dtypesOf(npyTypes))}
		roundTrip(t, filepath.Join(dir, "x.npy"), one, func(path string, all map[string]Tensor) error { return WriteNPY(path, all[""]) })
	})
	if left, _ := os.ReadDir(dir); len(left) != 3 {
		t.Errorf("expected 3 files, found %v", left)
	}
}

func roundTrip(t *rapid.T, path string, tensors map[string]Tensor, write func(string, map[string]Tensor) error) {
	if err := write(path, tensors); err != nil {
		t.Fatal(err)
	}
	first, _ := os.ReadFile(path)
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := map[string]Tensor{}
	for _, info := range f.Tensors() {
		if got[info.Name], err = f.Load(info.Name); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(tensors, got); diff != "" {
		t.Fatalf("%s (-want +got)\n%s", path, diff)
	}
	if err := write(path, got); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.ReadFile(path); !cmp.Equal(first, again) {
		t.Fatalf("%s: the second writing differs", path)
	}
}

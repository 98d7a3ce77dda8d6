package launchlist

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func example() *List {
	zero := uint8(0)
	return &List{
		Version:  Version,
		Module:   "k.cubin",
		Buffers:  []Buffer{{Name: "x", Bytes: 64, File: "x.bin"}, {Name: "y", Bytes: 64, Byte: &zero}},
		Launches: []Launch{{Kernel: "k", Grid: Dim{1, 1, 1}, Block: Dim{16, 1, 1}, Args: []Arg{At("x", 4), At("y", 0), I32(-3), F32(0.1)}}},
		Outputs:  []Output{{Buffer: "y", File: "y.bin"}},
		Repeat:   3,
	}
}

func TestWriteRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "launches.json")
	if err := example().Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(example(), got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v (error %v), expected the list alone", left, err)
	}
}

func TestArgRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.Uint64().Draw(t, "bits")
		all := []Arg{
			At("x", int64(bits>>1)), I32(int32(bits)), U32(uint32(bits)), I64(int64(bits)), U64(bits),
			Bits16(uint16(bits)), Bits8(uint8(bits)), F32(math.Float32frombits(uint32(bits))), F64(math.Float64frombits(bits)),
		}
		for _, want := range all {
			text, err := json.Marshal(want)
			if err != nil {
				t.Fatalf("%+v: %v", want, err)
			}
			var got Arg
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if got != want && !bothNaN(got, want) {
				t.Fatalf("%s: read %+v, wrote %+v", text, got, want)
			}
		}
	})
}

// bothNaN: JSON keeps that a float is not a number, not which one.
func bothNaN(a, b Arg) bool {
	value := func(a Arg) float64 {
		if a.Kind == KindF32 {
			return float64(math.Float32frombits(uint32(a.Bits)))
		}
		return math.Float64frombits(a.Bits)
	}
	return a.Kind == b.Kind && (a.Kind == KindF32 || a.Kind == KindF64) && math.IsNaN(value(a)) && math.IsNaN(value(b))
}

func TestArgErrors(t *testing.T) {
	for _, text := range []string{
		`5`, `{}`, `{"offset": 3}`, `{"i32": 2147483648}`, `{"u32": -1}`, `{"bits8": 256}`, `{"f32": "x"}`, `{"f32": 1e99}`,
		`{"i32": 1, "u32": 1}`, `{"i32": 1, "offset": 8}`, `{"i128": 1}`, `{"i32": [1]}`, `{"buffer": 3}`, `[1]`, `{"i32": 1.5}`,
	} {
		var a Arg
		if err := json.Unmarshal([]byte(text), &a); err == nil {
			t.Errorf("%s: read %+v, expected an error", text, a)
		}
	}
}

func TestValidate(t *testing.T) {
	cases := []struct {
		want   string
		change func(p *List)
	}{
		{"version: 2, expected 1", func(p *List) { p.Version = 2 }},
		{"repeat: -1", func(p *List) { p.Repeat = -1 }},
		{"warmup: -1", func(p *List) { p.Warmup = -1 }},
		{`buffers[1].name: "x" names an earlier buffer too`, func(p *List) { p.Buffers[1].Name = "x" }},
		{`buffers[0].name: "a b"`, func(p *List) { p.Buffers[0].Name = "a b" }},
		{"buffers[0].bytes: 0, expected 1", func(p *List) { p.Buffers[0].Bytes = 0 }},
		{"buffers[1]: all buffers together exceed", func(p *List) { p.Buffers[0].Bytes, p.Buffers[1].Bytes = MaxBytes, MaxBytes }},
		{"buffers[1]: both file and byte", func(p *List) { p.Buffers[1].File = "f" }},
		{"launches[0].kernel", func(p *List) { p.Launches[0].Kernel = "" }},
		{"launches[0].grid[1]: 0, expected 1 to 65535", func(p *List) { p.Launches[0].Grid[1] = 0 }},
		{"launches[0].block: 2048 threads", func(p *List) { p.Launches[0].Block = Dim{1024, 2, 1} }},
		{"launches[0].block[0]: 9223372036854775807", func(p *List) { p.Launches[0].Block = Dim{math.MaxInt64, 1, 1} }},
		{"launches[0].shared: -1", func(p *List) { p.Launches[0].Shared = -1 }},
		{`launches[0].args[0].buffer: no buffer is named "z"`, func(p *List) { p.Launches[0].Args[0].Buffer = "z" }},
		{"launches[0].args[0].offset: 64, expected 0 to 63", func(p *List) { p.Launches[0].Args[0].Offset = 64 }},
		{`launches[0].args[2]: unknown kind "i128"`, func(p *List) { p.Launches[0].Args[2].Kind = "i128" }},
		{`outputs[0].buffer: no buffer is named "q"`, func(p *List) { p.Outputs[0].Buffer = "q" }},
		{"outputs[0].file: empty", func(p *List) { p.Outputs[0].File = "" }},
	}
	for _, c := range cases {
		p := example()
		c.change(p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, expected %q", err, c.want)
		}
		if err := p.Write(filepath.Join(t.TempDir(), "p")); err == nil {
			t.Errorf("%s: written, expected an error", c.want)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, text := range []string{``, `{"version": 1, "buffers": [], "launches": [], "bufers": 1}`, `{"version":1} x`, `{"version":"1"}`, `{"version":1}{}`} {
		if _, err := Decode([]byte(text)); err == nil {
			t.Errorf("%q: expected an error", text)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there: expected an error")
	}
}

func FuzzDecode(f *testing.F) {
	text, err := json.Marshal(example())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Decode(text)
		if err != nil {
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(again); err != nil {
			t.Errorf("%s: read once and not twice: %v", again, err)
		}
	})
}

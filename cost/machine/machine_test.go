package machine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"
)

const small = `tapc: machine/1
name: two
devices:
  - {name: cpu, kind: cpu, units: 2, memory: 4 GiB, bandwidth: 20 GB/s, launch: 50 ns, rates: [{type: float32, row: fma, rate: 200 Gop/s, reached: 0.5}]}
`

// TestPresets: each is read, is called what its file is, is written and read again as the same, and says of every figure where it is from.
func TestPresets(t *testing.T) {
	for _, name := range Presets() {
		m, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		if m.Name != name || m.Doc == "" {
			t.Errorf("the file %s is of %q: %q", name, m.Name, m.Doc)
		}
		var text bytes.Buffer
		if err := m.Write(&text); err != nil {
			t.Fatal(err)
		}
		again, err := Read(text.Bytes(), name)
		if err != nil {
			t.Fatalf("%v\n%s", err, &text)
		}
		near := cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) <= 1e-3*math.Abs(x) }) // four digits are written
		if d := cmp.Diff(m, again, near); d != "" {
			t.Error(d)
		}
		for _, d := range m.Devices {
			if d.Source == "" && m.Source == "" {
				t.Errorf("%s does not say where the figures of %s are from", name, d.Name)
			}
		}
		for figure, source := range notOfDataSheets(m) {
			if source == "" && !strings.HasPrefix(m.Source, "tapc calibrate") {
				t.Errorf("%s does not say where %s is from, which is in no data sheet", name, figure)
			}
		}
		for _, l := range m.Links {
			if l.Source == "" {
				t.Errorf("%s does not say where the figures of %s are from", name, l.Name)
			}
		}
	}
}

// notOfDataSheets gives the sources of the figures that makers do not state, by what they are: what a kernel takes to start, what programs reach, rates of functions and of single elements.
func notOfDataSheets(m *Machine) map[string]string {
	out := map[string]string{}
	say := func(f Figure, format string, args ...any) {
		if f.Value != 0 {
			out[fmt.Sprintf(format, args...)] = f.Source
		}
	}
	for _, d := range m.Devices {
		say(d.UnitBandwidth, "unit-bandwidth of %s", d.Name)
		say(d.Launch, "launch of %s", d.Name)
		say(d.Region, "region of %s", d.Name)
		for _, c := range d.Caches {
			say(c.Bandwidth, "bandwidth of %s of %s", c.Name, d.Name)
		}
		for _, r := range d.Rates {
			say(r.Reached, "what %s of %s reaches by %s", r.Type, d.Name, r.Row)
			if r.Row != "fma" && r.Row != "mma" && r.Row != "vector" {
				say(r.Rate, "%s of %s by %s", r.Type, d.Name, r.Row)
			}
		}
	}
	for _, l := range m.Links {
		say(l.Latency, "latency of %s", l.Name)
	}
	return out
}

// TestFaults: what is wrong is told with its line, and what is near is named.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"units: 2", "unit: 2", `m.yaml:4:28: error: a key that means nothing: "unit"; did you mean "units"?`},
		{"units: 2", "units: 0", "units is no count"},
		{"units: 2", "units: 1e300", "units is no count"},
		{"units: 2", "units: two", "units is no count"},
		{"20 GB/s", "20", `bandwidth: expected a number, a space and a unit, such as "2039 GB/s"`},
		{"20 GB/s", "0 GB/s", "bandwidth: 0 is not known: leave it out"},
		{"20 GB/s", "-1 GB/s", "is no number of at least 0"},
		{"20 GB/s", "nan GB/s", "is no number of at least 0"},
		{"20 GB/s", "20 GB", "expected the unit B/s"},
		{"20 GB/s", "{value: 20 GB/s, low: 30 GB/s}", "the bounds of bandwidth do not hold it"},
		{"20 GB/s", "[20 GB/s]", "no mapping"},
		{"kind: cpu", "kind: cpv", `unknown kind "cpv"; did you mean "cpu"?`},
		{"float32", "float33", `unknown type "float33"; did you mean "float32"?`},
		{"row: fma", "row: fna", `unknown row "fna"`},
		{"reached: 0.5", "reached: 1.5", "is reached more than whole"},
		{"reached: 0.5", "beside: 999999 Top/s", "is larger beside others"},
		{"machine/1", "machine/2", `unknown tapc "machine/2"`},
		{"name: two\n", "", `the key "name" is missing`},
		{"name: two\n", "name: two\nname: three\n", "twice"},
		{"name: two\n", "name: &x two\ndoc: *x\n", "doc is no text"},
		{"name: two\n", "name: two\nlocalities: [{name: a, members: [{of: cpv, count: 1}]}]\n", `holds "cpv"; did you mean "cpu"?`},
		{"name: two\n", "name: two\nlocalities: [{name: a, members: [{of: a, count: 1}]}]\n", `the locality a holds "a"`},
		{"name: two\n", "name: two\nlocalities: [{name: a, members: [{of: cpu, count: 2}]}]\n", "nothing joins the 2 members"},
		{"name: two\n", "name: two\nlocalities: [{name: a, link: x, members: [{of: cpu, count: 2}]}]\n", `has no link "x"`},
		{"name: two\n", "name: two\nlinks: [{name: x, latency: 1 us, bandwidth: 1 GB/s}]\nlocalities: [{name: a, link: x, members: [{of: b, count: 1000000}]}, {name: b, link: x, members: [{of: cpu, count: 1000000}]}]\n",
			"too many devices"},
		{small, "", "the file is empty"},
		{small, small + "---\n{}\n", "there is more behind the first document"},
		{small, "a: [", "not YAML"},
	} {
		_, err := Read([]byte(strings.Replace(small, c.from, c.to, 1)), "m.yaml")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v\nexpected %s", c.to, err, c.want)
		}
	}
	if _, err := Read([]byte(small), "m.yaml"); err != nil {
		t.Errorf("the near miss: %v", err)
	}
}

// TestRate: a part of the units does its part, up to what all do, and what is not known is an error.
func TestRate(t *testing.T) {
	m, err := Read([]byte(small), "m.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d := &m.Devices[0]
	for units, want := range map[int64]float64{1: 50e9, 2: 100e9, 3: 100e9} {
		if r, err := d.Rate("float32", "fma", units); err != nil || math.Abs(r.Value/want-1) > 1e-12 {
			t.Errorf("%d units: %v, %v", units, r, err)
		}
	}
	if _, err := d.Rate("float64", "fma", 1); err == nil || !strings.Contains(err.Error(), "no rate of float64") {
		t.Error(err)
	}
	d.UnitBandwidth = Exactly(15e9)
	if one, two := d.MemoryBandwidth(1).Value, d.MemoryBandwidth(2).Value; one != 15e9 || two != 20e9 {
		t.Errorf("%v, %v", one, two)
	}
}

// TestRoute: between GPUs of a node by NVLink, of two nodes by their own ports, and with the host by PCI Express.
func TestRoute(t *testing.T) {
	m, err := Preset("16x8xh100")
	if err != nil {
		t.Fatal(err)
	}
	l := m.Layout()
	if n := l.Devices(); n != 16*9 {
		t.Fatalf("%d devices", n)
	}
	words := func(ports []Port) string {
		var all []string
		for _, p := range ports {
			all = append(all, p.Link.Name)
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		from, to int64
		out, in  string
	}{{0, 1, "nvlink", "nvlink"}, {0, 9, "infiniband", "infiniband"}, {0, 8, "pcie", "pcie"}, {5, 5, "", ""}, {0, 9999, "", ""}, {-1, 0, "", ""}} {
		out, in := l.Route(c.from, c.to)
		if words(out) != c.out || words(in) != c.in {
			t.Errorf("%d to %d: %q, %q", c.from, c.to, words(out), words(in))
		}
	}
	a, _ := l.Route(0, 9)
	b, _ := l.Route(1, 9)
	if a[0] == b[0] {
		t.Errorf("two GPUs have one port: %v", a)
	}
	if d, _ := l.Find(8); d.Name != "host" {
		t.Errorf("the device 8 is %s", d.Name)
	}
}

// TestFormat: what is written is read as nearly the same number.
func TestFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.SampledFrom([]Unit{PerSecond, BytesASecond, Seconds, Watts, Part}).Draw(t, "unit")
		x := math.Pow(10, rapid.Float64Range(-9, 17).Draw(t, "exponent"))
		got, err := u.Parse(u.Format(x))
		if err != nil || math.Abs(got/x-1) > 1e-3 {
			t.Fatalf("%v is %q, %v, %v", x, u.Format(x), got, err)
		}
	})
}

// TestSchema: every key of every preset is in the schema, and nothing else may be.
func TestSchema(t *testing.T) {
	var s map[string]any
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	for _, name := range Presets() {
		text, err := Text(name)
		if err != nil {
			t.Fatal(err)
		}
		var m any
		if err := yaml.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		for _, bad := range against(m, s, name) {
			t.Error(bad)
		}
	}
	if bad := against(map[string]any{"tapc": "machine/1", "nome": "x"}, s, "x"); len(bad) != 3 {
		t.Errorf("a file with a wrong key and without a name and devices: %v", bad)
	}
}

// against gives what keys of a value a schema does not have, and which it asks for.
func against(v any, s map[string]any, at string) (bad []string) {
	if either, ok := s["anyOf"].([]any); ok {
		s = either[1].(map[string]any)
	}
	switch v := v.(type) {
	case map[string]any:
		p, _ := s["properties"].(map[string]any)
		for key, x := range v {
			inner, ok := p[key].(map[string]any)
			if !ok {
				bad = append(bad, at+": the key "+key)
				continue
			}
			bad = append(bad, against(x, inner, at+"/"+key)...)
		}
		must, _ := s["required"].([]any)
		for _, key := range must {
			if _, ok := v[key.(string)]; !ok {
				bad = append(bad, at+": no "+key.(string))
			}
		}
	case []any:
		for _, x := range v {
			bad = append(bad, against(x, s["items"].(map[string]any), at)...)
		}
	}
	return bad
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(small))
	for _, name := range Presets() {
		text, _ := Text(name)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Read(data, "m.yaml")
		if err != nil {
			return
		}
		l := m.Layout()
		l.Route(0, l.Devices()-1)
		var b bytes.Buffer
		if err := m.Write(&b); err != nil {
			t.Fatal(err)
		}
	})
}

// TestDivide: devices have their part of cores and memory, and what these reach alone; together they have what all reach. What can't be divided is refused.
func TestDivide(t *testing.T) {
	m, err := Read([]byte(`tapc: machine/1
name: four
devices:
  - name: cpu
    kind: cpu
    units: 4
    memory: 4 GiB
    bandwidth: 50 GB/s
    unit-bandwidth: 20 GB/s
    read: 60 GB/s
    unit-read: 35 GB/s
    launch: 50 ns
    caches:
      - {name: L1, bytes: 32 KiB, units: 1, bandwidth: 200 GB/s}
      - {name: L2, bytes: 8 MiB, units: 4, bandwidth: 100 GB/s, read: 110 GB/s, all: 240 GB/s, all-read: 600 GB/s}
    rates: [{type: float32, row: fma, rate: 400 Gop/s, unit: 110 Gop/s}, {type: float32, row: vector, rate: 200 Gop/s, unit: 50 Gop/s}]
`), "four.yaml")
	if err != nil {
		t.Fatal(err)
	}
	two, err := m.Divide(2, Link{Name: "host", Latency: Exactly(1e-7), Bandwidth: Exactly(5e10)}, Exactly(0.9))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := two.Write(&text); err != nil {
		t.Fatal(err)
	}
	again, err := Read(text.Bytes(), "two.yaml")
	if err != nil {
		t.Fatalf("%v\n%s", err, &text)
	}
	d, all := &again.Devices[0], &again.Together().Devices[0]
	rate, _ := d.Rate("float32", "fma", 2)
	four, fourRead := m.Devices[0].Caches[1].Reached(4)
	two1, _ := m.Devices[0].Caches[1].Reached(2)
	near, _ := m.Devices[0].Caches[0].Reached(4)
	part, _ := all.Caches[1].Reached(2)
	beside, _ := all.Rate("float32", "fma", 2)
	besideOne, _ := all.Rate("float32", "fma", 1)
	paced, _ := all.Rate("float32", "vector", 2)
	own, _ := all.Caches[0].Reached(1)
	for what, x := range map[string][2]float64{
		"devices": {float64(again.Layout().Devices()), 2}, "units": {float64(d.Units), 2}, "memory": {float64(d.Memory), 2 << 30}, "rate": {rate.Value, 220e9}, "rate of all": {beside.Value, 200e9}, "of one of all": {besideOne.Value, 100e9}, "at the pace of all": {paced.Value, 90e9}, "a cache of its own of all": {own.Value, 180e9},
		"a cache of all": {four.Value, 240e9}, "read by all": {fourRead.Value, 600e9}, "a cache of two": {two1.Value, 200e9}, "a cache of each": {near.Value, 800e9},
		"a part of a cache": {part.Value, 120e9},
		"bandwidth":         {d.MemoryBandwidth(2).Value, 40e9}, "of one core": {d.MemoryBandwidth(1).Value, 20e9}, "read": {d.MemoryRead(2).Value, 60e9},
		"bandwidth of all": {all.MemoryBandwidth(2).Value, 25e9}, "of one core, of all": {all.MemoryBandwidth(1).Value, 20e9}, "read of all": {all.MemoryRead(2).Value, 30e9},
	} {
		if math.Abs(x[0]/x[1]-1) > 1e-9 {
			t.Errorf("%s is %v, expected %v", what, x[0], x[1])
		}
	}
	if out, _ := again.Layout().Route(0, 1); len(out) != 1 || out[0].Link.Name != "host" {
		t.Errorf("the route is %+v", out)
	}
	for _, c := range []struct {
		m *Machine
		n int64
	}{{m, 0}, {m, 5}, {two, 2}} {
		if _, err := c.m.Divide(c.n, Link{}, Figure{}); err == nil || !strings.Contains(err.Error(), CodeDivided) {
			t.Errorf("%d: %v", c.n, err)
		}
	}
}

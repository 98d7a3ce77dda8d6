package tune

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/cpu/configs"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// full is a config all of whose fields say something, those that are added too.
func full(t *testing.T) *schedule.Config {
	c := &schedule.Config{}
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0))
			fill(v.Index(1))
		case reflect.String:
			v.SetString("a text, \"quoted\"")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int64:
			v.SetInt(12)
		case reflect.Uint8:
			v.SetUint(1)
		default:
			t.Fatalf("configs have a field of the kind %v, which is not tuned", v.Kind())
		}
	}
	fill(reflect.ValueOf(c).Elem())
	return c
}

// TestRoundTrip: the fields of a config are all there, in texts too. A field that is added to configs and that is not would be lost.
func TestRoundTrip(t *testing.T) {
	for _, c := range []*schedule.Config{full(t), {}, {Target: "x", Stages: make([]schedule.Stage, 2)}} {
		if got := configOf(valuesOf(c)); !reflect.DeepEqual(got, c) {
			t.Errorf("found %+v, expected %+v", got, c)
		}
		got, err := readConfig(textOf(c))
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("of %s: found %+v, %v, expected %+v", textOf(c), got, err, c)
		}
	}
	for _, text := range []string{"", "[]", "{", `{"target":1}`, `{"target":"x","more":1}`, `{"stages":[1]}`, `{"stages":[{"algorithm":"none"}]}`, textOf(full(t)) + "x"} {
		if c, err := readConfig(text); err == nil && text != textOf(full(t))+"x" {
			t.Errorf("%s is read as %+v", text, c)
		}
	}
}

// TestEveryField: of each field of a config there is a neighbour that differs in it, but for the target and texts that name no operand; all are different.
func TestEveryField(t *testing.T) {
	c := full(t)
	k := &schedule.Kernel{Loops: []schedule.Loop{{End: 100}}, Operands: []schedule.Operand{{Name: "a0"}, {Name: "a1"}}}
	seen, differ := map[string]bool{textOf(c): true}, map[string]bool{}
	for _, n := range neighbours(c, k) {
		seen[textOf(n)] = true
		differences("", reflect.ValueOf(c).Elem(), reflect.ValueOf(n).Elem(), differ)
	}
	var want func(at string, v reflect.Type)
	want = func(at string, v reflect.Type) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Field(i).Name == "Workspaces" { // they follow from the others
					continue
				}
				want(at+"."+v.Field(i).Name, v.Field(i).Type)
			}
		case reflect.Slice:
			if !differ[at] {
				t.Errorf("no neighbour has another %s", at)
			}
			if v.Elem().Kind() == reflect.Struct {
				want(at, v.Elem())
			}
		case reflect.String:
		default:
			if !differ[at] {
				t.Errorf("no neighbour has another %s", at)
			}
		}
	}
	want("", reflect.TypeOf(*c))
	if differ[".Target"] {
		t.Error("a neighbour has another target")
	}
}

// differences collects the paths of fields in which two configs differ.
func differences(at string, a, b reflect.Value, out map[string]bool) {
	switch {
	case reflect.DeepEqual(a.Interface(), b.Interface()):
	case a.Kind() == reflect.Struct:
		for i := range a.NumField() {
			differences(at+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i), out)
		}
	case a.Kind() == reflect.Slice && a.Len() == b.Len() && a.Type().Elem().Kind() == reflect.Struct:
		for i := range a.Len() {
			differences(at, a.Index(i), b.Index(i), out)
		}
		out[at] = true
	default:
		out[at] = true
	}
}

// TestNeighbours of a product: register tiles, parts of the reduction, tasks, operands packed otherwise and threads; each passes the check or is refused with a
// reason, and none panics.
func TestNeighbours(t *testing.T) {
	var found, refused []string
	forms := map[string]bool{}
	for _, graph := range []string{twice, attention, convolution} {
		g := scheduled(t, graph, 0)
		for n := range g.Nodes() {
			k, ok := n.Body.(*schedule.Kernel)
			if !ok {
				continue
			}
			a := nest.Analyze(k, whole.Buffers(g))
			forms[a.Forms[0].Name()] = true
			f, r := checked(a)
			found, refused = append(found, f...), append(refused, r...)
		}
	}
	for _, want := range []string{"m 40/4, n 48/48/16", "m 40/8, n 48/16/16", "n 64/32/16", "threads", "loops", "private", "device"} {
		if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("no neighbour has %q in %q", want, found)
		}
	}
	if len(refused) == 0 || len(forms) < 3 {
		t.Errorf("%d are refused, of %d forms", len(refused), len(forms))
	}
}

// checked gives the neighbours of a kernel's config that can be written, in words, and those that cannot.
func checked(a *nest.Analysis) (found, refused []string) {
	chooser := configs.Chooser{For: isa.Scheduled}
	for _, n := range neighbours(&a.Kernel.Configs[0], a.Kernel) {
		if state(chooser, a, n) == nil {
			found = append(found, n.String())
		} else {
			refused = append(refused, n.String())
		}
	}
	return found, refused
}

const (
	attention = `%q = tensor float32 [0:2, 0:3, 0:37, 0:24]
%k = tensor float32 [0:2, 0:3, 0:45, 0:24]
%v = tensor float32 [0:2, 0:3, 0:45, 0:20]
%y = tensor float32 [0:2, 0:3, 0:37, 0:20]
operation op:attention (Q: %q, K: %k, V: %v) -> (Y: %y)
`
	convolution = `%x = tensor float32 [0:2, 0:6, 0:19, 0:19]
%w = tensor float32 [0:35, 0:6, 0:3, 0:3]
%y = tensor float32 [0:2, 0:35, 0:19, 0:19]
%p = tensor float32 [0:2, 0:19, 0:19, 0:35]
operation op:conv {groups: 1, pads: [1, 1], strides: [1, 1], dilations: [1, 1]} (X: %x, W: %w) -> (Y: %y)
operation op:permute {perm: [0, 2, 3, 1]} (tensor: %y) -> (result: %p)
`
	constants = `%x = tensor float32 [0:30, 0:5]
%w = tensor float32 [0:5, 0:3]
operation op:constant {value: [[1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 2, 3], [4, 5, 6]]} () -> (result: %w)
%y = tensor float32 [0:30, 0:3]
operation op:matmul (X: %x, W: %w) -> (Z: %y)
%i = tensor int64 [0:4]
%g = tensor float32 [0:4, 0:3]
operation op:gather {axis: 0} (tensor: %y, indices: %i) -> (result: %g)
`
)

// TestPrograms builds kernels by themselves, by the default and by another config, and compares values: those of kernels whose buffers are no rows, and of ones
// with constants.
func TestPrograms(t *testing.T) {
	l := realLab(t)
	targets, err := l.Compiler.Targets(t.Context(), "baseline")
	if err != nil {
		t.Fatal(err)
	}
	l.CPU, l.Target, l.Dir = "baseline", targets[0], t.TempDir()
	built := 0
	for _, graph := range []string{convolution, constants} {
		g := scheduled(t, graph, 0)
		for n := range g.Nodes() {
			if _, ok := n.Body.(*schedule.Kernel); ok {
				built += programs(t, l, g, n.ID)
			}
		}
	}
	if built < 5 {
		t.Errorf("%d programs were built", built)
	}
}

// programs builds a kernel by two configs, and says how many there are.
func programs(t *testing.T, l backends.Lab, g *ir.Graph, id ir.NodeID) int {
	k, err := Isolate(g, id)
	if err != nil {
		t.Fatal(err)
	}
	a, chooser := k.Analysis(), l.Chooser()
	var first map[string]tensorfile.Tensor
	built := 0
	for _, c := range chooser.Candidates(a) {
		if state(chooser, a, c.Config) != nil || built == 2 {
			continue
		}
		p, err := l.Build(t.Context(), k.With(c.Config))
		if err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		values, err := p.Values(t.Context())
		if built++; first == nil {
			first = values
		}
		if err != nil || backends.Agree(first, values, 0) != nil {
			t.Errorf("%s, %s: %v, %v", k.Name, c.Config, err, backends.Agree(first, values, 0))
		}
		if seconds, err := p.Time(t.Context()); err != nil || seconds <= 0 {
			t.Errorf("%s: %v s, %v", k.Name, seconds, err)
		}
	}
	return built
}

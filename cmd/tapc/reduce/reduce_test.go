package reduce

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/pipeline"
)

func read(t *testing.T, body string) *ir.Graph {
	t.Helper()
	g, err := text.Read([]byte("tapc 1\n"+body), "t.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func write(t *testing.T, g *ir.Graph) string {
	t.Helper()
	var b strings.Builder
	if err := text.Write(&b, g, text.Options{}); err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(b.String(), "tapc 1\n")
}

// has makes a test that holds if every operation of some kernels is there.
func has(kernels ...string) func(context.Context, *ir.Graph) (bool, error) {
	return func(_ context.Context, g *ir.Graph) (bool, error) {
		found := map[string]bool{}
		for n := range g.Nodes() {
			if op, ok := n.Body.(*tensorops.Operation); ok {
				found[op.Kernel] = true
			}
		}
		for _, k := range kernels {
			if !found[k] {
				return false, nil
			}
		}
		return true, nil
	}
}

func isValid(ctx context.Context, g *ir.Graph) bool {
	return !pipeline.StageOf(g).Environment().Verify(ctx, g).HasErrors()
}

// chain makes a row of operations op:k0, op:k1, … over tensors of 7 by 12.
func chain(n int) string {
	var b strings.Builder
	b.WriteString("%t0 = tensor float32 [3:10, 0:12]\n")
	for i := range n {
		fmt.Fprintf(&b, "%%t%d = tensor float32 [3:10, 0:12]\n%%o%d = operation op:k%d {p: 1} (x: %%t%d) -> (y: %%t%d) index [3:10, 0:12]\n", i+1, i, i, i, i+1)
	}
	return b.String()
}

func TestOnlyWhatIsNeededIsLeft(t *testing.T) {
	for _, k := range []struct {
		name, graph string
		keep        []string
		valid       bool
		want        string
	}{
		{"one of many, anything goes", chain(9), []string{"op:k4"}, false, "operation op:k4\n"},
		{"two that are far apart", chain(9), []string{"op:k1", "op:k7"}, false, "operation op:k1\noperation op:k7\n"},
		{"nothing", chain(3), nil, false, ""},
		{"shards become one, then none", "%x = tensor int8 [0:8]\n%f = operation op:f () -> (y: %x)\n" +
			"application %f () -> (y: %x[0:4])\napplication %f () -> (y: %x[4:8])\n", []string{"op:f"}, true,
			"operation op:f\n"},
	} {
		o := Options{Test: has(k.keep...)}
		if k.valid {
			o.Valid = isValid
		}
		g := read(t, k.graph)
		before := write(t, g)
		r, err := Graph(context.Background(), g, o)
		if err != nil {
			t.Errorf("%s: %v", k.name, err)
			continue
		}
		if diff := cmp.Diff(k.want, write(t, r.Graph)); diff != "" || !r.Full {
			t.Errorf("%s: %v %s", k.name, r.Full, diff)
		}
		if write(t, g) != before {
			t.Errorf("%s: the input has changed", k.name)
		}
	}
}

// minimal runs a reduction with a test of the graph's text: patterns that it must match.
func minimal(t *testing.T, graph string, valid bool, parts ...string) string {
	t.Helper()
	o := Options{Test: func(_ context.Context, g *ir.Graph) (bool, error) {
		s := write(t, g)
		for _, p := range parts {
			if !regexp.MustCompile(p).MatchString(s) {
				return false, nil
			}
		}
		return true, nil
	}}
	if valid {
		o.Valid = isValid
	}
	r, err := Graph(context.Background(), read(t, graph), o)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, r.Graph)
}

func TestDimensionsBecomeShort(t *testing.T) {
	got := minimal(t, chain(2), true, `\(x: `, `\(y: `, "index", "op:k1")
	want := "%0 = tensor float32 [3:4, 0:1]\n%1 = tensor float32 [3:4, 0:1]\noperation op:k1 (x: %0) -> (y: %1)\n    index [3:4, 0:1]\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = minimal(t, "%x = tensor int8 [0:9, 0:9, 0:20]\n", false, ":20\\]")
	if diff := cmp.Diff("tensor int8 [0:1, 0:1, 0:20]\n", got); diff != "" {
		t.Error(diff)
	}
}

func TestEntriesOfPortsGo(t *testing.T) {
	graph := "%x = tensor int8 [0:9]\n%y = tensor int8 [0:9]\n%z = tensor int8 [0:9]\n" +
		"%f = operation op:f (a: [%x, %y, %x], m: %x) -> (z: %z) index [0:9] signature (a: [(d0) -> [d0] + [1], (d0) -> [d0] + [1], (d0) -> [d0] + [1]], m: (d0) -> [d0] + [1]) -> (z: (d0) -> [d0] + [1])\n" +
		"application %f (a: [%x, %y, %x], m: %x) -> (z: %z) index [0:9]\n"
	got := minimal(t, graph, true, `\(a: .*%y`, "signature", "application")
	want := "%y = tensor int8 [0:1]\n%0 = operation op:f (a: %y)\n    index [0:1]\n    signature (a: (d0) -> [d0] + [1]) -> ()\napplication %0 (a: %y)\n    index [0:1]\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheBoundOnTests(t *testing.T) {
	r, err := Graph(context.Background(), read(t, chain(30)), Options{Test: has("op:k3", "op:k20"), Tests: 5})
	if err != nil || r.Full || r.Tests != 6 {
		t.Errorf("%+v %v", r, err)
	}
	if ok, _ := has("op:k3", "op:k20")(context.Background(), r.Graph); !ok {
		t.Error("the result does not show it")
	}
}

func TestErrors(t *testing.T) {
	g := read(t, chain(3))
	if _, err := Graph(context.Background(), g, Options{Test: has("op:none")}); !errors.Is(err, ErrNotShown) {
		t.Error(err)
	}
	asked := 0
	_, err := Graph(context.Background(), g, Options{Test: func(context.Context, *ir.Graph) (bool, error) { asked++; return asked == 1, nil }})
	if !errors.Is(err, ErrUnsteady) {
		t.Error(err)
	}
	broken := errors.New("broken")
	if _, err := Graph(context.Background(), g, Options{Test: func(context.Context, *ir.Graph) (bool, error) { return false, broken }}); !errors.Is(err, broken) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(broken)
	if _, err := Graph(ctx, g, Options{Test: has("op:k0")}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

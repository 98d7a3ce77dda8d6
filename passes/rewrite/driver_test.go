package rewrite_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/rewrite/rewritetest"
)

const (
	negNeg   = `rule neg-neg: neg(neg(x)) => x because "-(-x) = x"` + "\n"
	reluRelu = `rule relu-relu: relu(relu(x)) => relu(x) because "max is idempotent"` + "\n"
)

// observed are graphs before and after rewriting.
var observed = []struct{ name, in, out string }{
	{"unobserved result forwards", `
		a = neg(x)
		b = neg(a)
		y = exp(b)`, `
		y = exp(x)`},
	{"the output of the program keeps its tensor", `
		a = relu(x)
		y = relu(a)`, `
		y = relu(x)`},
	{"an output can not become an input", `
		a = neg(x)
		y = neg(a)`, `
		a = neg(x)
		y = neg(a)`},
	{"the producer writes the output instead", `
		e = exp(x)
		a = neg(e)
		y = neg(a)`, `
		y = exp(x)`},
	{"but not if the output would be consumed", `
		e = exp(x)
		a = neg(e)
		y = neg(a)
		z = exp(e)`, `
		e = exp(x)
		a = neg(e)
		y = neg(a)
		z = exp(e)`},
	{"what a sink observes may be consumed as well", `
		e = exp(x)
		a = neg(e)
		y = neg(a)
		o = !save(y)
		z = exp(e)`, `
		y = exp(x)
		o = save(y)
		z = exp(y)`},
	{"what an effect selects keeps its tensor", `
		a = relu(x)
		b = relu(a)
		o = !save(b)`, `
		b = relu(x)
		o = save(b)`},
	{"effects are not looked through", `
		a = !neg(x)
		b = neg(a)
		y = exp(b)`, `
		a = neg(x)
		b = neg(a)
		y = exp(b)`},
	{"other consumers keep the middle", `
		a = neg(x)
		b = neg(a)
		y = add(a, b)`, `
		a = neg(x)
		y = add(a, x)`},
	{"long chains collapse", `
		a = neg(x)
		b = neg(a)
		c = neg(b)
		d = neg(c)
		e = neg(d)
		y = exp(e)`, `
		e = neg(x)
		y = exp(e)`},
	{"consumers may come before producers", `
		y = exp(b)
		b = neg(a)
		a = neg(x)`, `
		y = exp(x)`},
}

func TestObserved(t *testing.T) {
	for _, c := range observed {
		t.Run(c.name, func(t *testing.T) {
			b := rewritetest.Of(t, c.in)
			rewritetest.Run(t, b, rewritetest.Rules(t, negNeg+reluRelu), rewrite.Options{})
			rewritetest.Want(t, b, c.out)
			if b.G.Node(b.IDs["x"]) == nil {
				t.Error("a graph input is gone")
			}
		})
	}
}

func TestPinned(t *testing.T) {
	b := rewritetest.Of(t, "a = neg(x)\n b = neg(a)\n y = exp(b)")
	b.G.Add(&schedule.Buffer{Tensor: b.IDs["b"], Over: -1}, "")
	rewritetest.Run(t, b, rewritetest.Rules(t, negNeg), rewrite.Options{})
	rewritetest.Want(t, b, "a = neg(x)\n b = neg(a)\n y = exp(b)")
}

func TestFuelAndDisable(t *testing.T) {
	text := "a = neg(x)\n b = neg(a)\n c = relu(b)\n d = relu(c)\n e = relu(d)\n y = exp(e)"
	for fuel, out := range []string{
		text,
		"c = relu(x)\n d = relu(c)\n e = relu(d)\n y = exp(e)",
		"d = relu(x)\n e = relu(d)\n y = exp(e)",
		"e = relu(x)\n y = exp(e)",
	} {
		b := rewritetest.Of(t, text)
		f := &rewrite.Fuel{Left: fuel}
		s := rewritetest.Run(t, b, rewritetest.Rules(t, negNeg+reluRelu), rewrite.Options{Fuel: f})
		rewritetest.Want(t, b, out)
		if s.Applied != fuel || f.Left != 0 || s.OutOfFuel != (fuel < 3) {
			t.Errorf("fuel %d: %+v, %d left", fuel, s, f.Left)
		}
	}
	b := rewritetest.Of(t, text)
	s := rewritetest.Run(t, b, rewritetest.Rules(t, negNeg+reluRelu), rewrite.Options{Disable: []string{"relu-relu"}})
	if s.Of("neg-neg") != 1 || s.Of("relu-relu") != 0 {
		t.Errorf("%+v", s)
	}
}

func TestCycle(t *testing.T) {
	b := rewritetest.Of(t, "a = relu(x)\n y = exp(a)")
	rs := rewritetest.Rules(t, `
		rule one: relu(x) => neg(x) because "a lie"
		rule two: neg(x) => exp(x) because "a lie"
		rule three: exp(x) => relu(x) because "a lie"`)
	_, err := rewrite.Run(context.Background(), b.G, rs, rewrite.Options{})
	var cycle *rewrite.CycleError
	if !errors.As(err, &cycle) || len(cycle.Rules) != 3 {
		t.Fatalf("%v", err)
	}
	at := slices.Index(cycle.Rules, "one")
	turned := append(slices.Clone(cycle.Rules[at:]), cycle.Rules[:at]...)
	if strings.Join(turned, " ") != "one two three" || !strings.Contains(err.Error(), " → ") {
		t.Errorf("%v", err)
	}
}

func TestGrowthEnds(t *testing.T) {
	b := rewritetest.Of(t, "y = exp(x)")
	rs := rewritetest.Rules(t, `rule grow: exp(x) => exp(neg(x) like x) because "a lie"`)
	_, err := rewrite.Run(context.Background(), b.G, rs, rewrite.Options{Limit: 50})
	var cycle *rewrite.CycleError
	if !errors.As(err, &cycle) || !slices.Equal(cycle.Rules, []string{"grow"}) {
		t.Fatalf("%v", err)
	}
}

func TestOrigin(t *testing.T) {
	b := rewritetest.Of(t, "a = relu(x)\n b = relu(a)\n y = relu(b)")
	rewritetest.Run(t, b, rewritetest.Rules(t, reluRelu), rewrite.Options{})
	rewritetest.Want(t, b, "y = relu(x)")
	for n := range b.G.Nodes() {
		if n.Body.Kind() != tensorops.OperationKind {
			continue
		}
		var lines []int32
		for _, p := range n.Origin().From {
			lines = append(lines, p.Line)
		}
		if n.Origin().Rule != "relu-relu" || !slices.Equal(lines, []int32{3, 2, 1}) || n.Pos.Line != 3 {
			t.Errorf("%+v at %v", n.Origin(), n.Pos)
		}
	}
}

func TestInnerOperations(t *testing.T) {
	b := rewritetest.Of(t, "a = relu(x)\n y = exp(a)")
	s := rewritetest.Run(t, b, rewritetest.Rules(t, `rule inner: exp(relu(x)) => exp(neg(x) like x) because "a lie"`), rewrite.Options{Verify: true})
	if s.Applied != 1 || !strings.Contains(b.String(), "= neg(x)") || !strings.Contains(b.String(), "y = exp(%") {
		t.Errorf("%+v\n%s", s, b.String())
	}
}

// dropSecond is a rule on a foreign kernel: an operation of which only the first argument matters.
var dropSecond = rewrite.Rule{Name: "first", Roots: []string{"first"}, Match: func(s *rewrite.Site) (rewrite.Result, bool) {
	return rewrite.One(rewrite.Operand{Sel: s.Op.Inputs.At(0).Sel[0]}), true
}}

func TestSeveralOutputs(t *testing.T) {
	cases := []struct{ name, in, out string }{
		{"what dies with all its outputs goes", `
			p q = pair(x)
			a = first(x, p, q)
			y = exp(a)`, `
			y = exp(x)`},
		{"an output whose sibling lives must not become a result of the program", `
			p q = pair(x)
			a = first(x, p)
			y = add(a, q)`, `
			p q = pair(x)
			a = first(x, p)
			y = add(a, q)`},
		{"an observed sibling keeps it too", `
			p q = pair(x)
			a = first(x, p)
			y = exp(a)`, `
			p q = pair(x)
			a = first(x, p)
			y = exp(a)`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := rewritetest.Of(t, c.in)
			rewritetest.Run(t, b, []rewrite.Rule{dropSecond}, rewrite.Options{})
			rewritetest.Want(t, b, c.out)
		})
	}
}

// TestSharedResult has a rule that gives a root with two outputs a form with two outputs, one with a helper operation.
func TestSharedResult(t *testing.T) {
	split := rewrite.Rule{Name: "split", Roots: []string{"pair"}, Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		in := s.Op.Inputs.At(0).Sel[0]
		out := func(port string) rewrite.Output {
			return rewrite.Output{Port: port, DType: "float32", Range: in.Range()}
		}
		inner := &rewrite.Op{Kernel: "neg", Inputs: []rewrite.Input{{Port: "tensor", Args: []rewrite.Operand{{Sel: in}}}},
			Outputs: []rewrite.Output{out("result")}}
		two := &rewrite.Op{Kernel: "two", Inputs: []rewrite.Input{{Port: "a", Args: []rewrite.Operand{{New: inner}}}},
			Outputs: []rewrite.Output{out("u"), out("v")}}
		return rewrite.Result{Outputs: []rewrite.Operand{{New: two, Out: 1}, {New: two}}}, true
	}}
	b := rewritetest.Of(t, "p q = pair(x)\n y = add(p, q)")
	rewritetest.Run(t, b, []rewrite.Rule{split}, rewrite.Options{})
	if got := b.String(); !strings.Contains(got, "q p = two(%") || !strings.Contains(got, "= neg(x)") {
		t.Error(got)
	}
}

func TestDead(t *testing.T) {
	text := "a = neg(x)\n b = exp(a)\n c = relu(x)\n d = exp(c)\n k = constant()\n s = !save(x)"
	b := rewritetest.Of(t, text)
	s, err := rewrite.RemoveDead(context.Background(), b.G, "dce", rewrite.Options{})
	if err != nil || s.Applied != 1 {
		t.Fatal(s, err)
	}
	rewritetest.Want(t, b, "a = neg(x)\n b = exp(a)\n c = relu(x)\n d = exp(c)\n s = save(x)")
	for _, disable := range [][]string{{"dce"}, nil} {
		if s, err = rewrite.RemoveDead(context.Background(), b.G, "dce", rewrite.Options{Outputs: []string{"d"}, Disable: disable}); err != nil {
			t.Fatal(err)
		}
	}
	rewritetest.Want(t, b, "c = relu(x)\n d = exp(c)\n s = save(x)")
	if s.Removed != 2 || b.G.Node(b.IDs["a"]) != nil || b.G.Node(b.IDs["x"]) == nil {
		t.Errorf("%+v", s)
	}
}

func TestBadGraphs(t *testing.T) {
	b := rewritetest.Of(t, "a = neg(b)\n b = neg(a)")
	if _, err := rewrite.Run(context.Background(), b.G, nil, rewrite.Options{}); err == nil || !strings.Contains(err.Error(), "cycle") {
		t.Errorf("cycle: %v", err)
	}
	b = rewritetest.Of(t, "a = neg(x)")
	b.G.Remove(b.IDs["x"])
	if _, err := rewrite.Run(context.Background(), b.G, nil, rewrite.Options{}); err == nil || !strings.Contains(err.Error(), "not a tensor") {
		t.Errorf("dangling: %v", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b := rewritetest.Of(t, "a = neg(x)")
	if _, err := rewrite.Run(ctx, b.G, nil, rewrite.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestVerifyNamesTheRule(t *testing.T) {
	b := rewritetest.Of(t, "y = exp(x)")
	bad := rewrite.Rule{Name: "bad", Roots: []string{"exp"}, Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		out, _ := s.Result()
		return rewrite.One(rewrite.Operand{New: &rewrite.Op{Kernel: "relu", Outputs: []rewrite.Output{{Port: "result", DType: "float32", Range: out.Range()}}}}), true
	}}
	_, err := rewrite.Run(context.Background(), b.G, []rewrite.Rule{bad}, rewrite.Options{Verify: true})
	if err == nil || !strings.Contains(err.Error(), "rule bad") || !strings.Contains(err.Error(), "misses a port") {
		t.Errorf("%v", err)
	}
}

// TestWideUse has one tensor with many consumers that leave it one by one, which must not take quadratic time; a quadratic
// walk of 60000 consumers would take very long.
func TestWideUse(t *testing.T) {
	var text strings.Builder
	text.WriteString("z = neg(x)\n")
	for i := range 60000 {
		fmt.Fprintf(&text, "a%d = first(w, z)\nb%d = exp(a%d)\n", i, i, i)
	}
	b := rewritetest.Of(t, text.String())
	s := rewritetest.Run(t, b, []rewrite.Rule{dropSecond}, rewrite.Options{})
	if s.Applied != 60000 || b.G.Node(b.IDs["z"]) != nil {
		t.Errorf("%d applications", s.Applied)
	}
}

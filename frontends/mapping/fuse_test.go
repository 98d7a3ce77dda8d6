package mapping

import (
	"context"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/rules"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

func number(v float64) *foreign.Data {
	d := &foreign.Data{DType: scalar.Float32, Shape: []int64{}, Bytes: make([]byte, 4)}
	scalar.FloatValue(scalar.Float32, v).Encode(d.Bytes)
	return d
}

// lines makes a graph of lines such as "y = Add(x, a)"; x is the input, of shape 2x3, and the last result the output.
func lines(version int64, consts map[string]*foreign.Data, text string) *foreign.Graph {
	g := &foreign.Graph{File: "m", Namespace: "onnx", Versions: map[string]int64{"": version}, Consts: consts,
		Inputs: []foreign.Port{{Name: "x", DType: scalar.Float32, Ranked: true, Shape: []foreign.Size{{Value: 2}, {Value: 3}}}}}
	if consts == nil {
		g.Consts = map[string]*foreign.Data{}
	}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		out, call, _ := strings.Cut(strings.TrimSpace(line), " = ")
		typ, args, _ := strings.Cut(strings.TrimSuffix(call, ")"), "(")
		g.Ops = append(g.Ops, &foreign.Op{Name: out, Type: typ, In: strings.Split(args, ", "), Out: []string{out}})
		g.Outputs = []foreign.Port{{Name: out}}
	}
	return g
}

func mapped(t *testing.T, g *foreign.Graph, tables []*rules.Table) (*ir.Graph, *Report) {
	t.Helper()
	out, report, err := Map(context.Background(), g, Options{Tables: tables})
	if err != nil {
		t.Fatal(err)
	}
	return out, report
}

func kernelsOf(g *ir.Graph) string {
	var list []string
	for n := range g.Nodes() {
		if o, ok := n.Body.(*tensorops.Operation); ok && !o.IsImport() && !o.IsSink() {
			list = append(list, strings.TrimPrefix(o.Kernel, "op:"))
		}
	}
	return strings.Join(list, " ")
}

func compute(t *testing.T, g *ir.Graph, x []float64) []float64 {
	t.Helper()
	in := tensorfile.Tensor{DType: scalar.Float32, Shape: []int64{2, 3}, Data: make([]byte, 24)}
	for i, v := range x {
		scalar.FloatValue(scalar.Float32, v).Encode(in.Data[4*i:])
	}
	ev := reference.Evaluator{Library: kernels.Builtin(), Constants: (&constants.Loader{}).Load}
	out, err := ev.Evaluate(context.Background(), g, map[string]tensorfile.Tensor{"x": in})
	if err != nil {
		t.Fatal(err)
	}
	var values []float64
	for _, y := range out {
		for i := 0; i < len(y.Data); i += 4 {
			values = append(values, scalar.Decode(scalar.Float32, y.Data[i:]).F)
		}
	}
	return values
}

// plainTables are the built-in tables without the rules for several operations.
func plainTables() []*rules.Table {
	var out []*rules.Table
	for _, t := range rules.For("onnx", nil) {
		c := *t
		c.Fuses = nil
		out = append(out, &c)
	}
	return out
}

const gelu = "u = Div(x, root)\nv = Erf(u)\nq = Add(v, one)\np = Mul(x, q)\nz = Mul(p, half)"

func geluConsts() map[string]*foreign.Data {
	return map[string]*foreign.Data{"root": number(math.Sqrt2), "one": number(1), "half": number(0.5)}
}

// The spellings of Gelu become one operation; what is only nearly one does not.
func TestGelu(t *testing.T) {
	tables := rules.For("onnx", nil)
	for name, text := range map[string]string{
		"outer":   gelu,
		"swapped": "u = Div(x, root)\nv = Erf(u)\nq = Add(one, v)\np = Mul(q, x)\nz = Mul(half, p)",
		"first":   "h = Mul(half, x)\nu = Div(x, root)\nv = Erf(u)\nq = Add(v, one)\nz = Mul(q, h)",
		"inner":   "u = Div(x, root)\nv = Erf(u)\nq = Add(v, one)\nh = Mul(half, q)\nz = Mul(h, x)",
	} {
		g, report := mapped(t, lines(13, geluConsts(), text), tables)
		if k := kernelsOf(g); k != "gelu" {
			t.Errorf("%s: expected gelu, found %s", name, k)
		}
		if len(report.Mapped) == 0 || !strings.HasPrefix(report.Mapped[0].Rule, "onnx_fuse.gelu") || report.Total != 5 {
			t.Errorf("%s: expected five operations mapped by a rule for several, found %+v", name, report.Mapped)
		}
	}
	other := geluConsts()
	other["half"] = number(0.6)
	if g, _ := mapped(t, lines(13, other, gelu), tables); strings.Contains(kernelsOf(g), "gelu") {
		t.Error("another constant is no Gelu")
	}
	escaped := lines(13, geluConsts(), gelu)
	escaped.Outputs = append(escaped.Outputs, foreign.Port{Name: "q"})
	if g, _ := mapped(t, escaped, tables); strings.Contains(kernelsOf(g), "gelu") {
		t.Error("a value inside of the pattern that is used elsewhere keeps it from matching")
	}
	apart := lines(13, geluConsts(), strings.Replace(gelu, "Mul(x, q)", "Mul(v, q)", 1))
	if g, _ := mapped(t, apart, tables); strings.Contains(kernelsOf(g), "gelu") {
		t.Error("another value in the place of x is no Gelu")
	}
}

// What a rule for several operations gives is what they give one by one.
func TestFusedValues(t *testing.T) {
	vector := func(a, b, c float64) *foreign.Data {
		d := &foreign.Data{DType: scalar.Float32, Shape: []int64{3}, Bytes: make([]byte, 12)}
		for i, v := range []float64{a, b, c} {
			scalar.FloatValue(scalar.Float32, v).Encode(d.Bytes[4*i:])
		}
		return d
	}
	norm := func() *foreign.Graph {
		g := lines(13, map[string]*foreign.Data{"e": number(1e-5), "two": number(2), "s": vector(1, 2, 0.5), "b": vector(0, 1, -1)},
			"m = ReduceMean(x)\nd = Sub(x, m)\nq = Pow(d, two)\nv = ReduceMean(q)\na = Add(v, e)\nr = Sqrt(a)\nn = Div(d, r)\nt = Mul(n, s)\nz = Add(t, b)")
		for _, i := range []int{0, 3} {
			g.Ops[i].Attrs = []foreign.Attr{{Name: "axes", Value: foreign.IntsValue([]int64{-1})}}
		}
		return g
	}
	g, _ := mapped(t, norm(), rules.For("onnx", nil))
	if k := kernelsOf(g); k != "layer_norm" && k != "constant constant layer_norm" {
		t.Fatalf("expected layer_norm, found %s", k)
	}
	apart := norm()
	apart.Ops[3].Attrs = []foreign.Attr{{Name: "axes", Value: foreign.IntsValue([]int64{0})}}
	if g, _ := mapped(t, apart, rules.For("onnx", nil)); strings.Contains(kernelsOf(g), "layer_norm") {
		t.Error("means over different dimensions are no layer norm")
	}
	rapid.Check(t, func(rt *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-4, 4), 6, 6).Draw(rt, "x")
		for _, make := range []func() *foreign.Graph{norm, func() *foreign.Graph { return lines(13, geluConsts(), gelu) }} {
			one, _ := mapped(t, make(), rules.For("onnx", nil))
			many, _ := mapped(t, make(), plainTables())
			a, b := compute(t, one, x), compute(t, many, x)
			for i := range a {
				if math.Abs(a[i]-b[i]) > 1e-4*(1+math.Abs(b[i])) {
					rt.Fatalf("at %d: %v one by one, %v as one", i, b[i], a[i])
				}
			}
		}
	})
}

const userTable = `table mine : onnx
commutes Add
fuse twice (x) -> (y)
  match a = Add(x, x)
  match b = Neg(a)
  need rank(x) == 3, "only rank 3"
  let y = @Mul(x, tensor(-2.0, dtype(x), []))
`

func parse(t *testing.T, text string) []*rules.Table {
	t.Helper()
	table, err := rules.Parse("mine.map", text)
	if err != nil {
		t.Fatal(err)
	}
	return rules.For("onnx", []*rules.Table{table})
}

// When a rule for several operations does not apply after all, they are mapped one by one.
func TestFuseFallsBack(t *testing.T) {
	text := "a = Add(x, x)\nb = Neg(a)"
	if g, _ := mapped(t, lines(13, nil, text), parse(t, userTable)); kernelsOf(g) != "add neg" {
		t.Errorf("expected add neg, found %s", kernelsOf(g))
	}
	g, _ := mapped(t, lines(13, nil, text), parse(t, strings.Replace(userTable, "== 3", "== 2", 1)))
	if kernelsOf(g) != "mul" && kernelsOf(g) != "constant mul" {
		t.Errorf("expected mul, found %s", kernelsOf(g))
	}
	for n := range g.Nodes() {
		if o, ok := n.Body.(*tensorops.Operation); ok && o.Kernel == "op:mul" && n.Origin().Rule != "mine.twice → onnx_math.Mul@7" {
			t.Errorf("expected the names of both rules, found %q", n.Origin().Rule)
		}
	}
}

const hops = `table mine_6 : onnx 6 -> 7
rule Thrice (x) -> (y)
  attrs by = 3
  let y = @Mul(x, tensor(by, dtype(x), []))
carry Neg
`

// Tables from one version to the next are composed; an operation that none carries on is not mapped.
func TestHops(t *testing.T) {
	five := strings.NewReplacer("mine_6", "mine_5", "6 -> 7", "5 -> 6", "@Mul(x, tensor(by, dtype(x), []))", "@Thrice(x){by: by}").Replace(hops)
	a, err := rules.Parse("a", hops)
	if err != nil {
		t.Fatal(err)
	}
	b, err := rules.Parse("b", five)
	if err != nil {
		t.Fatal(err)
	}
	tables := rules.For("onnx", []*rules.Table{a, b})
	g, _ := mapped(t, lines(5, nil, "y = Thrice(x)\nz = Neg(y)"), tables)
	if k := kernelsOf(g); k != "mul neg" && k != "constant mul neg" {
		t.Errorf("expected mul neg, found %s", k)
	}
	for _, text := range []string{"y = Thrice(x)", "y = Fourfold(x)"} {
		version := int64(7)
		if strings.Contains(text, "Four") {
			version = 5
		}
		if _, _, err := Map(context.Background(), lines(version, nil, text), Options{Tables: tables}); err == nil || !strings.Contains(err.Error(), "no rule maps it") {
			t.Errorf("%s at %d: expected no rule, found %v", text, version, err)
		}
	}
}

// Rules that stand for each other end with a refusal, however they branch.
func TestRulesThatStandForEachOther(t *testing.T) {
	tables := parse(t, "table mine : onnx\nrule Ping (x) -> (y)\n  let y = @Pong(@Pong(x))\nrule Pong (x) -> (y)\n  let y = @Ping(@Ping(x))\n")
	_, _, err := Map(context.Background(), lines(13, nil, "y = Ping(x)"), Options{Tables: tables})
	if err == nil || !strings.Contains(err.Error(), "stand for") && !strings.Contains(err.Error(), "stands for") {
		t.Errorf("expected a refusal, found %v", err)
	}
}

// Faults of patterns are found when a table is read, with their line.
func TestPatternFaults(t *testing.T) {
	for text, want := range map[string]string{
		"fuse f (x) -> (y)\n  match z = Add(x, x)\n  let y = x":                                "at least two",
		"fuse f (x) -> (y)\n  match a = Neg(x)\n  match z = Add(a, b)\n  let y = x":            `"b" is neither`,
		"fuse f (x) -> (y)\n  match a = Neg(x)\n  match z = Add(x, x)\n  let y = x":            `nothing takes "a"`,
		"fuse f (x, w) -> (y)\n  match a = Neg(x)\n  match z = Add(a, x)\n  let y = x":         `the input "w"`,
		"fuse f (x) -> (y)\n  match a = Neg(x)\n  match a = Add(a, x)\n  let y = x":            `"a" is bound`,
		"fuse f (x) -> (y)\n  match a = Neg(x)\n  match z = Add(a, x)":                         "gives no y",
		"fuse f (x...) -> (y)\n  match a = Neg(x)\n  match z = Add(a, x)\n  let y = x":         "variadic",
		"fuse f (x) -> (y)\n  match a = Neg(x)\n  match z = Add(a, x)\n  attrs b\n  let y = x": "in braces",
		"carry Add":                                "from one version",
		"rule A (x) -> (y)\n  let y = @(x)":        "an operation's name",
		"rule A (x) -> (y)\n  let y = @B(x){a: q}": `"q" is not bound`,
	} {
		if _, err := rules.Parse("f", "table t : onnx\n"+text+"\n"); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("%q: expected an error with %q, found %v", text, want, err)
		}
	}
	if _, err := rules.Parse("f", "table t : onnx 7 -> 6\n"); err == nil || !strings.Contains(err.Error(), "after 7") {
		t.Errorf("expected an error about the versions, found %v", err)
	}
}

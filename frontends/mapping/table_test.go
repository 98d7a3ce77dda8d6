package mapping

import (
	"context"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/rules"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

func TestParseErrors(t *testing.T) {
	for want, text := range map[string]string{
		`expected "table"`:                `rule A (X) -> (Y)`,
		`f.map:3:11: "Z" is not bound`:    "table t : t\nrule A (X) -> (Y)\n  let Y = Z",
		`X is bound already`:              "table t : t\nrule A (X) -> (Y)\n  let X = 1\n  let Y = X",
		`rule t.A gives no Y`:             "table t : t\nrule A (X) -> (Y)\n  let Z = X",
		`f is defined already`:            "table t : t\ndef f(x) = x\ndef f(x) = x",
		`shape is defined already`:        "table t : t\ndef shape(x) = x",
		`f takes 1 arguments, found 2`:    "table t : t\ndef f(x) = x\nrule A (X) -> (Y)\n  let Y = f(X, X)",
		`shape takes 1 to 1 arguments`:    "table t : t\nrule A (X) -> (Y)\n  let Y = shape(X, X)",
		`3:14: a text in quotes does not`: "table t : t\nrule A (X) -> (Y)\n  need true, \"x",
		`expected a reason`:               "table t : t\nrule A refuse because",
		`nested deeper than`:              "table t : t\nrule A (X) -> (Y)\n  let Y = " + strings.Repeat("(", 200) + "X",
		`"i" is not bound here`:           "table t : t\nrule A (X) -> (Y)\n  let Y = [i for i in range(3)] + [i]",
		`"a" is not bound here`:           "table t : t\nrule A (X) -> (Y)\n  let Y = (fold a = 1 for i in range(3) do a + i) + a",
		`expected "for"`:                  "table t : t\nrule A (X) -> (Y)\n  let Y = fold a = 1 do a",
		`expected a name, found "let"`:    "table t : t\nrule A (let) -> (Y)",
		`expected rule or def, found "1`:  "table t : t\n12",
	} {
		if _, err := rules.Parse("f.map", text); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "f.map:") {
			t.Errorf("expected an error with %q and the file, found %v", want, err)
		}
	}
}

func TestCheck(t *testing.T) {
	table, err := rules.Parse("f.map", `table t : t
rule A (X) -> (Y)
  let Y = relu(X)
rule B 3..2 (X) -> (Y)
  let Y = nosuchkernel(X)
rule C (X) -> (Y)
  let Y = softmax(X){dims: [0], axis: 1}
rule D (X) -> (Y)
  let Y = relu(X, X)
rule E (X) -> (Y)
  let Y = relu(input: X)
rule F (X) -> (Y)
  let Y = relu(X){results: 2}`)
	if err != nil {
		t.Fatal(err)
	}
	err = table.Check(kernels.Builtin())
	for _, want := range []string{"f.map:5: nosuchkernel is neither a function nor a kernel", "f.map:7: kernel softmax has no parameter axis",
		`f.map:9: kernel relu has no input ""`, `f.map:11: kernel relu has no input "input"`, "f.map:13: kernel relu has no parameter results",
		"f.map:4: rule t.B@3: expected a version of at least 3"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected %q in\n%v", want, err)
		}
	}
	if err != nil && strings.Contains(err.Error(), "f.map:3") {
		t.Errorf("a good call is refused: %v", err)
	}
}

// apply maps one operation A of a table on a vector and evaluates it.
func apply(t *testing.T, text string, in []float64, attrs ...foreign.Attr) ([]float64, error) {
	t.Helper()
	table, err := rules.Parse("f.map", "table t : t\n"+text)
	if err != nil {
		t.Fatal(err)
	}
	g := &foreign.Graph{Namespace: "t", Versions: map[string]int64{"": 3}, Consts: map[string]*foreign.Data{},
		Inputs:  []foreign.Port{{Name: "x", DType: scalar.Float64, Ranked: true, Shape: []foreign.Size{{Value: int64(len(in))}}}},
		Outputs: []foreign.Port{{Name: "y"}}, Ops: []*foreign.Op{{Type: "A", In: []string{"x"}, Out: []string{"y"}, Attrs: attrs}}}
	made, _, err := Map(context.Background(), g, Options{Tables: []*rules.Table{table}})
	if err != nil {
		return nil, err
	}
	x := tensorfile.Tensor{DType: scalar.Float64, Shape: []int64{int64(len(in))}}
	for _, f := range in {
		x.Data = binary.LittleEndian.AppendUint64(x.Data, math.Float64bits(f))
	}
	ev := reference.Evaluator{Library: kernels.Builtin(), Constants: (&constants.Loader{}).Load}
	out, err := ev.Evaluate(context.Background(), made, map[string]tensorfile.Tensor{"x": x})
	if err != nil {
		return nil, err
	}
	var got []float64
	y := out["y"]
	for i := 0; i < len(y.Data); i += y.DType.Size() {
		got = append(got, scalar.Decode(y.DType, y.Data[i:]).Float())
	}
	return got, nil
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		rules string
		want  []float64 // of [1, 2, 3]
	}{
		{"rule A (X) -> (Y)\n let Y = X * 2 + 1", []float64{3, 5, 7}},
		{"rule A (X) -> (Y)\n let Y = where(X > 2, X, 0)", []float64{0, 0, 3}},
		{"rule A (X) -> (Y)\n let Y = where(not (X > 2), X, 0)", []float64{1, 2, 0}},
		{"rule A (X) -> (Y)\n let Y = fold y = X for i in range(3) do y * 2", []float64{8, 16, 24}},
		{"rule A (X) -> (Y)\n let Y = with z = X + 1 do z * z", []float64{4, 9, 16}},
		{"rule A (X) -> (Y)\n let unused = refuse('not needed')\n let Y = -X", []float64{-1, -2, -3}},
		{"rule A (X) -> (Y)\n let Y = X + opset", []float64{4, 5, 6}},
		{"rule A 1..2 (X) -> (Y)\n let Y = X\nrule A 3 (X) -> (Y)\n let Y = X * 3\nrule A 4.. (X) -> (Y)\n let Y = X * 4", []float64{3, 6, 9}},
		{"rule A (X) -> (Y)\n need rank(X) == 2, 'two'\n let Y = X\nrule A (X) -> (Y)\n let Y = X * 5", []float64{5, 10, 15}},
		{"def twice(x) = x + x\nrule A (X) -> (Y)\n let Y = twice(twice(X))", []float64{4, 8, 12}},
		{"rule A (X) -> (Y)\n let Y = tensor([elements(X), rank(X), shape(X)[-1]], 'float64')", []float64{3, 1, 3}},
		{"rule A (X) -> (Y)\n let Y = tensor([7 // -2, 7 % -2, ceil_div(7, 2), least(3, 1, 2), greatest([1, 9]), index([4, 5], 5), last_index([4, 4], 4), product([2, 3]), total([2, 3])], 'float64')",
			[]float64{-4, -1, 4, 1, 9, 1, 1, 6, 5}},
		{"rule A (X) -> (Y)\n let Y = sum(X){dims: [0], keepdims: true} - X", []float64{5, 4, 3}},
	} {
		got, err := apply(t, c.rules, []float64{1, 2, 3})
		if err != nil {
			t.Errorf("%s: %v", c.rules, err)
			continue
		}
		for i := range c.want {
			if len(got) != len(c.want) || got[i] != c.want[i] {
				t.Errorf("%s: found %v, expected %v", c.rules, got, c.want)
				break
			}
		}
	}
}

func TestRulesRefuse(t *testing.T) {
	for want, text := range map[string]string{
		"two dimensions":              "rule A (X) -> (Y)\n need rank(X) == 2, 'two dimensions'\n let Y = X",
		"must be known when compil":   "rule A (X) -> (Y)\n let Y = tensor(values(X), 'float64')",
		"computed from the input \"x": "rule A (X) -> (Y)\n let Y = tensor(values(X + X), 'float64')",
		"not for this":                "rule A refuse 'not for this'",
		"does not fit 64 bits":        "rule A (X) -> (Y)\n let Y = tensor(9223372036854775807 + rank(X), 'int64', [])",
		"attribute q is not":          "rule A (X) -> (Y)\n let Y = X",
		"has no such parameter":       "rule A (X) -> (Y)\n attrs q\n let Y = softmax(X){nothing: 1}",
		"expected a truth value":      "rule A (X) -> (Y)\n attrs q\n let Y = if X > 1 then X else X",
	} {
		attr := []foreign.Attr{{Name: "q", Value: foreign.IntValue(1)}}
		if !strings.Contains(text, "attrs q") && !strings.HasPrefix(want, "attribute") {
			attr = nil
		}
		if _, err := apply(t, text, []float64{1}, attr...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: expected an error with %q, found %v", text, want, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, t := range []string{"table t : t\nrule A 1..3 (X, Y?, Z...) -> (Y)\n attrs a = 1, b\n need a == 1, \"no\"\n let Y = if given(Y) then fold s = X for i in range(3) do s + i else with z = X do relu(z){a: [1, -2.5]}",
		"table t : t\nrule \"d:A\" refuse 'x'", "table t : t\ndef f(x) = [i for i in x if i > 1][1:-1][0]"} {
		f.Add(t)
	}
	for _, name := range []string{"onnx", "onnx_linear"} {
		if text, err := rules.Text(name); err == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		table, err := rules.ParseWith("f.map", text, nil)
		if err != nil {
			return
		}
		table.Check(kernels.Builtin())
		g := &foreign.Graph{Namespace: table.Namespace, Versions: map[string]int64{"": 1}, Consts: map[string]*foreign.Data{},
			Inputs:  []foreign.Port{{Name: "x", DType: scalar.Float32, Ranked: true, Shape: []foreign.Size{{Value: 2}}}},
			Outputs: []foreign.Port{{Name: "y"}}, Ops: []*foreign.Op{{Type: "A", In: []string{"x"}, Out: []string{"y"}}}}
		if len(table.Rules) > 0 {
			g.Ops[0].Type = table.Rules[0].Op
		}
		Map(context.Background(), g, Options{Tables: []*rules.Table{table}})
	})
}

// What a rule can ask for with few words is bounded in time and memory.
func TestRulesEnd(t *testing.T) {
	doubled := "fold acc = [1] for i in range(60) do "
	for what, text := range map[string]string{
		"loops in loops":                 "tensor([total([j for j in range(1000)]) for i in range(100000)], 'float64')",
		"a list that doubles":            "tensor(len(" + doubled + "acc + acc), 'float64', [])",
		"a string that doubles":          "tensor(len(fold acc = 'a' for i in range(60) do acc + acc), 'float64', [])",
		"a long list looked at often":    "with l = range(1000000) do tensor(total([total(l) for i in range(1000000)]), 'float64', [])",
		"a long list searched often":     "with l = range(1000000) do tensor(total([index(l, -1) for i in range(1000000)]), 'float64', [])",
		"lists that share, compared":     "if (" + doubled + "[acc, acc]) == (" + doubled + "[acc, acc]) then X else -X",
		"lists that share, searched":     "if (" + doubled + "[acc, acc]) in [" + doubled + "[acc, acc]] then X else -X",
		"lists that share, a parameter":  "softmax(X){axis: " + doubled + "[acc, acc]}",
		"lists that share, an attribute": "@Softmax(X){axis: " + doubled + "[acc, acc]}",
	} {
		if _, err := apply(t, "rule A (X) -> (Y)\n let Y = "+text, []float64{1}); err == nil || !strings.Contains(err.Error(), "it takes more than 4194304 steps to map") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

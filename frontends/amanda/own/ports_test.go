package own

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/frontends/amanda/closed"
	"tensortapestry.org/tapc/ir"
)

// anyInside draws the inside of a subgraph: ops of one or two inputs and subgraphs, each of which takes what is there, and the ports that are its outputs. Ports have names,
// names that no value can have, or none; some say what they are.
func anyInside(t *rapid.T, depth int, inputs int) (ops []*amanda.Op, edges []amanda.Edge, outputs []amanda.Port) {
	port := func(name string) amanda.Port {
		p := amanda.Port{Name: name}
		if rapid.IntRange(0, 3).Draw(t, "says") == 0 {
			p.Attrs = ir.Attrs{}.With("dtype", ir.StringAttr("float32")).With("shape", ir.IntsAttr(3))
		}
		return p
	}
	at := func(op string, port int) amanda.End {
		return amanda.End{Op: amanda.Ref{Name: op}, Port: amanda.Ref{Index: port}}
	}
	var values []amanda.End
	for k := range inputs {
		values = append(values, at(amanda.Self, k))
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "ops") {
		o := &amanda.Op{Name: fmt.Sprintf("o%d_%d", depth, i)}
		fed := 0
		switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
		case kind == 0 && depth < 3:
			o.Sub, o.Type = true, rapid.SampledFrom([]string{"Layer", "a:b", "", "op:relu", "def:d"}).Draw(t, "type")
			fed = rapid.IntRange(1, 2).Draw(t, "inputs")
			o.Ops, o.Edges, o.Outputs = anyInside(t, depth+1, fed)
			for k := range fed {
				o.Inputs = append(o.Inputs, port(rapid.SampledFrom([]string{"", fmt.Sprint("p", k), fmt.Sprint(k), fmt.Sprint("a/b", k)}).Draw(t, "port")))
			}
		case kind == 1:
			o.Type, fed = "op:sub", 2
			o.Inputs, o.Outputs = []amanda.Port{port("a"), port("b")}, []amanda.Port{port("result")}
		default:
			o.Type, fed = rapid.SampledFrom([]string{"op:neg", "op:relu", "abs"}).Draw(t, "type"), 1
			o.Inputs, o.Outputs = []amanda.Port{port("tensor")}, []amanda.Port{port("result")}
		}
		for k := range fed {
			edges = append(edges, amanda.Edge{From: rapid.SampledFrom(values).Draw(t, "from"), To: at(o.Name, k)})
		}
		for k := range o.Outputs {
			values = append(values, at(o.Name, k))
		}
		ops = append(ops, o)
	}
	for k := range rapid.IntRange(1, 2).Draw(t, "outputs") {
		outputs = append(outputs, port(rapid.SampledFrom([]string{"", fmt.Sprint("q", k), fmt.Sprint(k), []string{"x", "p0"}[k]}).Draw(t, "port")))
		edges = append(edges, amanda.Edge{From: rapid.SampledFrom(values[inputs-1:]).Draw(t, "from"), To: at(amanda.Self, k)})
	}
	return ops, edges, outputs
}

// Subgraphs that are kept as definitions give the values that they give when they are taken apart, and the program has the same inputs and outputs.
func TestKeptAndApart(t *testing.T) {
	kept := 0
	rapid.Check(t, func(t *rapid.T) {
		x := amanda.Port{Name: "x", Attrs: ir.Attrs{}.With("dtype", ir.StringAttr("float32")).With("shape", ir.IntsAttr(3))}
		program := &amanda.Op{Name: "program", Type: "Graph", Sub: true, Inputs: []amanda.Port{x}}
		program.Ops, program.Edges, program.Outputs = anyInside(t, 0, 1)
		g := &amanda.Graph{Namespace: "tapc/tensorops/1", Ops: []*amanda.Op{program}}
		if bad := amanda.Check(g); bad.HasErrors() {
			t.Fatal(bad)
		}
		apart, err := ToIR(g, kernels.Builtin(), false)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := ToIR(g, kernels.Builtin(), true)
		if err != nil {
			t.Fatal(err)
		}
		kept += len(definition.Of(whole))
		if bad := tensorops.Environment().Verify(t.Context(), whole); bad.HasErrors() {
			t.Fatal(bad)
		}
		if diff := cmp.Diff(resultsOf(t, apart), resultsOf(t, whole)); diff != "" {
			var b strings.Builder
			if err := amanda.Write(&b, g); err != nil {
				t.Fatal(err)
			}
			t.Fatalf("%s\n%s", diff, &b)
		}
	})
	if kept == 0 {
		t.Error("no graph had a definition")
	}
}

// What a port says is held to the value, and an attribute that means nothing where it is is refused by name.
func TestPortsMeanSomething(t *testing.T) {
	const text = `subgraph:
  name: program
  type: Graph
  input_ports: [{name: x, attrs: {dtype: float32, shape: [4]}}]
  output_ports: [{name: y, attrs: {_said: 1}}]
  ops:
    - type: Layer
      name: s
      input_ports: [{name: a, attrs: {}}]
      output_ports: [{name: b, attrs: {}}]
      ops:
        - {type: "op:relu", name: r, attrs: {}, input_ports: [{name: tensor, attrs: {}}], output_ports: [{name: result, attrs: {}}]}
      edges:
        - {output_port: {op: ., port: a}, input_port: {op: r, port: tensor}}
        - {output_port: {op: r, port: result}, input_port: {op: ., port: b}}
  edges:
    - {output_port: {op: ., port: x}, input_port: {op: s, port: a}}
    - {output_port: {op: s, port: b}, input_port: {op: ., port: y}}
`
	for _, c := range []struct{ old, new, code, says string }{
		{"", "", "", ""},
		{"name: a, attrs: {}", "name: a, attrs: {dtype: float32, shape: [n], optional: false}", "", ""},
		{"name: y, attrs: {", "name: y, attrs: {memory: x, room: [4], ", "", ""},
		{"name: b, attrs: {}", "name: b, attrs: {memory: x, room: [4]}", closed.CodeMeaning, "memory"},
		{"name: result, attrs: {}", "name: result, attrs: {room: [4]}", closed.CodeMeaning, "room"},
		{"name: a, attrs: {}", "name: a, attrs: {select: [[0, 2]]}", closed.CodeMeaning, "select"},
		{"name: tensor, attrs: {}", "name: tensor, attrs: {value: t}", closed.CodeMeaning, "value"},
		{"name: s\n", "name: s\n      attrs: {rate: 2}\n", closed.CodeMeaning, "rate"},
		{"port: a}}", "port: a}, attrs: {delay: 2}}", closed.CodeMeaning, "delay"},
		{"name: r, attrs: {", "name: r, attrs: {IOSequencePoint: {a: 1}", closed.CodeMeaning, "IOSequencePoint"},
		{"name: tensor, attrs: {", "name: tensor, attrs: {dtype: int64", CodeSays, "dtype float32"},
		{"name: tensor, attrs: {", "name: tensor, attrs: {shape: [-1, 4]", CodeSays, "shape [4]"},
		{"name: b, attrs: {", "name: b, attrs: {shape: 4", CodeSays, "shape [4]"},
		{"name: y, attrs: {", "name: y, attrs: {start: [1], ", CodeSays, "start [0]"},
		{"name: b, attrs: {", "name: b, attrs: {dtype: 5", CodeSays, "dtype float32"},
	} {
		g := read(t, strings.Replace(text, c.old, c.new, 1))
		g.Namespace = "tapc/tensorops/1"
		_, err := ToIR(g, kernels.Builtin(), true)
		switch {
		case c.code == "" && err != nil:
			t.Errorf("%s: %v", c.new, err)
		case c.code != "" && (err == nil || !strings.Contains(err.Error(), c.code) || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: expected %s with %q, found %v", c.new, c.code, c.says, err)
		}
	}
}

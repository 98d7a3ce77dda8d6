package own

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/feed"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/text"
)

// there writes a graph of tapc as an Amanda graph, and gives what is read from that.
func there(t *testing.T, g *ir.Graph) *ir.Graph {
	t.Helper()
	a, err := FromIR(g)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := amanda.Write(&b, a); err != nil {
		t.Fatal(err)
	}
	c, err := amanda.Read(b.Bytes(), "")
	if err != nil {
		t.Fatalf("%v\n%s", err, &b)
	}
	if list := amanda.Check(c); len(list) > 0 {
		t.Fatalf("%v\n%s", list, &b)
	}
	h, err := ToIR(c, kernels.Builtin(), false)
	if err != nil {
		t.Fatalf("%v\n%s", err, &b)
	}
	return h
}

// shownAs gives the text of a graph without what the trip does not keep: tags, and names of nodes that are no values.
func shownAs(t *testing.T, g *ir.Graph) string {
	t.Helper()
	var b bytes.Buffer
	if err := text.Write(&b, g, text.Options{}); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(b.String(), "\n") {
		if !strings.HasPrefix(strings.TrimSpace(line), "@") && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

const parts = `tapc 1
%u = tensor int8 [0:0]
%x = tensor float32 [0:4, 2:5]
operation op:import {names: ["u", "x"]} -> (result: [%u, %x])
%c = tensor int32 [0:2]
operation op:constant {value: [1, 2]} -> (result: %c)
%h = tensor float32 [0:2, 0:3]
operation op:copy (tensor: %x[1:3, 2:5]) -> (result: %h)
%y = tensor float32 [0:2, 0:6]
operation op:concat {axis: 1} (tensors: [%h, %h]) -> (result: %y)
%z = tensor int32 [0:2]
operation op:neg (tensor: %c) -> (result: %z)
operation op:export {names: ["z", "y"]} (tensor: [%z, %y])
`

// A graph of tapc comes back as it was: its interface, selections of parts, ranges that do not begin at zero, variadic ports, parameters, names.
func TestThereAndBack(t *testing.T) {
	g, err := text.Read([]byte(parts), "parts.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	h := there(t, g)
	if diff := cmp.Diff(shownAs(t, g), shownAs(t, h)); diff != "" {
		t.Error(diff)
	}
}

// The graphs of the examples compute the same after the trip.
func TestExamplesThereAndBack(t *testing.T) {
	files, _ := filepath.Glob("../../../examples/*.loom.json")
	if len(files) == 0 {
		t.Fatal("no examples")
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		g, err := loomjson.Read(data, file, dialects.Registry())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(file, "application") || strings.Contains(file, "-4") {
			if _, err := FromIR(g); err == nil {
				t.Errorf("%s: shards have no place in the namespace of kernels: expected an error", file)
			}
			continue
		}
		h := there(t, g)
		if diff := cmp.Diff(results(t, g), results(t, h)); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

// results computes a graph on inputs that count.
func results(t *testing.T, g *ir.Graph) map[string]tensorfile.Tensor {
	t.Helper()
	return resultsOf(t, g)
}

func resultsOf(t interface{ Fatal(args ...any) }, g *ir.Graph) map[string]tensorfile.Tensor {
	in, err := feed.Inputs(g, func(_ int, _ tensorops.Named, d scalar.DType, n int64) []byte {
		return feed.Elements(d, n, func(i int64) scalar.Value {
			if d.IsFloat() {
				return scalar.FloatValue(d, float64(i%7)-3)
			}
			return scalar.IntValue(d, i%7)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	ev := reference.Evaluator{Library: kernels.Builtin()}
	out, err := ev.Evaluate(context.Background(), g, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Types and shapes that the ports of a graph in tapc's vocabulary do not say come from the kernels' rules.
func TestInferredPorts(t *testing.T) {
	g := read(t, `graph:
  namespace: tapc/tensorops/1
  ops:
    - type: G
      name: g
      input_ports: [{name: a, attrs: {dtype: float32, shape: [2, 3]}}, {name: b, attrs: {dtype: float32, shape: [3, 4]}}]
      output_ports: [{name: y}]
      ops:
        - {type: matmul, name: m, input_ports: [{name: X}, {name: Y}], output_ports: [{name: Z}]}
        - {type: "op:relu", name: r, input_ports: [{name: tensor}], output_ports: [{name: result}]}
      edges:
        - {output_port: {op: ., port: a}, input_port: {op: m, port: X}}
        - {output_port: {op: ., port: b}, input_port: {op: m, port: 1}}
        - {output_port: {op: m, port: 0}, input_port: {op: r, port: 0}}
        - {output_port: {op: r, port: 0}, input_port: {op: g, port: y}}
`)
	h, err := ToIR(g, kernels.Builtin(), false)
	if err != nil {
		t.Fatal(err)
	}
	out := results(t, h)
	if y, ok := out["y"]; !ok || !cmp.Equal(y.Shape, []int64{2, 4}) {
		t.Errorf("expected y of shape 2x4, found %v", out)
	}
}

func read(t *testing.T, text string) *amanda.Graph {
	t.Helper()
	g, err := amanda.Read([]byte(text), "g.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if list := amanda.Check(g); len(list) > 0 {
		t.Fatal(list)
	}
	return g
}

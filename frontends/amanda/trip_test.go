package amanda

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/namespace"
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
	if err := Write(&b, a); err != nil {
		t.Fatal(err)
	}
	c, err := Read(b.Bytes(), "")
	if err != nil {
		t.Fatalf("%v\n%s", err, &b)
	}
	if list := Check(c); len(list) > 0 {
		t.Fatalf("%v\n%s", list, &b)
	}
	h, err := ToIR(c, kernels.Builtin())
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
	files, _ := filepath.Glob("../../examples/*.loom.json")
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
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]tensorfile.Tensor{}
	for _, x := range p.Inputs {
		n := tensorops.TensorOf(g, x.Tensor)
		size, _ := n.Range.Size()
		d := n.Type()
		b := make([]byte, size*int64(d.Size()))
		for i := range int(size) {
			v := scalar.IntValue(d, int64(i%7))
			if d.IsFloat() {
				v = scalar.FloatValue(d, float64(i%7)-3)
			}
			v.Encode(b[i*d.Size():])
		}
		in[x.Name] = tensorfile.Tensor{DType: d, Shape: n.Range.Shape(), Data: b}
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
	h, err := ToIR(g, kernels.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	out := results(t, h)
	if y, ok := out["y"]; !ok || !cmp.Equal(y.Shape, []int64{2, 4}) {
		t.Errorf("expected y of shape 2x4, found %v", out)
	}
}

func read(t *testing.T, text string) *Graph {
	t.Helper()
	g, err := Read([]byte(text), "g.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if list := Check(g); len(list) > 0 {
		t.Fatal(list)
	}
	return g
}

// Subgraphs inside of subgraphs, values that pass through, and outputs that are one value are taken apart.
func TestLowerSubgraphs(t *testing.T) {
	g := read(t, `graph:
  namespace: onnx/17
  ops:
    - type: Outer
      name: outer
      input_ports: [{name: a, attrs: {dtype: float32, shape: [2]}}]
      output_ports: [{name: p}, {name: q}, {name: a}]
      ops:
        - type: Inner
          name: in
          input_ports: [{name: u}]
          output_ports: [{name: v}, {name: w}]
          ops: [{type: Relu, name: r, input_ports: [{name: X}], output_ports: [{name: "Y"}]}]
          edges:
            - {output_port: {op: in, port: u}, input_port: {op: r, port: X}}
            - {output_port: {op: r, port: "Y"}, input_port: {op: in, port: v}}
            - {output_port: {op: ., port: u}, input_port: {op: ., port: w}}
        - {type: Neg, name: in/r, input_ports: [{name: X}], output_ports: [{name: "Y"}]}
      edges:
        - {output_port: {op: ., port: a}, input_port: {op: in, port: u}}
        - {output_port: {op: in, port: v}, input_port: {op: in/r, port: X}}
        - {output_port: {op: in/r, port: "Y"}, input_port: {op: ., port: p}}
        - {output_port: {op: in/r, port: "Y"}, input_port: {op: ., port: q}}
        - {output_port: {op: in, port: w}, input_port: {op: ., port: a}}
`)
	fg, err := Lower(g, "", namespace.All())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, op := range fg.Ops {
		got = append(got, op.Type+"("+strings.Join(op.In, ",")+")="+strings.Join(op.Out, ","))
	}
	want := []string{"Relu(a)=in/r", "Neg(in/r)=p", "Output(p)=q"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Ports are put in the dictionary's order by name, and one that the operator does not have is refused.
func TestLowerArranges(t *testing.T) {
	const text = `graph:
  namespace: amanda/tensorflow/1.13.1
  ops:
    - {type: Placeholder, name: x, attrs: {dtype: float32, shape: [2, 2]}, output_ports: [{name: output}]}
    - {type: Placeholder, name: y, attrs: {dtype: float32, shape: [2, 2]}, output_ports: [{name: output}]}
    - {type: MatMul, name: m, input_ports: [{name: b}, {name: a}], output_ports: [{name: product}]}
  edges:
    - {output_port: {op: x, port: 0}, input_port: {op: m, port: a}}
    - {output_port: {op: y, port: 0}, input_port: {op: m, port: b}}
`
	fg, err := Lower(read(t, text), "", namespace.All())
	if err != nil {
		t.Fatal(err)
	}
	if in := fg.Ops[0].In; !cmp.Equal(in, []string{"x", "y"}) {
		t.Errorf("expected x, y, found %v", in)
	}
	_, err = Lower(read(t, strings.ReplaceAll(text, "b}", "c}")), "", namespace.All())
	if err == nil || !strings.Contains(err.Error(), `no input port "c"`) || !strings.Contains(err.Error(), "g.yaml:6:") {
		t.Errorf("expected the port c with its place, found %v", err)
	}
}

// A foreign graph comes back from its abstraction as it was: names of values, attributes of all kinds, graphs in attributes, constants.
func TestLiftLower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fg := anyForeign(t)
		g, err := Lift(fg, namespace.All())
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := Write(&b, g); err != nil {
			t.Fatal(err)
		}
		h, err := Read(b.Bytes(), "")
		if err != nil {
			t.Fatal(err)
		}
		if list := Check(h); list.HasErrors() {
			t.Fatalf("%v\n%s", list, &b)
		}
		back, err := Lower(h, "", namespace.All())
		if err != nil {
			t.Fatalf("%v\n%s", err, &b)
		}
		if diff := cmp.Diff(fg, back, ignorePlaces); diff != "" {
			t.Fatalf("%s\n%s", diff, &b)
		}
	})
}

var ignorePlaces = cmp.Options{cmp.Comparer(func(a, b ir.Pos) bool { return true })}

func data(values ...float64) *foreign.Data {
	d := &foreign.Data{DType: scalar.Float32, Shape: []int64{int64(len(values))}, Bytes: make([]byte, 4*len(values))}
	for i, v := range values {
		scalar.FloatValue(scalar.Float32, v).Encode(d.Bytes[4*i:])
	}
	return d
}

// anyForeign draws a graph of a few ONNX operators.
func anyForeign(t *rapid.T) *foreign.Graph {
	fg := &foreign.Graph{Name: "m", Namespace: "onnx", Versions: map[string]int64{"": 17}, Consts: map[string]*foreign.Data{}}
	fg.Inputs = []foreign.Port{{Name: "x", DType: scalar.Float32, Ranked: true, Shape: []foreign.Size{{Value: -1, Name: "n"}, {Value: 3}}}}
	values := []string{"x"}
	for i := range rapid.IntRange(0, 2).Draw(t, "constants") {
		name := string(rune('a' + i))
		fg.Consts[name] = data(1, 2.5, -3)
		values = append(values, name)
	}
	from := func() string { return rapid.SampledFrom(values).Draw(t, "value") }
	for i := range rapid.IntRange(1, 6).Draw(t, "ops") {
		out := "v" + string(rune('0'+i))
		op := &foreign.Op{Name: "op" + string(rune('0'+i)), Out: []string{out}}
		switch rapid.IntRange(0, 4).Draw(t, "type") {
		case 0:
			op.Type, op.In = "Add", []string{from(), from()}
		case 1:
			op.Type, op.In = "Concat", []string{from(), from(), from()}
			op.Attrs = []foreign.Attr{{Name: "axis", Value: foreign.IntValue(0)}}
		case 2:
			op.Type, op.In = "Clip", []string{from(), "", from()}
		case 3:
			op.Type, op.Attrs = "Constant", []foreign.Attr{{Name: "value", Value: foreign.Value{Kind: foreign.DataKind, Data: data(4, 5)}}}
		case 4:
			op.Type, op.In = "If", []string{from()}
			inner := &foreign.Graph{Name: "then", Consts: map[string]*foreign.Data{"k": data(7)}, Outputs: []foreign.Port{{Name: "r"}},
				Ops: []*foreign.Op{{Type: "Mul", In: []string{from(), "k"}, Out: []string{"r"}}}}
			op.Attrs = []foreign.Attr{{Name: "else_branch", Value: foreign.Value{Kind: foreign.GraphKind, Graph: inner}},
				{Name: "then_branch", Value: foreign.Value{Kind: foreign.GraphKind, Graph: inner}}}
		}
		fg.Ops = append(fg.Ops, op)
		values = append(values, out)
	}
	last := values[len(values)-1]
	fg.Outputs = []foreign.Port{{Name: last}}
	return fg
}

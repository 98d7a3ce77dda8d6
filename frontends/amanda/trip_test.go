package amanda

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

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

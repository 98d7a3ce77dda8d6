package modelfile_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/frontends/onnx/modelfile"
	"tensortapestry.org/tapc/ir/scalar"
)

// model is a graph y = Op(x), with constants.
func model(op *foreign.Op, consts map[string]*foreign.Data) *foreign.Graph {
	op.In, op.Out = append([]string{"x"}, op.In...), []string{"y"}
	port := func(name string) foreign.Port {
		return foreign.Port{Name: name, DType: scalar.Float32, Ranked: true, Shape: []foreign.Size{{Value: 2}, {Name: "n"}, {Value: -1}}}
	}
	return &foreign.Graph{File: "m.tap", Namespace: "onnx", Versions: map[string]int64{"": 21, "com.microsoft": 1}, Consts: consts,
		Inputs: []foreign.Port{port("x")}, Outputs: []foreign.Port{port("y")}, Ops: []*foreign.Op{op}}
}

func TestWriteIsRead(t *testing.T) {
	op := &foreign.Op{Name: "first", Domain: "com.microsoft", Type: "Made", In: []string{"", "c4", "e"}, Attrs: []foreign.Attr{
		{Name: "a", Value: foreign.FloatValue(0.5)}, {Name: "b", Value: foreign.IntValue(-3)}, {Name: "c", Value: foreign.StringValue("word")},
		{Name: "d", Value: foreign.IntsValue([]int64{1, -2})}, {Name: "e", Value: foreign.ListValue(foreign.FloatValue(1), foreign.IntValue(2))},
		{Name: "f", Value: foreign.ListValue(foreign.StringValue("x"))}, {Name: "g", Value: foreign.ListValue()},
		{Name: "h", Value: foreign.Value{Kind: foreign.DataKind, Data: &foreign.Data{DType: scalar.Int64, Shape: []int64{1}, Bytes: make([]byte, 8)}}}}}
	g := model(op, map[string]*foreign.Data{
		"c4": {DType: scalar.Int4, Shape: []int64{3}, Bytes: []byte{1, 0xff, 7}},
		"e":  {DType: scalar.Float32, Shape: []int64{0, 2}, Load: func() ([]byte, error) { return nil, nil }}})
	var b bytes.Buffer
	if err := modelfile.Write(&b, g, namespace.All()); err != nil {
		t.Fatal(err)
	}
	m, err := onnx.Read(b.Bytes(), "m.onnx")
	if err != nil {
		t.Fatal(err)
	}
	got := m.Graph.Ops[0]
	for i, a := range op.Attrs {
		v := got.Attrs[i].Value
		if a.Name != got.Attrs[i].Name || a.Value.Kind != v.Kind || a.Value.Kind != foreign.DataKind && !a.Value.Equal(v) {
			t.Errorf("attribute %s: expected %v, found %s %v", a.Name, a.Value, got.Attrs[i].Name, v)
		}
	}
	if want := []string{"x", "", "c4", "e"}; strings.Join(got.In, ",") != strings.Join(want, ",") || got.Name != "first" || got.Domain != "com.microsoft" {
		t.Errorf("expected the inputs %v of first, found %v of %s", want, got.In, got.Name)
	}
	c := m.Graph.Consts["c4"]
	if c.DType != scalar.Int4 || !bytes.Equal(c.Bytes, []byte{1, 0xff, 7}) || len(m.Graph.Consts["e"].Shape) != 2 {
		t.Errorf("constants: %v, %v", c, m.Graph.Consts["e"])
	}
	if s := m.Graph.Inputs[0].Shape; s[0].Value != 2 || s[1].Name != "n" || s[2].Name != "" || s[2].Value != -1 {
		t.Errorf("sizes: %v", s)
	}
	if v := m.Graph.Versions; v[""] != 21 || v["com.microsoft"] != 1 || m.IRVersion != 10 || m.Producer != "tapc" {
		t.Errorf("versions: %v, IR %d, by %s", v, m.IRVersion, m.Producer)
	}
}

// What ONNX does not have is refused by name, before anything is written, and a number in a graph allocates nothing.
func TestWriteRefuses(t *testing.T) {
	bad := errors.New("the file is gone")
	for want, g := range map[string]*foreign.Graph{
		"TAP1412": model(&foreign.Op{Type: "Relu"}, map[string]*foreign.Data{"big": {DType: scalar.Float32, Shape: []int64{1 << 29}}}),
		"a constant of shape [4611686018427387904] is too large": model(&foreign.Op{Type: "Relu"}, map[string]*foreign.Data{"c": {DType: scalar.Int8, Shape: []int64{1 << 62}}}),
		"ONNX has no element type invalid":                       model(&foreign.Op{Type: "Relu"}, map[string]*foreign.Data{"c": {}}),
		"Relu, attribute a: a graph can not be written":          model(&foreign.Op{Type: "Relu", Attrs: []foreign.Attr{{Name: "a", Value: foreign.Value{Kind: foreign.GraphKind}}}}, nil),
		"a list with an integer can not be written": model(&foreign.Op{Type: "Relu", Attrs: []foreign.Attr{{Name: "a",
			Value: foreign.ListValue(foreign.IntValue(1), foreign.StringValue("x"), foreign.IntValue(1))}}}, nil),
		"the file is gone":        model(&foreign.Op{Type: "Relu"}, map[string]*foreign.Data{"c": {DType: scalar.Int8, Shape: []int64{1}, Load: func() ([]byte, error) { return nil, bad }}}),
		"has 2 bytes, expected 1": model(&foreign.Op{Type: "Relu"}, map[string]*foreign.Data{"c": {DType: scalar.Int8, Shape: []int64{1}, Bytes: []byte{1, 2}}}),
	} {
		if err := modelfile.Write(io.Discard, g, namespace.All()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected an error with %q, found %v", want, err)
		}
	}
}

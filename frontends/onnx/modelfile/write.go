// Package modelfile writes foreign graphs in ONNX's vocabulary as models.
//
// It writes the protobuf itself, so that no constant but one is in memory and equal graphs give equal bytes. It knows no kernels and no rules: what
// it is given is in the vocabulary already. Read next: frontends/onnx.
package modelfile

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/ir/diag"
)

// Codes of graphs that can not be written as models.
const (
	CodeLarge  = "TAP1412" // a model of 2 GiB or more, which protobuf can not hold
	CodeNoType = "TAP1413" // an element type or an attribute that ONNX does not have
)

// maxModel bounds the bytes of a message: protobuf's own bound.
const maxModel = math.MaxInt32

// irVersions are the versions of the file format that came with operator sets, the first set for each. Source: the table of versions in
// ONNX's docs/Versioning.md. Before version 4 constants had to be inputs too.
var irVersions = []struct{ opset, ir int64 }{{28, 14}, {25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9}, {15, 8}, {12, 7}, {11, 6}, {10, 5}, {0, 4}}

// functionVersion is the version of the file format that functions of models came with.
const functionVersion = 8

// Write writes a graph in ONNX's vocabulary as a model. Equal graphs give equal bytes: constants come by name, in ascending order, and
// operations in an order in which values are there before they are used. Constants are loaded one at a time. What attributes are, the dictionaries
// in known say. An error is a diagnostic.
func Write(w io.Writer, g *foreign.Graph, known namespace.Set) error {
	x := &encoder{g: g, known: known}
	front, back := x.ends()
	functions := x.functions()
	total := len(front) + len(back)
	var list []initializer
	for _, name := range slices.Sorted(maps.Keys(g.Consts)) {
		i, err := x.initializer(name, g.Consts[name])
		if err != nil {
			return x.fault(CodeNoType, name, "%v", err)
		}
		if list = append(list, i); int64(total)+i.size() > maxModel-1<<12 {
			return x.fault(CodeLarge, name, "a model of 2 GiB or more can not be written: with %q its constants are too large", name)
		}
		total += int(i.size())
	}
	if x.err != nil {
		return x.err
	}
	out := protowire.AppendVarint(protowire.AppendTag(x.head(), 7, protowire.BytesType), uint64(total))
	if _, err := w.Write(append(out, front...)); err != nil {
		return err
	}
	for _, i := range list {
		if err := i.write(w); err != nil {
			return err
		}
	}
	_, err := w.Write(append(append(back, x.imports(8)...), functions...))
	return err
}

// encoder writes one graph; err is the first thing that ONNX does not have.
type encoder struct {
	g     *foreign.Graph
	known namespace.Set
	err   error
}

func (x *encoder) fault(code, node, format string, args ...any) error {
	return diag.Errorf(code, "onnx", diag.Location{File: x.g.File, Node: node}, format, args...)
}

// head writes what comes before the graph: versions and the producer.
func (x *encoder) head() []byte {
	ir := irVersions[len(irVersions)-1].ir
	for _, v := range slices.Backward(irVersions) {
		if x.g.Versions[""] >= v.opset {
			ir = v.ir
		}
	}
	if len(x.g.Functions) > 0 {
		ir = max(ir, functionVersion)
	}
	return appendText(appendNumber(nil, 1, ir), 2, "tapc")
}

// imports writes the operator sets, as messages of a field.
func (x *encoder) imports(field protowire.Number) []byte {
	var b []byte
	for _, domain := range slices.Sorted(maps.Keys(x.g.Versions)) {
		var m []byte
		if domain != "" {
			m = appendText(m, 1, domain)
		}
		b = appendMessage(b, field, appendNumber(m, 2, x.g.Versions[domain]))
	}
	return b
}

// functions writes the functions of the graph.
func (x *encoder) functions() (b []byte) {
	for _, f := range x.g.Functions {
		in := &encoder{g: f, known: x.known}
		m := appendText(nil, 1, f.Name)
		for _, p := range f.Inputs {
			m = appendText(m, 4, p.Name)
		}
		for _, p := range f.Outputs {
			m = appendText(m, 5, p.Name)
		}
		for _, op := range namespace.Order(f.Ops) {
			m = appendMessage(m, 7, in.node(op))
		}
		m = append(m, in.imports(9)...)
		b = appendMessage(b, 25, appendText(m, 10, f.Domain))
		if x.err == nil {
			x.err = in.err
		}
	}
	return b
}

// ends writes what comes before the constants of a graph, and what comes behind them.
func (x *encoder) ends() (front, back []byte) {
	for _, op := range namespace.Order(x.g.Ops) {
		front = appendMessage(front, 1, x.node(op))
	}
	name := x.g.Name
	if name == "" {
		name = "model"
	}
	front = appendText(front, 2, name)
	for _, p := range x.g.Inputs {
		back = appendMessage(back, 11, x.port(p))
	}
	for _, p := range x.g.Outputs {
		back = appendMessage(back, 12, x.port(p))
	}
	return front, back
}

func (x *encoder) node(op *foreign.Op) []byte {
	var b []byte
	for _, name := range op.In {
		b = appendText(b, 1, name)
	}
	for _, name := range op.Out {
		b = appendText(b, 2, name)
	}
	if op.Name != "" {
		b = appendText(b, 3, op.Name)
	}
	b = appendText(b, 4, op.Type)
	var formal []namespace.Attr
	if n, ok := x.known.Domain(x.g.Namespace, op.Domain, x.g.Versions[op.Domain]); ok && n.Op(op.Type) != nil {
		formal = n.Op(op.Type).Attrs
	}
	for _, a := range op.Attrs {
		want := ""
		if i := slices.IndexFunc(formal, func(f namespace.Attr) bool { return f.Name == a.Name }); i >= 0 {
			want = formal[i].Type
		}
		m, err := attribute(a, want)
		if err != nil && x.err == nil {
			x.err = x.fault(CodeNoType, op.Name, "%s, attribute %s: %v", op.Title(), a.Name, err)
		}
		b = appendMessage(b, 5, m)
	}
	if op.Domain != "" {
		b = appendText(b, 7, op.Domain)
	}
	return b
}

// attribute writes an attribute as the type that its operator has it in, where a dictionary says so: whole numbers may be floats, and a list
// without entries may be of any type.
func attribute(a foreign.Attr, want string) ([]byte, error) {
	b := appendText(nil, 1, a.Name)
	v := a.Value
	switch {
	case v.Kind == foreign.Float, v.Kind == foreign.Int && want == "float":
		f, _ := v.Number()
		return appendNumber(appendFloat(b, 2, f), 20, 1), nil
	case v.Kind == foreign.Int, v.Kind == foreign.Bool:
		return appendNumber(appendNumber(b, 3, v.Int), 20, 2), nil
	case v.Kind == foreign.String:
		return appendNumber(appendText(b, 4, v.Str), 20, 3), nil
	case v.Kind == foreign.DataKind:
		t, err := onnx.TensorMessage("", v.Data)
		if err != nil {
			return nil, err
		}
		return appendNumber(appendMessage(b, 5, t), 20, 4), nil
	case v.Kind == foreign.List:
		return attributeList(b, v.List, want)
	}
	return nil, fmt.Errorf("%v can not be written", v.Kind)
}

func attributeList(b []byte, list []foreign.Value, want string) ([]byte, error) {
	floats := want == "floats" || slices.ContainsFunc(list, func(v foreign.Value) bool { return v.Kind == foreign.Float })
	strings := want == "strings"
	for _, v := range list {
		f, number := v.Number()
		switch {
		case v.Kind == foreign.String:
			b, strings = appendText(b, 9, v.Str), true
		case !number || strings:
			return nil, fmt.Errorf("a list with %v can not be written", v.Kind)
		case floats:
			b = appendFloat(b, 7, f)
		default:
			b = appendNumber(b, 8, v.Int)
		}
	}
	kind := int64(7)
	switch {
	case strings:
		kind = 8
	case floats:
		kind = 6
	}
	return appendNumber(b, 20, kind), nil
}

// port writes an input or output. A size without a number is a name.
func (x *encoder) port(p foreign.Port) []byte {
	elem := onnx.ElementNumber(p.DType)
	if elem < 0 && x.err == nil {
		x.err = x.fault(CodeNoType, p.Name, "ONNX has no element type %v", p.DType)
	}
	var shape []byte
	for _, s := range p.Shape {
		var d []byte
		switch {
		case s.Name != "":
			d = appendText(d, 2, s.Name)
		case s.Value >= 0:
			d = appendNumber(d, 1, s.Value)
		}
		shape = appendMessage(shape, 1, d)
	}
	t := appendNumber(nil, 1, int64(elem))
	if p.Ranked {
		t = appendMessage(t, 2, shape)
	}
	return appendMessage(appendText(nil, 1, p.Name), 2, appendMessage(nil, 1, t))
}

// initializer is a constant that is to be written: what comes before its bytes, and how many these are.
type initializer struct {
	head  []byte // the tag and length of the message included
	bytes int64
	data  *foreign.Data
}

func (i *initializer) size() int64 { return int64(len(i.head)) + i.bytes }

func (x *encoder) initializer(name string, d *foreign.Data) (initializer, error) {
	head, n, err := onnx.TensorHead(name, d)
	if err != nil {
		return initializer{}, err
	}
	b := protowire.AppendTag(nil, 5, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(len(head))+uint64(n))
	return initializer{append(b, head...), n, d}, nil
}

func (i *initializer) write(w io.Writer) error {
	data, err := onnx.Packed(i.data)
	if err != nil {
		return err
	}
	if int64(len(data)) != i.bytes {
		return fmt.Errorf("a constant of %v%v has %d bytes, expected %d", i.data.DType, i.data.Shape, len(data), i.bytes)
	}
	if _, err = w.Write(i.head); err == nil {
		_, err = w.Write(data)
	}
	return err
}

func appendNumber(b []byte, field protowire.Number, n int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(n))
}

func appendFloat(b []byte, field protowire.Number, f float64) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(b, field, protowire.Fixed32Type), math.Float32bits(float32(f)))
}

func appendText(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func appendMessage(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}

// Package onnxtest writes ONNX models from a text, for tests.
//
// The text is a small part of ONNX's own textual syntax:
//
//	<ir_version: 8, opset_import: ["": 17]>
//	name (float[N, 4] x) => (float[N, 4] y)
//	<float[4] w = {1, 2, 3, 4}>
//	{
//	  [first] t = Mul(x, w)
//	  y = Softmax<axis = -1>(t)
//	}
//
// An attribute is an integer, a number with a point, a string, a list of one kind, a tensor "= float[2] {1, 2}", a graph, or "= @name", which stands for an attribute of the function around it. Functions
// stand behind the graph: <domain: "d", opset_import: ["": 17]> name <attr> (x) => (y) { ... }. Only tests import it. Read next: parse.go.
package onnxtest

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a protobuf message that is being written.
type message []byte

func (m *message) number(field protowire.Number, v int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(v))
}

func (m *message) bytes(field protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), b)
}

func (m *message) text(field protowire.Number, s string) { m.bytes(field, []byte(s)) }

func (m *message) float(field protowire.Number, f float64) {
	*m = protowire.AppendFixed32(protowire.AppendTag(*m, field, protowire.Fixed32Type), math.Float32bits(float32(f)))
}

// elements are the element types by name, with how a number is written.
var elements = map[string]struct {
	code int64
	put  func(b []byte, f float64) []byte
}{
	"float": {1, func(b []byte, f float64) []byte {
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f)))
	}},
	"uint8":  {2, func(b []byte, f float64) []byte { return append(b, byte(f)) }},
	"int8":   {3, func(b []byte, f float64) []byte { return append(b, byte(int8(f))) }},
	"int32":  {6, func(b []byte, f float64) []byte { return binary.LittleEndian.AppendUint32(b, uint32(int32(f))) }},
	"int64":  {7, func(b []byte, f float64) []byte { return binary.LittleEndian.AppendUint64(b, uint64(int64(f))) }},
	"string": {8, nil},
	"bool":   {9, func(b []byte, f float64) []byte { return append(b, byte(f)) }},

	// Types without constants: their elements are packed.
	"float8e5m2fnuz": {20, nil}, "float4e2m1": {23, nil}, "float8e8m0": {24, nil}, "int2": {26, nil},
	"float16": {10, nil}, "bfloat16": {16, nil}, "float8e4m3fn": {17, nil}, "int4": {22, nil},
	"double": {11, func(b []byte, f float64) []byte { return binary.LittleEndian.AppendUint64(b, math.Float64bits(f)) }},
}

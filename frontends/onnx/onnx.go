// Package onnx reads ONNX models, and reads and writes tensors.
//
// Read decodes a model straight from the protobuf wire format, without a copy of its weights: a tensor's bytes are a part of the
// file's, or stay in the external file that the model names, and each constant knows where it lies so that a program can take
// it from there. The result is a foreign graph for package mapping; the rules for the operators are rules/onnx.map there. It
// must not import a back end. Read next: model.go,
// then packages frontends/mapping and, for the way back, frontends/onnx/modelfile.
package onnx

import (
	"fmt"

	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
)

// CodeFile is the code of a file that is not a model, or not a sound one.
const CodeFile = "TAP1411"

// maxNest bounds how deep graphs may nest in a file.
const maxNest = 32

// elementTypes are ONNX's element types by number: the name, and tapc's type, Invalid where it has none.
var elementTypes = []struct {
	name  string
	dtype scalar.DType
}{
	{"undefined", scalar.Invalid}, {"float", scalar.Float32}, {"uint8", scalar.UInt8}, {"int8", scalar.Int8}, {"uint16", scalar.UInt16},
	{"int16", scalar.Int16}, {"int32", scalar.Int32}, {"int64", scalar.Int64}, {"string", scalar.Invalid}, {"bool", scalar.Bool},
	{"float16", scalar.Float16}, {"double", scalar.Float64}, {"uint32", scalar.UInt32}, {"uint64", scalar.UInt64},
	{"complex64", scalar.Complex64}, {"complex128", scalar.Complex128}, {"bfloat16", scalar.BFloat16}, {"float8e4m3fn", scalar.Float8E4M3},
	{"float8e4m3fnuz", scalar.Float8E4M3FNUZ}, {"float8e5m2", scalar.Float8E5M2}, {"float8e5m2fnuz", scalar.Float8E5M2FNUZ}, {"uint4", scalar.UInt4},
	{"int4", scalar.Int4}, {"float4e2m1", scalar.Float4E2M1}, {"float8e8m0", scalar.Float8E8M0}, {"uint2", scalar.UInt2}, {"int2", scalar.Int2},
	{"float6e2m3", scalar.Float6E2M3}, {"float6e3m2", scalar.Float6E3M2},
}

// elementType gives tapc's type for the number of an element type, and why there is none.
func elementType(n int64) (scalar.DType, string) {
	if n < 0 || n >= int64(len(elementTypes)) {
		return scalar.Invalid, fmt.Sprintf("has the unknown element type %d", n)
	}
	t := elementTypes[n]
	if t.dtype == scalar.Invalid {
		return t.dtype, fmt.Sprintf("has the element type %s, which tapc does not have", t.name)
	}
	return t.dtype, ""
}

// TypeName gives the name of tapc's type for the number of an element type; ok is false if there is none.
func TypeName(n int64) (string, bool) {
	d, reason := elementType(n)
	return d.String(), reason == ""
}

func fault(file, format string, args ...any) error {
	return diag.Errorf(CodeFile, "parse", diag.Location{File: file}, format, args...)
}

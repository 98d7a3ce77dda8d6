package cexpr

import (
	"fmt"

	"tensortapestry.org/tapc/ir/scalar"
)

// MultiplyAdd writes a·b + c of floats of 32 or 64 bits, rounded once where the processor has an instruction for it. Only what this writes is
// fused: the C compiler, which would decide by what is side by side, is told to contract nothing.
func (w *Writer) MultiplyAdd(d scalar.DType, a, b, c string) string {
	return w.call(multiplyAdd(d), a, b, c)
}

func multiplyAdd(d scalar.DType) function {
	name, suffix := "tapc_fma_"+shortName(d), "f"
	if d == scalar.Float64 {
		suffix = ""
	}
	macro := map[scalar.DType]string{scalar.Float32: "__FP_FAST_FMAF", scalar.Float64: "__FP_FAST_FMA"}[d]
	return def(name, fmt.Sprintf("%[1]s %[2]s(%[1]s a, %[1]s b, %[1]s c) {\n#if defined(%[3]s) || defined(__FMA__) || defined(__aarch64__)\n  return __builtin_fma%[4]s(a, b, c);\n"+
		"#else\n  return a * b + c;\n#endif\n}", CType(d), name, macro, suffix))
}

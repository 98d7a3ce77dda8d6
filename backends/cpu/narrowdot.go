package cpu

import (
	"fmt"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// narrowDot says how a vector of sums takes in the products of a group of four bytes along the fold: two of bfloat16 or four of
// bytes. In step, $c is the sums, $a the left group in every lane and $w those of the columns; left and right are made of $ once for
// all steps that use it, and called $a_0, $w_0 and so on.
type narrowDot struct {
	typ         string // of what left and right make
	left, right []string
	step        string
	part        int64 // blocks of the fold after which sums start anew, so that their error grows less; 0 for exact sums
}

// dot gives how the sums of a tile's function are computed.
func (n *narrow) dot(t narrowTile) narrowDot {
	lanes := n.product.n
	const part = tile.SumBlock * 2 / tile.NarrowBlock
	switch {
	case t.name == "vnni":
		return narrowDot{step: "$c = " + n.instruction("tapc_vnni", "vpdpbusd", "v", scalar.UInt32) + "($c, $a, $w);"}
	case t.name == "vexvnni":
		return narrowDot{step: "$c = " + n.instruction("tapc_vexvnni", "%{vex%} vpdpbusd", "x", scalar.UInt32) + "($c, $a, $w);"}
	case t.name == "bf16":
		return narrowDot{step: "$c = " + n.instruction("tapc_dot_bf16", "vdpbf16ps", "v", scalar.Float32) + "($c, $a, $w);", part: part}
	case n.left.layout.narrow.isBytes():
		u16, i16 := n.e.v.typ(scalar.UInt16, 2*lanes), n.e.v.typ(scalar.Int16, 2*lanes)
		return narrowDot{typ: i16, left: []string{"(" + i16 + ")($ & 0x00ff00ffu)", "(" + i16 + ")($ >> 8 & 0x00ff00ffu)"},
			right: []string{"(" + i16 + ")((" + u16 + ")$ << 8) >> 8", "(" + i16 + ")$ >> 8"},
			step:  fmt.Sprintf("$c += %s($a_0, $w_0) + %s($a_1, $w_1);", n.pairs(), n.pairs())}
	}
	f := n.e.v.typ(scalar.Float32, lanes)
	halves := []string{"(" + f + ")($ << 16)", "(" + f + ")($ & 0xffff0000u)"}
	return narrowDot{typ: f, left: halves, right: halves, step: "$c += $a_0 * $w_0, $c += $a_1 * $w_1;", part: part}
}

// instruction names a function that is one instruction on three vectors, the first of which it changes.
func (n *narrow) instruction(name, mnemonic, register string, d scalar.DType) string {
	lanes := n.product.n
	t, bits := n.e.v.typ(d, lanes), n.e.v.typ(scalar.UInt32, lanes)
	n.define(name, fmt.Sprintf("#if defined(TAPC_NARROW)\nTAPC_FN %s %s(%s c, %s a, %s w) {\n  __asm__(%q : \"+%s\"(c) : \"%s\"(a), \"%s\"(w));\n  return c;\n}\n#endif\n",
		t, name, t, bits, bits, mnemonic+" %2, %1, %0", register, register, register))
	return name
}

// pairs names the function that multiplies numbers of 16 bits and adds the products of neighbours.
func (n *narrow) pairs() string {
	lanes := n.product.n
	u32, i32, i16 := n.e.v.typ(scalar.UInt32, lanes), n.e.v.typ(scalar.Int32, lanes), n.e.v.typ(scalar.Int16, 2*lanes)
	name := fmt.Sprintf("tapc_pairs_x%d", lanes)
	condition, call := "defined(__SSE2__)", "__builtin_ia32_pmaddwd128(a, w)"
	if lanes == 8 {
		condition, call = "defined(__AVX2__)", "__builtin_ia32_pmaddwd256(a, w)"
	}
	quick := "  return (" + u32 + ")" + call + ";\n"
	if lanes == 16 {
		condition = "defined(__AVX512BW__)"
		quick = "#if defined(__clang__)\n  return (" + u32 + ")__builtin_ia32_pmaddwd512(a, w);\n#else\n" +
			"  return (" + u32 + ")__builtin_ia32_pmaddwd512_mask(a, w, (" + i32 + "){0}, -1);\n#endif\n"
	}
	n.define(name, fmt.Sprintf("TAPC_FN %s %s(%s a, %s w) {\n#if %s\n%s#else\n"+
		"  return (%s)(((%s)((%s)a << 16) >> 16) * ((%s)((%s)w << 16) >> 16) + ((%s)a >> 16) * ((%s)w >> 16));\n#endif\n}\n",
		u32, name, i16, i16, condition, quick, u32, i32, u32, i32, u32, i32, i32))
	return name
}

package vector

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir/scalar"
)

// MaxULP is the greatest error of the functions of vectors, in units in the last place. NaN, infinities and signed zeros come
// out as the C library gives them.
const MaxULP = 2

// mathType is a vector type that functions are written for.
type mathType struct {
	v        *Printer
	d        scalar.DType
	n        int
	mantissa int // bits of a float behind its first
	bias     int // of its exponent
}

// Function writes a function of one float vector; ok is false for those that are computed lane by lane.
func Function(v *Printer, op scalar.Op, n int, args []Value) (x Value, ok bool) {
	m := mathType{v, args[0].Type, n, 23, 127}
	if m.d == scalar.Float64 {
		m.mantissa, m.bias = 52, 1023
	}
	if n < 4 || m.d != scalar.Float32 && (m.d != scalar.Float64 || op == scalar.Erf) {
		return Value{}, false
	}
	var write func(m mathType) string
	switch op {
	case scalar.Exp, scalar.Exp2:
		write = func(m mathType) string { return m.exp(op) }
	case scalar.Log:
		write = mathType.log
	case scalar.Tanh:
		write = mathType.tanh
	case scalar.Erf:
		write = mathType.erf
	case scalar.Sin, scalar.Cos:
		write = func(m mathType) string { return m.wave(op) }
	default:
		return Value{}, false
	}
	name := v.Define(fmt.Sprintf("tapc_%v_%s", op, m.short()), func() string {
		body := m.fill(write(m))
		return m.fill(fmt.Sprintf("TAPC_FN $V tapc_%v_%s($V x) {\n", op, m.short())) + body + "}\n"
	})
	return Value{Text: fmt.Sprintf("%s(%s)", name, args[0].Text), Type: m.d}, true
}

func (m mathType) short() string { return fmt.Sprintf("%sx%d", ElementName(m.d), m.n) }

// fill names the types in a text: $V of floats, $I of integers, $U of integers without sign; $pick chooses by a truth vector,
// $bias and $mantissa are numbers of the float format.
func (m mathType) fill(text string) string {
	i := m.v.MaskType(m.d.Size(), m.n)
	t := m.v.Type(m.d, m.n)
	m.v.Pick(t, i, "", "", "")
	return strings.NewReplacer("$V", t, "$I", i, "$U", m.v.Type(IntegerOf(m.d.Size(), false), m.n), "$pick", "tapc_pick_"+m.short(),
		"$bias", fmt.Sprint(m.bias), "$mantissa", fmt.Sprint(m.mantissa)).Replace(text)
}

// c writes a constant.
func (m mathType) c(x float64) string {
	if m.d == scalar.Float32 {
		return strconv.FormatFloat(float64(float32(x)), 'x', -1, 64) + "f"
	}
	return strconv.FormatFloat(x, 'x', -1, 64)
}

// all writes a vector of a constant other than 0.
func (m mathType) all(x float64) string { return m.c(x) + " + ($V){0}" }

// fma writes a·b + c of vectors, rounded once where the processor does that.
func (m mathType) fma(a, b, c string) string { return m.v.Of(m.d, m.n).MultiplyAdd(a, b, c) }

// polynomial writes c[0] + c[1] x + c[2] x² and so on.
func (m mathType) polynomial(x string, c ...float64) string {
	text := m.all(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		text = m.fma(text, x, m.all(c[i]))
	}
	return text
}

// series writes a Taylor series: the polynomial of 1/k! for k from first in steps.
func (m mathType) series(x string, first, step, terms int, sign float64) string {
	c := make([]float64, terms)
	for i := range c {
		c[i] = math.Pow(sign, float64(i)) / math.Gamma(float64(first+i*step)+1)
	}
	return m.polynomial(x, c...)
}

// split writes n, a whole number near x / unit, and its bits k, found by adding a number so large that its last place is 1.
func (m mathType) split(x string, perUnit float64) string {
	magic := 1.5 * math.Ldexp(1, m.mantissa)
	bits := fmt.Sprintf("UINT64_C(0x%x)", math.Float64bits(magic))
	if m.d == scalar.Float32 {
		bits = fmt.Sprintf("0x%xu", math.Float32bits(float32(magic)))
	}
	return fmt.Sprintf("  const $V t = %s, n = t - %s;\n  const $U k = ($U)t - %s;\n", m.fma(x, m.all(perUnit), m.all(magic)), m.c(magic), bits)
}

// Parts of ln 2 and pi/2 that have so few bits that their products with small whole numbers are exact, and the rest.
const (
	ln2High32, ln2Low32 = 0x1.63p-1, -0x1.bd0105c610ca8p-13
	ln2High64, ln2Low64 = 0x1.62e42feep-1, 0x1.a39ef35793c76p-33
	pi2High             = 0x1.921fb544p+0
	pi2Middle           = 0x1.0b4611a6p-34
	pi2Low              = 0x1.3198a2e037073p-69
)

// power writes r, what is left of x beside n ln 2, and p = e^r - 1. The rest of the series is below a tenth of a unit in the
// last place of 1.
func (m mathType) power(x string) string {
	high, low, terms := ln2High32, ln2Low32, 6
	if m.d == scalar.Float64 {
		high, low, terms = ln2High64, ln2Low64, 12
	}
	return m.split(x, 1/math.Ln2) + fmt.Sprintf("  const $V r = %s;\n", m.fma("n", m.all(-low), m.fma("n", m.all(-high), x))) +
		fmt.Sprintf("  const $V p = %s;\n", m.fma("r * r", m.series("r", 2, 1, terms, 1), "r"))
}

// exp writes e to the power of x, or 2 to the power of x: p + 1 times 2^n, which takes two steps where it is no normal number.
func (m mathType) exp(op scalar.Op) string {
	least, most := -104.0, 89.0
	if m.d == scalar.Float64 {
		least, most = -746, 710
	}
	if op == scalar.Exp2 {
		least, most = least/math.Ln2, most/math.Ln2
	}
	text := fmt.Sprintf("  x = %s;\n  x = %s;\n", m.v.greater(m.d, m.n, "<", m.c(most)+" + ($V){0}", "x"), m.v.greater(m.d, m.n, ">", m.c(least)+" + ($V){0}", "x"))
	if op == scalar.Exp {
		text += m.power("x")
	} else {
		terms := map[scalar.DType]int{scalar.Float32: 6, scalar.Float64: 12}[m.d]
		text += m.split("x", 1) + fmt.Sprintf("  const $V r = (x - n) * %s;\n  const $V p = %s;\n", m.c(math.Ln2), m.fma("r * r", m.series("r", 2, 1, terms, 1), "r"))
	}
	scale := "  const $I half = ($I)k >> 1;\n" +
		"  return (p + 1) * ($V)(($U)(half + $bias) << $mantissa) * ($V)(($U)(($I)k - half + $bias) << $mantissa);\n"
	if m.n*m.d.Size() != 64 {
		return text + scale
	}
	letter, mask := "s", "65535"
	if m.d == scalar.Float64 {
		letter, mask = "d", "255"
	}
	return text + fmt.Sprintf("#if defined(__AVX512F__)\n  (void)k;\n  return __builtin_ia32_scalefp%s512_mask(p + 1, n, p, (unsigned short)%s, 4);\n#else\n%s#endif\n", letter, mask, scale)
}

// log writes the natural logarithm: of x = 2^e (1 + f), with f small, e ln 2 + log(1 + f), which is a series in s = f / (2 + f).
// The arrangement that keeps the error below one unit in the last place is FDLIBM's (Sun Microsystems, 1993).
func (m mathType) log() string {
	root, tiny, terms := "0x3f3504f3", math.Ldexp(1, -126), 5
	high, low := ln2High32, ln2Low32
	if m.d == scalar.Float64 {
		root, tiny, terms = "INT64_C(0x3fe6a09e667f3bcd)", math.Ldexp(1, -1022), 11
		high, low = ln2High64, ln2Low64
	}
	c := make([]float64, terms)
	for i := range c {
		c[i] = 2 / float64(2*i+3)
	}
	return fmt.Sprintf("  const $I small = x < %s;\n", m.c(tiny)) +
		fmt.Sprintf("  const $V y = $pick(small, x * %s, x);\n", m.c(math.Ldexp(1, m.mantissa))) +
		fmt.Sprintf("  const $I bits = ($I)y - %s;\n", root) +
		"  const $V e = __builtin_convertvector((bits >> $mantissa) - (small & $mantissa), $V);\n" +
		fmt.Sprintf("  const $V f = ($V)((bits & (((%s)1 << $mantissa) - 1)) + %s) - 1;\n", m.v.W.Type(IntegerOf(m.d.Size(), true)), root) +
		"  const $V s = f / (2 + f), z = s * s, h = f * f * " + m.c(0.5) + ";\n" +
		fmt.Sprintf("  const $V q = z * %s;\n", m.polynomial("z", c...)) +
		fmt.Sprintf("  $V g = %s;\n", m.fma("e", m.all(high), "-((h - "+m.fma("s", "h + q", "e * "+m.c(low))+") - f)")) +
		fmt.Sprintf("  g = $pick(x == 0, %s + ($V){0}, g);\n", m.v.W.Const(scalar.FloatValue(m.d, math.Inf(-1)))) +
		fmt.Sprintf("  g = $pick(x == %s, x, g);\n", m.v.W.Const(scalar.FloatValue(m.d, math.Inf(1)))) +
		"  return $pick(x >= 0, g, (x - x) / (x - x));\n"
}

// tanh writes p / (p + 2), where p is e^2|x| - 1, with the sign of x; below 0.6 x + x³ P(x²), as p loses a bit there. P was fitted
// to the exact values with the Remez exchange; its error is below 3e-9 and 4e-18.
func (m mathType) tanh() string {
	most, near := 20.0, []float64{-0.3333329927, 0.1333195824, -0.05378668367, 0.02080538492, -0.005905868804}
	if m.d == scalar.Float64 {
		most, near = 40, []float64{-0.3333333333333313403, 0.1333333333330088264, -0.05396825394986719705, 0.02186948801580763903,
			-0.0088632269537184177, 0.003592038829510407053, -0.001455222987547356356, 0.0005872140735203522171,
			-0.0002304503491845622552, 0.00007937695890033882586, -0.00001721071043589137304}
	}
	return "  const $I sign = ($I)x & ($I)-($V){0};\n  const $V z = x * x;\n  $V y = ($V)(($I)x ^ sign) * 2;\n" +
		fmt.Sprintf("  const $I small = y < %s;\n  const $V low = %s;\n", m.c(1.2), m.fma("x * z", m.polynomial("z", near...), "x")) +
		fmt.Sprintf("  y = %s;\n", m.v.greater(m.d, m.n, "<", m.c(most)+" + ($V){0}", "y")) + m.power("y") +
		"  const $V scale = ($V)((k + $bias) << $mantissa);\n  const $V e = " + m.fma("scale", "p", "scale - 1") + ";\n" +
		"  return ($V)(($I)$pick(small, low, e / (e + 2)) | sign);\n"
}

// erf writes the error function of float32: x + x P(x²) below 1, 1 - exp(Q(|x|)) above. P and Q were fitted to the exact values
// with the Remez exchange; their errors are below 1.2e-9.
func (m mathType) erf() string {
	exp, _ := Function(m.v, scalar.Exp, m.n, []Value{{Text: "q", Type: m.d}})
	return "  const $I sign = ($I)x & ($I)-($V){0};\n  const $V y = ($V)(($I)x ^ sign), z = x * x;\n" +
		fmt.Sprintf("  const $V low = %s;\n", m.fma("x", m.polynomial("z", 0.128379165914, -0.37612627136, 0.112836001758, -0.0268544445625,
			0.00518953527781, -0.000802084071355, 7.88911757925e-5), "x")) +
		fmt.Sprintf("  const $V c = %s;\n", m.v.greater(m.d, m.n, "<", "4 + ($V){0}", "y")) +
		fmt.Sprintf("  const $V q = %s;\n", m.polynomial("c", -0.000332707133369, -1.12712242472, -0.638093691221, -0.103147857732,
			0.0218562577208, -0.00295186308346, 0.000186775584658)) +
		fmt.Sprintf("  const $V high = ($V)(($I)(1 - %s) | sign);\n", exp.Text) +
		"  return $pick(y < 1, low, high);\n"
}

// wave writes sin or cos: x less n quarter turns, and by n mod 4 the series of sine or cosine, or its negative. Angles so large
// that n is not exact are left to the C library, and no others, so that a lane does not depend on its neighbours.
func (m mathType) wave(op scalar.Op) string {
	plain := m.v.lanewise(op, m.d, m.n, []Value{{Text: "x", Type: m.d}})
	text := "  const $V y = ($V)(($I)x & ~($I)-($V){0});\n" + fmt.Sprintf("  const $I far = ~(y <= %s);\n", m.c(1<<19)) +
		m.either()
	sines, cosines := 8, 8
	if m.d == scalar.Float64 {
		text += m.split("x", 2/math.Pi)
		text += fmt.Sprintf("  const $V r = %s;\n", m.fma("n", m.all(-pi2Low), m.fma("n", m.all(-pi2Middle), m.fma("n", m.all(-pi2High), "x"))))
	} else {
		text += m.wideTurns()
		sines, cosines = 4, 5
	}
	turn := "k"
	if op == scalar.Cos {
		turn = "(k + 1)"
	}
	return text + "  const $V z = r * r;\n" +
		fmt.Sprintf("  const $V s = ($V)(($I)%s | (($I)r & ($I)-($V){0}));\n", m.fma("-(r * z)", m.series("z", 3, 2, sines, -1), "r")) + // of -0 too
		fmt.Sprintf("  const $V c = %s;\n", m.fma("-z", m.fma("-z", m.series("z", 4, 2, cosines, -1), m.all(0.5)), m.all(1))) +
		fmt.Sprintf("  const $V g = $pick(($I)-(%s & 1), c, s);\n", turn) +
		fmt.Sprintf("  const $V w = ($V)(($U)g ^ ((%s & 2) << %d));\n  return any ? $pick(far, %s, w) : w;\n", turn, m.d.Bits()-2, plain.Text)
}

// either writes any, whether a lane of far is true.
func (m mathType) either() string {
	return fmt.Sprintf("  int64_t words[%d], any = 0;\n  __builtin_memcpy(words, &far, sizeof words);\n  for (int i = 0; i < %d; i++) any |= words[i];\n",
		m.n*m.d.Size()/8, m.n*m.d.Size()/8)
}

// wideTurns writes r and k of float32 angles, computed in float64, half of the lanes at a time.
func (m mathType) wideTurns() string {
	half := m.n / 2
	wide := mathType{m.v, scalar.Float64, half, 52, 1023}
	name := m.v.Define("tapc_turns_"+m.short(), func() string {
		narrow := m.v.Type(scalar.Float32, half)
		whole := m.v.Type(scalar.Int32, half)
		return wide.fill(fmt.Sprintf("TAPC_FN %s tapc_turns_%s(%s a, %s *k4) {\n  const $V x = __builtin_convertvector(a, $V);\n", narrow, m.short(), narrow, whole) +
			wide.split("x", 2/math.Pi) + fmt.Sprintf("  *k4 = __builtin_convertvector(($I)k, %s);\n", whole) +
			fmt.Sprintf("  return __builtin_convertvector(%s, %s);\n}\n", wide.fma("n", wide.all(-pi2Middle), wide.fma("n", wide.all(-pi2High), "x")), narrow))
	})
	narrow, whole := m.v.Type(scalar.Float32, half), m.v.Type(scalar.Int32, half)
	return fmt.Sprintf("  %s in[2], out[2];\n  %s turns[2];\n  __builtin_memcpy(in, &x, sizeof in);\n"+
		"  out[0] = %s(in[0], &turns[0]), out[1] = %s(in[1], &turns[1]);\n"+
		"  $V r;\n  $U k;\n  __builtin_memcpy(&r, out, sizeof r);\n  __builtin_memcpy(&k, turns, sizeof k);\n", narrow, whole, name, name)
}

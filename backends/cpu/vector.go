package cpu

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
)

// vectors writes C code that computes with vectors: the vector types of GCC and Clang, which they have for every processor.
// A vector's name says what it holds: tapc_f32x16 is 16 float32. Truth is a vector of integers, -1 for true.
type vectors struct {
	w     *cexpr.Writer
	texts map[string]string // definitions, by name
	order []string          // in which they were asked for: each needs only earlier ones
	allow permission.Set    // what the kernel that is written may do to numbers
}

func newVectors(w *cexpr.Writer) *vectors { return &vectors{w: w, texts: map[string]string{}} }

// prelude gives the definitions of what was used.
func (v *vectors) prelude() string {
	var b strings.Builder
	for _, name := range v.order {
		b.WriteString(v.texts[name])
	}
	return b.String()
}

// define adds a definition once, by name, and gives the name.
func (v *vectors) define(name string, text func() string) string {
	if _, ok := v.texts[name]; !ok {
		v.texts[name] = "" // what text itself needs comes before it in the order
		t := text()
		v.texts[name] = t
		v.order = append(v.order, name)
	}
	return name
}

// elementName is a short name of an element type: f32, i8, u64.
func elementName(d scalar.DType) string {
	switch {
	case d == scalar.Bool:
		return "u8"
	case d == scalar.BFloat16:
		return "bf16"
	case d.IsFloat():
		return fmt.Sprintf("f%d", d.Bits())
	case d.IsSigned():
		return fmt.Sprintf("i%d", d.Bits())
	}
	return fmt.Sprintf("u%d", d.Bits())
}

func (v *vectors) shortName(d scalar.DType, n int) string {
	return fmt.Sprintf("%sx%d", elementName(d), n)
}

// vectorizable says whether there are vectors of an element type: of the numbers that C computes with as they are.
func vectorizable(d scalar.DType) bool {
	switch d {
	case scalar.Bool, scalar.Float32, scalar.Float64, scalar.Int8, scalar.Int16, scalar.Int32, scalar.Int64,
		scalar.UInt8, scalar.UInt16, scalar.UInt32, scalar.UInt64:
		return true
	}
	return false
}

// typ names the vector type of n values. With the suffix u it is the same in memory, at any address.
func (v *vectors) typ(d scalar.DType, n int) string {
	name := fmt.Sprintf("tapc_%sx%d", elementName(d), n)
	return v.define(name, func() string {
		element, bytes := cexpr.Stored(d), n*d.Size()
		return fmt.Sprintf("typedef %s %s __attribute__((vector_size(%d)));\n"+
			"typedef %s %su __attribute__((vector_size(%d), aligned(%d), may_alias));\n", element, name, bytes, element, name, bytes, d.Size())
	})
}

// unsignedOf gives the unsigned type of the same width.
func unsignedOf(d scalar.DType) scalar.DType { return integerOf(d.Size(), false) }

func integerOf(size int, signed bool) scalar.DType {
	list := map[int][2]scalar.DType{1: {scalar.UInt8, scalar.Int8}, 2: {scalar.UInt16, scalar.Int16}, 4: {scalar.UInt32, scalar.Int32},
		8: {scalar.UInt64, scalar.Int64}}
	if signed {
		return list[size][1]
	}
	return list[size][0]
}

// value is the text of something computed: a vector of lanes, or one number for all of them.
type value struct {
	text    string
	typ     scalar.DType
	uniform bool
	number  bool // a constant that is not NaN
	zero    bool // a constant that is 0 or -0
	mask    int  // bytes of a lane of a truth vector; a uniform truth is 0 or 1
}

// load reads n live values at an address; count is the text of how many of them are there, n itself for all.
func (v *vectors) load(d scalar.DType, n int, address, count string) string {
	t := v.typ(d, n)
	name := v.define(fmt.Sprintf("tapc_load_%sx%d", elementName(d), n), func() string {
		text := fmt.Sprintf("TAPC_FN %s tapc_load_%sx%d(const %s *p, int n) {\n  if (n == %d) return *(const %su *)p;\n",
			t, elementName(d), n, cexpr.Stored(d), n, t)
		if h := n / 2; h*d.Size() >= leastBytes {
			text += fmt.Sprintf("  if (n == %d) return __builtin_shufflevector(*(const %[2]su *)p, (%[2]s){0}, %[3]s);\n", h, v.typ(d, h), listed(n))
		}
		text += v.masked(d, n, "  return (%[1]s)__builtin_ia32_loadup%[2]s512_mask((const %[3]s *)p, (%[1]s){0}, (uint%[4]d_t)((1u << n) - 1));\n")
		return text + fmt.Sprintf("  %s v = {0};\n  __builtin_memcpy(&v, p, (unsigned)n * sizeof *p);\n  return v;\n}\n", t)
	})
	return fmt.Sprintf("%s(%s, %s)", name, address, count)
}

// store writes the live values of a vector.
func (v *vectors) store(d scalar.DType, n int, address, vector, count string) string {
	t := v.typ(d, n)
	name := v.define(fmt.Sprintf("tapc_store_%sx%d", elementName(d), n), func() string {
		text := fmt.Sprintf("TAPC_FN void tapc_store_%sx%d(%s *p, %s v, int n) {\n  if (n == %d) { *(%su *)p = v; return; }\n",
			elementName(d), n, cexpr.Stored(d), t, n, t)
		if h := n / 2; h*d.Size() >= leastBytes {
			text += fmt.Sprintf("  if (n == %d) { *(%su *)p = __builtin_shufflevector(v, v, %s); return; }\n", h, v.typ(d, h), listed(h))
		}
		text += v.masked(d, n, "  __builtin_ia32_storeup%[2]s512_mask((%[3]s *)p, v, (uint%[4]d_t)((1u << n) - 1));\n  return;\n")
		return text + "  __builtin_memcpy(p, &v, (unsigned)n * sizeof *p);\n}\n"
	})
	return fmt.Sprintf("%s(%s, %s, %s)", name, address, vector, count)
}

// listed lists the lanes of a vector.
func listed(n int) string {
	lanes := make([]string, n)
	for i := range lanes {
		lanes[i] = fmt.Sprint(i)
	}
	return strings.Join(lanes, ", ")
}

// masked writes a statement for processors that read and write some lanes of a vector of 64 bytes: through memory, as memcpy has
// it, a vector would wait for what was written in pieces. The statement is a format of the vector's type, the instruction's letter, the
// element type and the number of lanes.
func (v *vectors) masked(d scalar.DType, n int, format string) string {
	letter := map[scalar.DType]string{scalar.Float32: "s", scalar.Float64: "d"}[d]
	if letter == "" || n*d.Size() != 64 {
		return ""
	}
	return "#if defined(__AVX512F__)\n" + fmt.Sprintf(format, v.typ(d, n), letter, cexpr.CType(d), n) + "#endif\n"
}

// stream writes a whole vector past the caches, to an address that is a multiple of its size. A fence must follow before other
// threads read it.
func (v *vectors) stream(d scalar.DType, n int, address, vector string) string {
	t := v.typ(d, n)
	name := v.define(fmt.Sprintf("tapc_stream_%sx%d", elementName(d), n), func() string {
		builtin := map[int]string{64: "movntps512", 32: "movntps256", 16: "movntps"}[n*d.Size()]
		text := fmt.Sprintf("TAPC_FN void tapc_stream_%sx%d(%s *p, %s v) {\n#if defined(__clang__)\n"+
			"  __builtin_nontemporal_store(v, (%s *)p);\n", elementName(d), n, cexpr.CType(d), t, t)
		if builtin != "" {
			macro := map[int]string{64: "__AVX512F__", 32: "__AVX__", 16: "__SSE__"}[n*d.Size()]
			text += fmt.Sprintf("#elif defined(%s)\n  __builtin_ia32_%s((float *)p, (%s)v);\n", macro, builtin, v.typ(scalar.Float32, n*d.Size()/4))
		}
		return text + fmt.Sprintf("#else\n  *(%s *)p = v;\n#endif\n}\n", t)
	})
	v.define("tapc_fence", func() string {
		return "TAPC_FN void tapc_fence(void) {\n#if defined(__SSE__)\n  __builtin_ia32_sfence();\n#else\n  __atomic_thread_fence(__ATOMIC_SEQ_CST);\n#endif\n}\n"
	})
	return fmt.Sprintf("%s(%s, %s)", name, address, vector)
}

// gather reads n live values that stand step elements apart.
func (v *vectors) gather(d scalar.DType, n int, address, step, count string) string {
	t := v.typ(d, n)
	name := v.define(fmt.Sprintf("tapc_gather_%sx%d", elementName(d), n), func() string {
		return fmt.Sprintf("TAPC_FN %s tapc_gather_%sx%d(const %s *p, int64_t step, int n) {\n  %s v = {0};\n"+
			"  for (int i = 0; i < n; i++) v[i] = p[i * step];\n  return v;\n}\n", t, elementName(d), n, cexpr.Stored(d), t)
	})
	return fmt.Sprintf("%s(%s, %s, %s)", name, address, step, count)
}

// scatter writes the live values of a vector step elements apart.
func (v *vectors) scatter(d scalar.DType, n int, address, step, vector, count string) string {
	t := v.typ(d, n)
	name := v.define(fmt.Sprintf("tapc_scatter_%sx%d", elementName(d), n), func() string {
		return fmt.Sprintf("TAPC_FN void tapc_scatter_%sx%d(%s *p, int64_t step, %s v, int n) {\n"+
			"  for (int i = 0; i < n; i++) p[i * step] = v[i];\n}\n", elementName(d), n, cexpr.Stored(d), t)
	})
	return fmt.Sprintf("%s(%s, %s, %s, %s)", name, address, step, vector, count)
}

// splat makes a vector of a uniform value; a vector stays as it is.
func (v *vectors) splat(x value, n int) value {
	if !x.uniform {
		return x
	}
	d, mask := x.typ, 0
	if d == scalar.Bool {
		d, mask = scalar.Int8, 1
	}
	t := v.typ(d, n)
	name := v.define(fmt.Sprintf("tapc_splat_%sx%d", elementName(d), n), func() string {
		return fmt.Sprintf("TAPC_FN %s tapc_splat_%sx%d(%s x) { return (%s){%s}; }\n", t, elementName(d), n, cexpr.CType(d), t,
			strings.Join(slices.Repeat([]string{"x"}, n), ", "))
	})
	text := x.text
	if mask > 0 {
		text = fmt.Sprintf("(int8_t)-(%s)", text)
	}
	return value{text: fmt.Sprintf("%s(%s)", name, text), typ: x.typ, mask: mask}
}

// count makes the vector start, start + 1, start + 2 and so on of a loop's values.
func (v *vectors) count(start string, n int) value {
	t := v.typ(scalar.Int64, n)
	lanes := make([]string, n)
	for i := range lanes {
		lanes[i] = fmt.Sprint(i)
	}
	name := v.define(fmt.Sprintf("tapc_count_x%d", n), func() string {
		return fmt.Sprintf("TAPC_FN %s tapc_count_x%d(int64_t x) { return x + (%s){%s}; }\n", t, n, t, strings.Join(lanes, ", "))
	})
	return value{text: fmt.Sprintf("%s(%s)", name, start), typ: scalar.Int64}
}

// only gives a vector whose first lanes are live, and the others a value.
func (v *vectors) only(x value, n int, live string, other scalar.Value) value {
	size := x.typ.Size()
	if x.typ == scalar.Bool {
		size = x.mask
	}
	lanes := v.maskType(size, n)
	name := v.define(fmt.Sprintf("tapc_live_%s", strings.TrimPrefix(lanes, "tapc_")), func() string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprint(i)
		}
		return fmt.Sprintf("TAPC_FN %s tapc_live_%s(int n) { return (%s)((%s){%s} < (%s)n); }\n", lanes, strings.TrimPrefix(lanes, "tapc_"),
			lanes, lanes, strings.Join(list, ", "), v.w.Type(integerOf(size, true)))
	})
	c := value{text: fmt.Sprintf("%s(%s)", name, live), typ: scalar.Bool, mask: size}
	return v.choose(n, c, x, v.splat(value{text: v.w.Const(other), typ: x.typ, uniform: true}, n))
}

// turn copies some rows of n elements turned on their diagonal: the rows, at most n, that stand step apart at from become the columns of
// n rows that stand apart elements apart at to, all of them vectors, which are written one behind the other.
func (v *vectors) turn(d scalar.DType, n, live int, from, step, to, apart string) string {
	t := v.typ(d, n)
	name := v.define(fmt.Sprintf("tapc_turn_%dx%sx%d", live, elementName(d), n), func() string {
		var b strings.Builder
		fmt.Fprintf(&b, "TAPC_FN void tapc_turn_%dx%sx%d(const %s *from, int64_t step, %s *to, int64_t apart) {\n",
			live, elementName(d), n, cexpr.CType(d), cexpr.CType(d))
		rows := make([]string, n)
		for i := range rows {
			rows[i] = fmt.Sprintf("r0_%d", i)
			if i < live {
				fmt.Fprintf(&b, "  const %s %s = *(const %su *)(from + %d * step);\n", t, rows[i], t, i)
			} else {
				fmt.Fprintf(&b, "  const %s %s = {0};\n", t, rows[i])
			}
		}
		for half, stage := 1, 1; half < n; half, stage = half*2, stage+1 { // exchange blocks of half by half across the diagonal
			next := make([]string, n)
			for i := range n {
				if i&half != 0 {
					continue
				}
				lo, hi := blends(n, half)
				next[i], next[i|half] = fmt.Sprintf("r%d_%d", stage, i), fmt.Sprintf("r%d_%d", stage, i|half)
				fmt.Fprintf(&b, "  const %s %s = __builtin_shufflevector(%s, %s, %s);\n", t, next[i], rows[i], rows[i|half], lo)
				fmt.Fprintf(&b, "  const %s %s = __builtin_shufflevector(%s, %s, %s);\n", t, next[i|half], rows[i], rows[i|half], hi)
			}
			rows = next
		}
		for i, r := range rows {
			fmt.Fprintf(&b, "  *(%su *)(to + %d * apart) = %s;\n", t, i, r)
		}
		b.WriteString("}\n")
		return b.String()
	})
	return fmt.Sprintf("%s(%s, %s, %s, %s)", name, from, step, to, apart)
}

// blends gives the lanes that two rows exchange: those where the bit half is set in one for those where it is not in the other.
func blends(n, half int) (lo, hi string) {
	a, b := make([]string, n), make([]string, n)
	for i := range n {
		a[i], b[i] = fmt.Sprint(i), fmt.Sprint(n+i)
		if i&half != 0 {
			a[i] = fmt.Sprint(n + i - half)
		} else {
			b[i] = fmt.Sprint(i + half)
		}
	}
	return strings.Join(a, ", "), strings.Join(b, ", ")
}

package vector

import (
	"fmt"
	"io/fs"
	"strings"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/ir/scalar"
)

// Type is a type of vectors of n values, which knows how they are read and written.
type Type struct {
	v *Printer
	d scalar.DType
	n int
}

// Of gives the type of vectors of n values.
func (v *Printer) Of(d scalar.DType, n int) Type { return Type{v, d, n} }

// Lanes is how many values a vector has.
func (x Type) Lanes() int { return x.n }

// LeastBytes is the size of the smallest vector that is worth it.
const LeastBytes = 16

// Load reads n live values at an address; count is the text of how many of them are there, n itself for all.
func (x Type) Load(address, count string) string {
	v, d, n := x.v, x.d, x.n
	t := v.Type(d, n)
	name := v.Define(fmt.Sprintf("tapc_load_%sx%d", ElementName(d), n), func() string {
		text := fmt.Sprintf("TAPC_FN %s tapc_load_%sx%d(const %s *p, int n) {\n  if (n == %d) return *(const %su *)p;\n",
			t, ElementName(d), n, cexpr.Stored(d), n, t)
		if h := n / 2; h*d.Size() >= LeastBytes {
			text += fmt.Sprintf("  if (n == %d) return __builtin_shufflevector(*(const %[2]su *)p, (%[2]s){0}, %[3]s);\n", h, v.Type(d, h), listed(n))
		}
		text += x.Masked("  return (%[1]s)__builtin_ia32_loadup%[2]s512_mask((const %[3]s *)p, (%[1]s){0}, (uint%[4]d_t)((1u << n) - 1));\n")
		return text + fmt.Sprintf("  %s v = {0};\n  __builtin_memcpy(&v, p, (unsigned)n * sizeof *p);\n  return v;\n}\n", t)
	})
	return fmt.Sprintf("%s(%s, %s)", name, address, count)
}

// Store writes the live values of a vector.
func (x Type) Store(address, vector, count string) string {
	v, d, n := x.v, x.d, x.n
	t := v.Type(d, n)
	name := v.Define(fmt.Sprintf("tapc_store_%sx%d", ElementName(d), n), func() string {
		text := fmt.Sprintf("TAPC_FN void tapc_store_%sx%d(%s *p, %s v, int n) {\n  if (n == %d) { *(%su *)p = v; return; }\n",
			ElementName(d), n, cexpr.Stored(d), t, n, t)
		if h := n / 2; h*d.Size() >= LeastBytes {
			text += fmt.Sprintf("  if (n == %d) { *(%su *)p = __builtin_shufflevector(v, v, %s); return; }\n", h, v.Type(d, h), listed(h))
		}
		text += x.Masked("  __builtin_ia32_storeup%[2]s512_mask((%[3]s *)p, v, (uint%[4]d_t)((1u << n) - 1));\n  return;\n")
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

// HasMasks says whether processors read and write some lanes of a vector, which then has 64 bytes.
func HasMasks(d scalar.DType, n int) bool {
	return (d == scalar.Float32 || d == scalar.Float64) && n*d.Size() == 64
}

// Masked writes a statement for processors that read and write some lanes of a vector of 64 bytes: through memory, as memcpy has
// it, a vector would wait for what was written in pieces. The statement is a format of the vector's type, the instruction's letter, the
// element type and the number of lanes.
func (x Type) Masked(format string) string {
	v, d, n := x.v, x.d, x.n
	if !HasMasks(d, n) {
		return ""
	}
	letter := map[scalar.DType]string{scalar.Float32: "s", scalar.Float64: "d"}[d]
	return "#if defined(__AVX512F__)\n" + fmt.Sprintf(format, v.Type(d, n), letter, cexpr.CType(d), n) + "#endif\n"
}

// Stream writes a whole vector past the caches, to an address that is a multiple of its size. A fence must follow before other
// threads read it.
func (x Type) Stream(address, vector string) string {
	v, d, n := x.v, x.d, x.n
	t := v.Type(d, n)
	name := v.Define(fmt.Sprintf("tapc_stream_%sx%d", ElementName(d), n), func() string {
		builtin := map[int]string{64: "movntps512", 32: "movntps256", 16: "movntps"}[n*d.Size()]
		text := fmt.Sprintf("TAPC_FN void tapc_stream_%sx%d(%s *p, %s v) {\n#if defined(__clang__)\n"+
			"  __builtin_nontemporal_store(v, (%s *)p);\n", ElementName(d), n, cexpr.CType(d), t, t)
		if builtin != "" {
			macro := map[int]string{64: "__AVX512F__", 32: "__AVX__", 16: "__SSE__"}[n*d.Size()]
			text += fmt.Sprintf("#elif defined(%s)\n  __builtin_ia32_%s((float *)p, (%s)v);\n", macro, builtin, v.Type(scalar.Float32, n*d.Size()/4))
		}
		return text + fmt.Sprintf("#else\n  *(%s *)p = v;\n#endif\n}\n", t)
	})
	v.Define("tapc_fence", func() string {
		return "TAPC_FN void tapc_fence(void) {\n#if defined(__SSE__)\n  __builtin_ia32_sfence();\n#else\n  __atomic_thread_fence(__ATOMIC_SEQ_CST);\n#endif\n}\n"
	})
	return fmt.Sprintf("%s(%s, %s)", name, address, vector)
}

// Gather reads n live values that stand step elements apart. Every second element is shuffled out of two vectors, of which the second begins with the last
// element of the first, and a whole vector that goes backwards out of one, so nothing beside what lies between them is read.
func (x Type) Gather(address, step, count string) string {
	v, d, n := x.v, x.d, x.n
	t := v.Type(d, n)
	name := v.Define(fmt.Sprintf("tapc_gather_%sx%d", ElementName(d), n), func() string {
		second, back := make([]string, n), make([]string, n)
		for i := range n {
			second[i], back[i] = fmt.Sprint(2*i+(2*i)/n), fmt.Sprint(n-1-i)
		}
		return fmt.Sprintf("TAPC_FN %[1]s tapc_gather_%[2]sx%[3]d(const %[4]s *p, int64_t step, int n) {\n  %[1]s v = {0};\n  if (step == 2) {\n"+
			"    const int m = 2 * n - 1;\n    if (m >= %[3]d) v = %[8]s;\n"+
			"    return __builtin_shufflevector(%[9]s, v, %[6]s);\n  }\n"+
			"  if (step == -1 && n == %[3]d) return __builtin_shufflevector(*(const %[1]su *)(p - %[5]d), v, %[7]s);\n"+
			"  for (int i = 0; i < n; i++) v[i] = p[i * step];\n  return v;\n}\n",
			t, ElementName(d), n, cexpr.Stored(d), n-1, strings.Join(second, ", "), strings.Join(back, ", "),
			x.Load(fmt.Sprintf("p + %d", n-1), fmt.Sprintf("m - %d", n-1)), x.Load("p", fmt.Sprintf("m < %[1]d ? m : %[1]d", n)))
	})
	return fmt.Sprintf("%s(%s, %s, %s)", name, address, step, count)
}

// Scatter writes the live values of a vector step elements apart.
func (x Type) Scatter(address, step, vector, count string) string {
	v, d, n := x.v, x.d, x.n
	t := v.Type(d, n)
	name := v.Define(fmt.Sprintf("tapc_scatter_%sx%d", ElementName(d), n), func() string {
		return fmt.Sprintf("TAPC_FN void tapc_scatter_%sx%d(%s *p, int64_t step, %s v, int n) {\n"+
			"  for (int i = 0; i < n; i++) p[i * step] = v[i];\n}\n", ElementName(d), n, cexpr.Stored(d), t)
	})
	return fmt.Sprintf("%s(%s, %s, %s, %s)", name, address, step, vector, count)
}

// Part reads the lanes from low up to high, and takes the others from a vector; all lanes if low and high are outside of them.
// high may be at most n.
func (x Type) Part(address, low, high, others string) string {
	v, d, n := x.v, x.d, x.n
	t := v.Type(d, n)
	name := v.Define(fmt.Sprintf("tapc_part_%sx%d", ElementName(d), n), func() string {
		c, bytes := cexpr.CType(d), n*d.Size()
		text := fmt.Sprintf("TAPC_FN %s tapc_part_%sx%d(const %s *p, int64_t low, int64_t high, %s v) {\n"+
			"  if (low <= 0 && high == %d) return *(const %su *)p;\n", t, ElementName(d), n, c, t, n, t)
		if letter := map[scalar.DType]string{scalar.Float32: "s", scalar.Float64: "d"}[d]; letter != "" && bytes == 64 {
			mask := fmt.Sprintf("(uint%d_t)", max(8, n))
			text += fmt.Sprintf("#if defined(__AVX512F__)\n  if (high <= low) return v;\n"+
				"  const %s m = %s((1u << high) - (1u << (low > 0 ? low : 0)));\n"+
				"  return (%s)__builtin_ia32_loadup%s512_mask((const %s *)p, v, m);\n#else\n", strings.Trim(mask, "()"), mask, t, letter, c)
			return text + partOneByOne(t, c, n) + "#endif\n}\n"
		}
		if d == scalar.Float32 && (bytes == 32 || bytes == 16) {
			return text + x.partMasked() + partOneByOne(t, c, n) + "#endif\n}\n"
		}
		return text + partOneByOne(t, c, n) + "}\n"
	})
	return fmt.Sprintf("%s(%s, %s, %s, %s)", name, address, low, high, others)
}

// partMasked writes what part does where an instruction reads some lanes of a vector of floats, which touches no memory of the others.
func (x Type) partMasked() string {
	t, whole := x.v.Type(scalar.Float32, x.n), x.v.Type(scalar.Int32, x.n)
	builtin := map[int]string{8: "maskloadps256", 4: "maskloadps"}[x.n]
	return fmt.Sprintf("#if defined(__AVX__)\n  const %[2]s lane = {%[4]s}, m = (%[2]s)(lane >= (int)low) & (%[2]s)(lane < (int)high);\n"+
		"  return (%[1]s)(((%[2]s)__builtin_ia32_%[3]s((const %[1]s *)p, m) & m) | ((%[2]s)v & ~m));\n#else\n", t, whole, builtin, listed(x.n))
}

// partOneByOne writes what part does without an instruction for it. The lanes go through an array: GCC 12 fails on some vectors that
// are set lane by lane.
func partOneByOne(t, element string, n int) string {
	return fmt.Sprintf("  %s x[%d];\n  __builtin_memcpy(x, &v, sizeof x);\n  for (int64_t l = low > 0 ? low : 0; l < high; l++) x[l] = p[l];\n"+
		"  __builtin_memcpy(&v, x, sizeof x);\n  return v;\n", element, n)
}

// Transpose copies some rows of n elements turned on their diagonal: the rows, at most n, that stand step apart at from become the columns of
// n rows that stand apart elements apart at to, all of them vectors, which are written one behind the other.
func (x Type) Transpose(live int, from, step, to, apart string) string {
	v, d, n := x.v, x.d, x.n
	t := v.Type(d, n)
	name := v.Define(fmt.Sprintf("tapc_turn_%dx%sx%d", live, ElementName(d), n), func() string {
		var b strings.Builder
		fmt.Fprintf(&b, "TAPC_FN void tapc_turn_%dx%sx%d(const %s *from, int64_t step, %s *to, int64_t apart) {\n",
			live, ElementName(d), n, cexpr.CType(d), cexpr.CType(d))
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

// Text is a C file of a package's folder c, which is a part of tapc.
func Text(files fs.FS, file string) string {
	data, err := fs.ReadFile(files, "c/"+file)
	if err != nil {
		panic(fmt.Sprintf("cpu: %v", err)) // the program itself would be damaged
	}
	return string(data)
}

// File defines the functions of a C file for the vectors of a type. In the file TAPC_ELEMENT is an element as it is stored, TAPC_VECTOR a vector of TAPC_COUNT values,
// TAPC_NAME(f) what a function f is called, and there are macros beside, each given as what follows #define. A variant is a part of the names of those that differ in
// macros. What comes back gives the name of a function.
func (x Type) File(files fs.FS, file, variant string, macros ...string) func(function string) string {
	suffix := fmt.Sprintf("_%sx%d%s", ElementName(x.d), x.n, variant)
	macros = append([]string{"TAPC_NAME(f) f##" + suffix, "TAPC_ELEMENT " + cexpr.Stored(x.d), "TAPC_VECTOR " + x.v.Type(x.d, x.n), fmt.Sprintf("TAPC_COUNT %d", x.n)}, macros...)
	x.v.Define(file+suffix, func() string {
		var before, behind strings.Builder
		for _, m := range macros {
			name := m[:strings.IndexAny(m, "( ")]
			before.WriteString("#define " + m + "\n")
			behind.WriteString("#undef " + name + "\n")
		}
		return before.String() + Text(files, file) + behind.String()
	})
	return func(function string) string { return function + suffix }
}

// Singles defines what C files call vectors of some float32.
func Singles(v *Printer, lanes int) {
	v.Define("tapc_singles", func() string {
		return fmt.Sprintf("#define TAPC_LANES %d\ntypedef %s tapc_singles;\n", lanes, v.Type(scalar.Float32, lanes))
	})
}

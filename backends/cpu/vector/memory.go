package vector

import (
	"embed"
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
	return fmt.Sprintf("%s(%s, %s)", x.memory("load.c")("tapc_load"), address, count)
}

// Store writes the live values of a vector.
func (x Type) Store(address, vector, count string) string {
	return fmt.Sprintf("%s(%s, %s, %s)", x.memory("load.c")("tapc_store"), address, vector, count)
}

// Gather reads n live values that stand step elements apart.
func (x Type) Gather(address, step, count string) string {
	return fmt.Sprintf("%s(%s, %s, %s)", x.memory("gather.c")("tapc_gather"), address, step, count)
}

// Scatter writes the live values of a vector step elements apart.
func (x Type) Scatter(address, step, vector, count string) string {
	return fmt.Sprintf("%s(%s, %s, %s, %s)", x.memory("gather.c")("tapc_scatter"), address, step, vector, count)
}

// Part reads the lanes from low up to high, and takes the others from a vector; all lanes if low and high are outside of them.
// high may be at most n.
func (x Type) Part(address, low, high, others string) string {
	return fmt.Sprintf("%s(%s, %s, %s, %s)", x.memory("part.c")("tapc_part"), address, low, high, others)
}

// memory defines the functions of a file, and of load.c.
func (x Type) memory(file string) func(function string) string {
	n := x.n
	macros := []string{"TAPC_FIRST " + listed(n, func(i int) int { return i }), "TAPC_SECOND " + listed(n, func(i int) int { return 2*i + 2*i/n }),
		"TAPC_BACKWARDS " + listed(n, func(i int) int { return n - 1 - i })}
	if h := n / 2; h*x.d.Size() >= LeastBytes {
		macros = append(macros, "TAPC_HALF "+x.v.Type(x.d, h)+"u", "TAPC_FIRST_HALF "+listed(h, func(i int) int { return i }))
	}
	if size, bytes := x.d.Size(), n*x.d.Size(); bytes == 8 || bytes == 16 || bytes == 32 {
		macros = append(macros, x.words())
		if size >= 4 && bytes > 8 {
			macros = append(macros, x.maskLoad()...)
		}
	}
	x.own("load.c", macros...)
	if file == "gather.c" {
		macros = append(macros, x.gathered()...)
	}
	return x.own(file, macros...)
}

// gathered says how every second lane is shuffled out of two vectors of 32 bytes: within each half of both, as floats, and then by quarters.
func (x Type) gathered() []string {
	out := []string{"TAPC_EACH_LANE(f) " + listedAs("f(%d)", x.n, func(i int) int { return i })}
	if size := x.d.Size(); size >= 4 && size*x.n == 32 {
		float, half := map[int]scalar.DType{4: scalar.Float32, 8: scalar.Float64}[size], x.n/2
		out = append(out, "TAPC_HALVES "+x.v.Type(float, x.n), "TAPC_QUARTERS "+x.v.Type(scalar.Float64, 4),
			"TAPC_SECOND_HALVES "+listed(x.n, func(i int) int { return i/half*half + 2*i%half + i%half/max(1, half/2)*(x.n+1) }))
	}
	return out
}

// maskLoad gives the instruction of AVX that reads the lanes of a mask, and the type of that. There is one for lanes of 4 bytes and one for 8, which move bits of any type.
func (x Type) maskLoad() []string {
	float, letter, lane, wide := scalar.Float32, "s", "int", ""
	if x.d.Size() == 8 {
		float, letter, lane = scalar.Float64, "d", "long long"
	}
	if x.n*x.d.Size() == 32 {
		wide = "256"
	}
	out := []string{fmt.Sprintf("TAPC_MASKLOAD(p, m) (TAPC_VECTOR)__builtin_ia32_maskloadp%s%s((const %s *)(p), (%s __attribute__((vector_size(TAPC_BYTES))))(m))", letter, wide,
		x.v.Type(float, x.n), lane)}
	if x.d != float {
		out = append(out, "TAPC_MASK "+x.v.MaskType(x.d.Size(), x.n))
	}
	return out
}

// words gives the type of a vector as numbers of 8 bytes.
func (x Type) words() string {
	x.v.Define("tapc_word", func() string { return Text(own, "word.c") })
	return "TAPC_WORDS " + x.v.Type(scalar.UInt64, x.n*x.d.Size()/8)
}

// listed lists the lanes of a vector.
func listed(n int, lane func(i int) int) string { return listedAs("%d", n, lane) }

func listedAs(format string, n int, lane func(i int) int) string {
	lanes := make([]string, n)
	for i := range lanes {
		lanes[i] = fmt.Sprintf(format, lane(i))
	}
	return strings.Join(lanes, ", ")
}

// HasMasks says whether processors read and write some lanes of a vector, which then has 64 bytes.
func HasMasks(d scalar.DType, n int) bool {
	return (d == scalar.Float32 || d == scalar.Float64) && n*d.Size() == 64
}

// ReadsSome says whether processors read some lanes of a vector at once, and so take no longer for it than for all: those of 32 bytes have AVX.
func ReadsSome(d scalar.DType, n int) bool {
	return HasMasks(d, n) || (d == scalar.Float32 || d == scalar.Float64) && n*d.Size() == 32
}

// Stream writes a whole vector past the caches, to an address that is a multiple of its size. A fence must follow before other
// threads read it.
func (x Type) Stream(address, vector string) string {
	x.v.Define("tapc_fence", func() string { return Text(own, "fence.c") })
	name := x.own("stream.c", "TAPC_FLOATS "+x.v.Type(scalar.Float32, x.n*x.d.Size()/4))("tapc_stream")
	return fmt.Sprintf("%s(%s, %s)", name, address, vector)
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
	suffix := "_" + shortName(x.d, x.n) + variant
	x.v.Define(file+suffix, func() string { return x.text(files, file, suffix, macros...) })
	return func(function string) string { return function + suffix }
}

// text is a C file between the definitions of its macros.
func (x Type) text(files fs.FS, file, suffix string, macros ...string) string {
	var before, behind strings.Builder
	for _, m := range append([]string{"TAPC_NAME(f) f##" + suffix, "TAPC_ELEMENT " + cexpr.Stored(x.d), "TAPC_VECTOR " + x.v.Type(x.d, x.n), fmt.Sprintf("TAPC_COUNT %d", x.n)}, macros...) {
		before.WriteString("#define " + m + "\n")
		behind.WriteString("#undef " + m[:strings.IndexAny(m, "( ")] + "\n")
	}
	return before.String() + Text(files, file) + behind.String()
}

//go:embed c/*.c
var own embed.FS

// own defines the functions of a C file of this package. TAPC_LOOSE is a vector at any address, TAPC_BYTES its size. For floats TAPC_MASK and TAPC_UNSIGNED are vectors of
// integers, TAPC_ALL a vector of one number, TAPC_LANES_MASK an integer with a bit for each lane, and TAPC_X86(a, b) the instruction of GCC whose name has ps or pd between a and b.
func (x Type) own(file string, macros ...string) func(function string) string {
	return x.File(own, file, "", append(x.ownMacros(), macros...)...)
}

func (x Type) ownMacros() []string {
	out := []string{"TAPC_LOOSE " + x.v.Type(x.d, x.n) + "u", fmt.Sprintf("TAPC_BYTES %d", x.n*x.d.Size())}
	if letter := map[scalar.DType]string{scalar.Float32: "s", scalar.Float64: "d"}[x.d]; letter != "" {
		out = append(out, "TAPC_MASK "+x.v.MaskType(x.d.Size(), x.n), "TAPC_UNSIGNED "+x.v.Type(UnsignedOf(x.d), x.n), "TAPC_ALL(c) ((TAPC_ELEMENT)(c) + (TAPC_VECTOR){0})",
			fmt.Sprintf("TAPC_LANES_MASK uint%d_t", max(8, x.n)), "TAPC_X86(a, b) __builtin_ia32_##a##p"+letter+"##b")
	}
	return out
}

// Singles defines what C files call vectors of some float32.
func Singles(v *Printer, lanes int) {
	v.Define("tapc_singles", func() string {
		return fmt.Sprintf("#define TAPC_LANES %d\ntypedef %s tapc_singles;\n", lanes, v.Type(scalar.Float32, lanes))
	})
}

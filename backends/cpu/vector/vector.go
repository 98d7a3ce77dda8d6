// Package vector writes C that computes with vectors: their types, how they are read and written, scalar expressions on all lanes at once,
// and the functions of floats. Functions whose types alone differ are C files (c/*.c). It knows no kernels and no loops; it
// must not import backends/cpu. Read next: vector.go, expr.go, c/load.c.
package vector

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
)

// Printer writes C code that computes with vectors: the vector types of GCC and Clang, which they have for every processor.
// A vector's name says what it holds: tapc_f32x16 is 16 float32. Truth is a vector of integers, -1 for true.
type Printer struct {
	W     *cexpr.Writer     // of single numbers
	texts map[string]string // definitions, by name
	order []string          // in which they were asked for: each needs only earlier ones
	Allow permission.Set    // what the kernel that is written may do to numbers
}

// New gives a printer that writes single numbers with w.
func New(w *cexpr.Writer) *Printer { return &Printer{W: w, texts: map[string]string{}} }

// Prelude gives the definitions of what was used.
func (v *Printer) Prelude() string {
	var b strings.Builder
	for _, name := range v.order {
		b.WriteString(v.texts[name])
	}
	return b.String()
}

// Define adds a definition once, by name, and gives the name.
func (v *Printer) Define(name string, text func() string) string {
	if _, ok := v.texts[name]; !ok {
		v.texts[name] = "" // what text itself needs comes before it in the order
		t := text()
		v.texts[name] = t
		v.order = append(v.order, name)
	}
	return name
}

// ElementName is a short name of an element type: f32, i8, u64.
func ElementName(d scalar.DType) string {
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

func shortName(d scalar.DType, n int) string {
	return fmt.Sprintf("%sx%d", ElementName(d), n)
}

// Type names the vector type of n values. With the suffix u it is the same in memory, at any address.
func (v *Printer) Type(d scalar.DType, n int) string {
	name := fmt.Sprintf("tapc_%sx%d", ElementName(d), n)
	return v.Define(name, func() string {
		element, bytes := cexpr.Stored(d), n*d.Size()
		return fmt.Sprintf("typedef %s %s __attribute__((vector_size(%d)));\n"+
			"typedef %s %su __attribute__((vector_size(%d), aligned(%d), may_alias));\n", element, name, bytes, element, name, bytes, d.Size())
	})
}

// MaskType is the type of truth vectors with lanes of a size.
func (v *Printer) MaskType(size, n int) string { return v.Type(IntegerOf(size, true), n) }

// Pick chooses lanes of two vectors of type t by those of a truth vector.
func (v *Printer) Pick(t, mask, c, a, b string) string {
	short := strings.TrimPrefix(t, "tapc_")
	name := v.Define("tapc_pick_"+short, func() string {
		return fmt.Sprintf("TAPC_FN %s tapc_pick_%s(%s c, %s a, %s b) { return (%s)((c & (%s)a) | (~c & (%s)b)); }\n",
			t, short, mask, t, t, t, mask, mask)
	})
	return fmt.Sprintf("%s(%s, %s, %s)", name, c, a, b)
}

// UnsignedOf gives the unsigned type of the same width.
func UnsignedOf(d scalar.DType) scalar.DType { return IntegerOf(d.Size(), false) }

// IntegerOf gives the integer type of some bytes.
func IntegerOf(size int, signed bool) scalar.DType {
	list := map[int][2]scalar.DType{1: {scalar.UInt8, scalar.Int8}, 2: {scalar.UInt16, scalar.Int16}, 4: {scalar.UInt32, scalar.Int32},
		8: {scalar.UInt64, scalar.Int64}}
	if signed {
		return list[size][1]
	}
	return list[size][0]
}

// Value is the text of something computed: a vector of lanes, or one number for all of them.
type Value struct {
	Text    string
	Type    scalar.DType
	Uniform bool
	number  bool // a constant that is not NaN
	zero    bool // a constant that is 0 or -0
	Mask    int  // bytes of a lane of a truth vector; a uniform truth is 0 or 1
}

// Splat makes a vector of a uniform value; a vector stays as it is.
func (v *Printer) Splat(x Value, n int) Value {
	if !x.Uniform {
		return x
	}
	d, mask := x.Type, 0
	if d == scalar.Bool {
		d, mask = scalar.Int8, 1
	}
	t := v.Type(d, n)
	name := v.Define(fmt.Sprintf("tapc_splat_%sx%d", ElementName(d), n), func() string {
		return fmt.Sprintf("TAPC_FN %s tapc_splat_%sx%d(%s x) { return (%s){%s}; }\n", t, ElementName(d), n, cexpr.CType(d), t,
			strings.Join(slices.Repeat([]string{"x"}, n), ", "))
	})
	text := x.Text
	if mask > 0 {
		text = fmt.Sprintf("(int8_t)-(%s)", text)
	}
	return Value{Text: fmt.Sprintf("%s(%s)", name, text), Type: x.Type, Mask: mask}
}

// Count makes the vector start, start + 1, start + 2 and so on of a loop's values.
func (v *Printer) Count(start string, n int) Value {
	t := v.Type(scalar.Int64, n)
	lanes := make([]string, n)
	for i := range lanes {
		lanes[i] = fmt.Sprint(i)
	}
	name := v.Define(fmt.Sprintf("tapc_count_x%d", n), func() string {
		return fmt.Sprintf("TAPC_FN %s tapc_count_x%d(int64_t x) { return x + (%s){%s}; }\n", t, n, t, strings.Join(lanes, ", "))
	})
	return Value{Text: fmt.Sprintf("%s(%s)", name, start), Type: scalar.Int64}
}

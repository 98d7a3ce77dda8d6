package product

import (
	"embed"
	"fmt"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/ir/scalar"
)

//go:embed c/*.c
var files embed.FS

// once defines the functions of a C file that depend on no type.
func once(v *vector.Printer, file string) {
	v.Define(file, func() string { return vector.Text(files, file) })
}

// Common names the function of a template that kernels have together.
func (p *Product) Common(template string) string {
	x := p.E.V.Of(p.D, p.N)
	switch template {
	case "tapc_pack":
		return Pack(x)
	case "tapc_pack_squares":
		return PackSquares(x)
	case "tapc_spread":
		return Spread(x)
	case "tapc_places", "tapc_around":
		return Places(x, "", "TAPC_KEPT "+p.E.W.Stored(p.D), "TAPC_ONE(x) x", "TAPC_LINE(from, to, n) __builtin_memcpy(to, from, (uint64_t)(n) * sizeof *(to))", Transposing(x, p.N))(template)
	}
	if strings.HasPrefix(template, "tapc_window") {
		return Window(p.E.V, p.D, p.N)(template)
	}
	rows, _ := strconv.Atoi(strings.TrimPrefix(template, "tapc_rows_"))
	return PackRows(x, rows)
}

// Pack names the function that copies values into a panel, for the vectors of a type.
func Pack(x vector.Type) string {
	return x.File(files, "pack.c", "", "TAPC_LOAD(p, n) "+x.Load("p", "n"), "TAPC_GATHER(p, step, n) "+x.Gather("p", "step", "n"))("tapc_pack")
}

// PackSquares names the one that transposes whole squares.
func PackSquares(x vector.Type) string {
	Pack(x)
	return x.File(files, "squares.c", "", Transposing(x, x.Lanes()))("tapc_pack_squares")
}

// PackRows names the one that puts so many rows in each panel.
func PackRows(x vector.Type, rows int) string {
	return x.File(files, "rows.c", fmt.Sprintf("_%d", rows), fmt.Sprintf("TAPC_ROWS %d", rows), Transposing(x, rows))("tapc_rows")
}

// Spread names the one that copies one value of several panels of rows.
func Spread(x vector.Type) string { return x.File(files, "spread.c", "")("tapc_spread") }

// Places defines those that copy places so that their values are neighbours, and fill what is around, in a variant with macros for elements, neighbours and squares.
func Places(x vector.Type, variant string, macros ...string) func(function string) string {
	return x.File(files, "places.c", variant, macros...)
}

// Window defines those that pack columns which a window slides over.
func Window(v *vector.Printer, d scalar.DType, n int) func(function string) string {
	x, mask := v.Of(d, n), v.MaskType(d.Size(), n)
	some := "((void)(p), (void)(lanes), (others))" // which no tree asks for
	if vector.HasMasks(d, n) {
		some = fmt.Sprintf("(TAPC_VECTOR)__builtin_ia32_loadup%s512_mask((const TAPC_ELEMENT *)(p), others, (uint%d_t)(lanes))", map[int]string{4: "s", 8: "d"}[d.Size()], n)
	}
	return x.File(files, "window.c", "", "TAPC_LOAD(p, n) "+x.Load("p", "n"), "TAPC_GATHER(p, step, n) "+x.Gather("p", "step", "n"), "TAPC_SPLAT(x) "+v.Splat(vector.Value{Text: "x", Type: d, Uniform: true}, n).Text,
		"TAPC_MASK "+v.W.Type(vector.IntegerOf(d.Size(), true)), "TAPC_PICK(mask, a, b) "+v.Pick(v.Type(d, n), mask, "*(const "+mask+" *)(mask)", "a", "b"), "TAPC_SOME(p, others, lanes) "+some)
}

// Transposing is the macro that transposes some rows of whole vectors.
func Transposing(x vector.Type, rows int) string {
	return "TAPC_TRANSPOSE(from, step, to, apart) " + x.Transpose(rows, "from", "step", "to", "apart")
}

// Package micro holds the table of micro-kernels: how vectors of sums take in products, by classes of instructions, whose C is in C files. It must not
// import backends/cpu. Read next: micro.go, c/features.c.
package micro

import (
	"embed"
	"fmt"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// Kernel is a row of the table of micro-kernels: how vectors of sums take in products by a class of instructions. A kernel has a
// function for each row that may carry it out on its target's processors, and asks the processor when it runs.
type Kernel struct {
	Name     string       // of the class, and in the names of functions
	Machine  string       // the architecture that has the instructions; "" is every one
	Vector   int64        // bytes of a vector, of targets with such vectors; 0 is any
	Left     scalar.DType // what is multiplied
	Right    scalar.DType
	Sum      scalar.DType
	Group    int64  // numbers along K that a lane of a vector has: their products are added in one step
	Function string // in C: of sums, the left numbers and the right ones, that gives the sums; "" is c += a * w
	File     string // of the function, in the folder c
	Feature  string // that a processor must have, as tapc_rt.h calls it; "" for none
	Unroll   Unroll
	target   string // what Clang must be told on AArch64 to take the instructions
	Form     microForm
}

// Unroll is how far the loop over K is unrolled: so many steps, but no more than have some products together; 0 products is however many.
type Unroll struct{ Steps, Products int64 }

// Steps of one number load little for many products: as many are written out as hide the counting, and fit what processors decode once. Those of
// groups load words that are broadcast, so two of them are enough.
var (
	single  = Unroll{4, 32}
	grouped = Unroll{2, 0}
)

// Unrolled gives the steps for some products each, 0 where compilers decide.
func (m Kernel) Unrolled(products int64) int64 {
	if m.Unroll.Products == 0 {
		return m.Unroll.Steps
	}
	return min(m.Unroll.Steps, m.Unroll.Products/products)
}

// microForm says what else there is to a micro-kernel.
type microForm uint8

const (
	inOne      microForm = iota // one instruction takes groups as they are
	TakenApart                  // groups are taken apart into wider numbers, which needs registers too
	MatrixUnit                  // tiles of sums are in a matrix unit
)

// Table is the table, the best first of those for the same numbers. Left bytes are without sign where they are packed in groups
// (panels.Blocked); a row whose left bytes have one moves them.
var Table = []Kernel{
	{"amx", "x86_64", 64, scalar.UInt8, scalar.Int8, scalar.Int32, 4, "tapc_tile_bytes", "tiles.c", "TAPC_AMX_INT8", grouped, "", MatrixUnit},
	{"vnni", "x86_64", 64, scalar.UInt8, scalar.Int8, scalar.Int32, 4, "tapc_vnni", "vnni.c", "TAPC_AVX512_VNNI", grouped, "", inOne},
	{"vexvnni", "x86_64", 32, scalar.UInt8, scalar.Int8, scalar.Int32, 4, "tapc_vexvnni", "vexvnni.c", "TAPC_AVX_VNNI", grouped, "", inOne},
	{"usdot", "aarch64", 16, scalar.UInt8, scalar.Int8, scalar.Int32, 4, "tapc_usdot", "usdot.c", "TAPC_I8MM", grouped, "i8mm", inOne},
	{"sdot", "aarch64", 16, scalar.Int8, scalar.Int8, scalar.Int32, 4, "tapc_sdot", "sdot.c", "TAPC_DOTPROD", grouped, "dotprod", inOne},
	{"any", "", 0, scalar.UInt8, scalar.Int8, scalar.Int32, 4, "tapc_bytes", "bytes.c", "", grouped, "", TakenApart},

	{"amx", "x86_64", 64, scalar.BFloat16, scalar.BFloat16, scalar.Float32, 2, "tapc_tile_bf16", "tiles.c", "TAPC_AMX_BF16", grouped, "", MatrixUnit},
	{"bf16", "x86_64", 64, scalar.BFloat16, scalar.BFloat16, scalar.Float32, 2, "tapc_dot_bf16", "dotbf16.c", "TAPC_AVX512_BF16", grouped, "", inOne},
	{"bfdot", "aarch64", 16, scalar.BFloat16, scalar.BFloat16, scalar.Float32, 2, "tapc_bfdot", "bfdot.c", "TAPC_BF16_DOT", grouped, "bf16", inOne},
	{"any", "", 0, scalar.BFloat16, scalar.BFloat16, scalar.Float32, 2, "tapc_halves", "halves.c", "", grouped, "", TakenApart},

	{"any", "", 0, scalar.Float32, scalar.Float32, scalar.Float32, 1, "", "", "", single, "", inOne},
	{"any", "", 0, scalar.Float64, scalar.Float64, scalar.Float64, 1, "", "", "", single, "", inOne},
	{"any", "", 0, scalar.Int32, scalar.Int32, scalar.Int32, 1, "", "", "", single, "", inOne},
	{"any", "", 0, scalar.Int64, scalar.Int64, scalar.Int64, 1, "", "", "", single, "", inOne},
	{"any", "", 0, scalar.Int16, scalar.Int16, scalar.Int16, 1, "", "", "", single, "", inOne},
	{"any", "", 0, scalar.Int8, scalar.Int8, scalar.Int8, 1, "", "", "", single, "", inOne},
}

//go:embed c/*.c
var microkernelFiles embed.FS

// Text is a C file of the table.
func Text(file string) string { return vector.Text(microkernelFiles, file) }

// For gives the rows for the products of groups on a target, the best first; the last is for every processor.
func For(t isa.Target, group int64) []Kernel {
	var out []Kernel
	for _, m := range Table {
		if m.Group == group && (m.Machine == "" || m.Machine == t.Machine) && (m.Vector == 0 || m.Vector == t.Vector) {
			out = append(out, m)
		}
	}
	return out
}

// Of gives the row for products of one number at a time, summed in a type; those without sign are summed as those with one.
func Of(sum scalar.DType) (Kernel, bool) {
	if sum.IsInt() {
		sum = vector.IntegerOf(sum.Size(), true)
	}
	for _, m := range Table {
		if m.Group == 1 && m.Sum == sum {
			return m, true
		}
	}
	return Kernel{}, false
}

// Known is the condition, for the preprocessor, that the compiler knows the instructions; "" if every one does.
func (m Kernel) Known() string {
	switch {
	case m.Form == MatrixUnit:
		return "TAPC_TILES"
	case m.Machine == "":
		return ""
	}
	return map[string]string{"x86_64": "TAPC_X86_DOT", "aarch64": "TAPC_ARM_DOT"}[m.Machine]
}

// Attribute comes before functions that use the row.
func (m Kernel) Attribute() string {
	if m.target == "" {
		return ""
	}
	return fmt.Sprintf("TAPC_TARGET(%q) ", m.target)
}

// Moves says whether the row takes left bytes less 128, so that what its sums lack is 128 times the sums of the right ones.
func (m Kernel) Moves() bool { return m.Left == scalar.Int8 }

// Run is the blocks of K after which sums start anew, so that their error grows less; 0 for exact sums.
func (m Kernel) Run() int64 {
	if m.Sum.IsInt() {
		return 0
	}
	return tile.SumBlock * m.Group / tile.NarrowBlock
}

// Step writes the sums after products are taken in.
func (m Kernel) Step(v *vector.Printer, n int, sums, left, right string) string {
	switch {
	case m.Function != "":
		return fmt.Sprintf("%s(%s, %s, %s)", m.Function, sums, left, right)
	case m.Sum.IsFloat():
		return v.Of(m.Sum, n).MultiplyAdd(v.Splat(vector.Value{Text: left, Type: m.Sum, Uniform: true}, n).Text, right, sums)
	}
	return fmt.Sprintf("%s + %s * %s", sums, left, right)
}

// Define adds a row's function, and what it needs, to the definitions before the kernels.
func (m Kernel) Define(v *vector.Printer, lanes int) {
	v.Define("tapc_features", func() string { return Text("features.c") })
	vector.Singles(v, lanes)
	v.Define("tapc_groups", func() string {
		var b strings.Builder
		b.WriteString("// Vectors of groups of four bytes, and what is made of them.\n")
		for _, t := range []struct {
			name  string
			d     scalar.DType
			count int
		}{{"groups", scalar.UInt32, lanes}, {"ints", scalar.Int32, lanes}, {"words", scalar.UInt16, 2 * lanes}, {"shorts", scalar.Int16, 2 * lanes}} {
			fmt.Fprintf(&b, "typedef %s tapc_%s;\n", v.Type(t.d, t.count), t.name)
		}
		fmt.Fprintf(&b, "#define TAPC_FUSED(a, b, c) %s\n", v.Of(scalar.Float32, lanes).MultiplyAdd("a", "b", "c"))
		return b.String()
	})
	v.Define(m.File, func() string {
		if m.Known() == "" || m.Form == MatrixUnit {
			return Text(m.File)
		}
		return "#if " + m.Known() + "\n" + Text(m.File) + "#endif\n"
	})
}

// Tile gives the rows and columns of sums of the register tile of a row, where a config has some: matrix units have tiles of their own, and what is taken
// apart needs registers too.
func (m Kernel) Tile(t isa.Target, rows, cols int64, unpacked bool) (int64, int64) {
	switch {
	case m.Form == MatrixUnit:
		return tile.NarrowRows, tile.NarrowRows
	case m.Form == TakenApart && unpacked && (rows > 8 || cols%(2*tile.NarrowPanel) != 0):
		return rows, tile.NarrowPanel
	case m.Form == TakenApart && m.Sum.IsInt() && t.Vector >= 64:
		return rows, 2 * tile.NarrowPanel
	}
	return rows, cols
}

package cpu_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// TestProducts multiplies matrices of sizes at which their right operand is read in each of the ways that there are, and looks at
// what is particular to each in the code.
func TestProducts(t *testing.T) {
	var forms []formCase
	for _, c := range []struct {
		name           string
		batch, m, k, n int
		turned         bool // the right operand's columns are not neighbours, or of several the left one's fold
		has, hasNot    string
	}{
		{"in place", 1, 3, 40, 70, false, "", "tapc_pack"},
		{"in place, one partial sum", 1, 1, 200, 150, false, ".block = 200, .span = 200, .area = ", ".block = 64,"},
		{"in place, in parts", 1, 1, 700, 150, false, ".fold = 64, .block = 64, .span = 700, .area = ", ".fold = 700,"},
		{"in place, of few rows, whole", 1, 2, 700, 150, false, ".fold = 700,", ".area = "},
		{"in place, partial sums in groups", 1, 2, 5000, 20, false, ".span = 4096,", "tapc_pack"},
		{"in place, of rows that stay near", 1, 30, 20, 600, false, "", "tapc_pack"},
		{"panels of a piece", 1, 30, 240, 10, false, "panels = ", "- f * "},
		{"panels of a piece, block by block", 1, 25, 1100, 10, false, "- f * ", "_pack("},
		{"panels that pieces share", 1, 300, 300, 10, false, "_pack(", "- f * "},
		{"panels turned", 1, 26, 133, 50, true, "tapc_pack_squares_", ".span = 4096,"},
		{"panels turned, block by block", 1, 26, 801, 50, true, "tapc_pack_squares_", ".span = 4096,"},
		{"batch", 3, 29, 700, 13, false, "tapc_pack", ".span = 4096,"},
		{"rows in panels", 2, 61, 133, 70, true, "tapc_spread", ".span = 4096,"},
		{"rows in panels, block by block", 3, 37, 801, 130, true, "tapc_spread", ".span = 4096,"},
		{"rows for few columns", 2, 61, 133, 50, true, "", "tapc_spread"},
		{"few rows", 3, 11, 133, 70, true, "", "tapc_spread"},
	} {
		forms = append(forms, formCase{c.name, products(c.batch, c.m, c.k, c.n, c.turned), c.has, c.hasNot})
	}
	executeForms(t, forms, testkit.Turns(t, 3))
}

// TestSignsOfFactors multiplies integers with a sign and without one, whose sums are of one type, in one program.
func TestSignsOfFactors(t *testing.T) {
	var graphs []string
	for _, d := range []string{"int32", "uint32", "int64", "uint64"} {
		graphs = append(graphs, fmt.Sprintf("%%x = tensor %s [0:5, 0:40]\n%%w = tensor %s [0:40, 0:37]\n%%y = tensor %s [0:5, 0:37]\noperation op:matmul (X: %%x, Y: %%w) -> (Z: %%y)\n", d, d, d))
	}
	conformance.Graph(t, cputest.Operations(t, cputest.Together(graphs...)), cputest.Device, nil, cputest.Strictly(cputest.Compiler(t))(nil))
}

// TestTriangles of products: what lanes of a register tile are kept differs.
func TestTriangles(t *testing.T) {
	var graphs []string
	for i, d := range []string{"float32", "float64", "int32"} {
		for _, side := range []string{"tril", "triu"} {
			graphs = append(graphs, fmt.Sprintf(`
%%x = tensor %s [0:2, 0:30, 0:40]
%%w = tensor %s [0:40, 0:37]
%%y = tensor %s [0:2, 0:30, 0:37]
%%z = tensor %s [0:2, 0:30, 0:37]
operation op:matmul (X: %%x, Y: %%w) -> (Z: %%y)
operation op:%s {above: %d} (tensor: %%y) -> (result: %%z)
`, d, d, d, d, side, 3*i-2))
		}
	}
	conformance.Graph(t, cputest.Operations(t, cputest.Together(graphs...)), cputest.Device, nil, cputest.Strictly(cputest.Compiler(t))(nil))
}

// TestComputedFactors multiplies with packed weights, which are unpacked on the way into panels, of sizes at which these are of a piece, of parts of its reduction, or
// shared; fewer rows have no panels.
func TestComputedFactors(t *testing.T) {
	var forms []formCase
	for _, c := range []struct {
		name                    string
		batch, m, n, b, h, bits int
		zero                    bool
		has, hasNot             string
	}{
		{"panels of a piece", 1, 30, 70, 3, 8, 4, false, "< 2; u", "- f * "},
		{"zero points, two bits", 1, 24, 37, 2, 5, 2, true, "< 4; u", "- f * "},
		{"bytes, block by block", 1, 30, 700, 25, 33, 8, true, "- f * ", "< 2; u"},
		{"batch", 3, 24, 50, 2, 8, 4, true, "_panel(", "- f * "},
		{"shared by pieces of rows", 1, 700, 20, 10, 16, 4, false, "_pack(", "- f * "},
		{"few rows", 1, 23, 70, 3, 8, 4, false, "", "_panel("},
	} {
		batch := ""
		if c.batch > 1 {
			batch = fmt.Sprintf("0:%d, ", c.batch)
		}
		g := fmt.Sprintf("%%x = tensor float32 [%s0:%d, 0:%d]\n%%w = tensor uint8 [%s0:%d, 0:%d, 0:%d]\n%%s = tensor float32 [%s0:%d, 0:%d]\n%%z = tensor float32 [%s0:%d, 0:%d]\n%%y = tensor float32 [%s0:%d, 0:%d]\n",
			batch, c.m, c.b*c.h*8/c.bits, batch, c.n, c.b, c.h, batch, c.n, c.b, batch, c.n, c.b, batch, c.m, c.n)
		zero := ""
		if c.zero {
			zero = ", zero: %z"
		}
		g += fmt.Sprintf("operation op:matmul_packed {bits: %d} (X: %%x, W: %%w, scale: %%s%s) -> (Y: %%y)\n", c.bits, zero)
		if !c.zero {
			g = strings.Replace(g, "%z = tensor", "%unused = tensor", 1)
		}
		forms = append(forms, formCase{c.name, g, c.has, c.hasNot})
	}
	executeForms(t, forms, testkit.Turns(t, 3))
}

// products is a product of batches of matrices, of two whose right one is stored by columns, or of batches whose left ones are.
func products(batch, m, k, n int, turned bool) string {
	if turned && batch > 1 {
		return fmt.Sprintf("%%x = tensor float32 [0:%d, 0:%d, 0:%d]\n%%t = tensor float32 [0:%d, 0:%d, 0:%d]\n%%w = tensor float32 [0:%d, 0:%d, 0:%d]\n%%y = tensor float32 [0:%d, 0:%d, 0:%d]\n"+
			"operation op:permute {perm: [0, 2, 1]} (tensor: %%x) -> (result: %%t)\noperation op:matmul (X: %%t, Y: %%w) -> (Z: %%y)\n", batch, k, m, batch, m, k, batch, k, n, batch, m, n)
	}
	if turned {
		return fmt.Sprintf("%%x = tensor float32 [0:%d, 0:%d]\n%%w = tensor float32 [0:%d, 0:%d]\n%%y = tensor float32 [0:%d, 0:%d]\n"+
			"operation op:gemm {transpose_b: true} (A: %%x, B: %%w) -> (Y: %%y)\n", m, k, n, k, m, n)
	}
	return fmt.Sprintf("%%x = tensor float32 [0:%d, 0:%d, 0:%d]\n%%w = tensor float32 [0:%d, 0:%d, 0:%d]\n%%y = tensor float32 [0:%d, 0:%d, 0:%d]\n"+
		"operation op:matmul (X: %%x, Y: %%w) -> (Z: %%y)\n", batch, m, k, batch, k, n, batch, m, n)
}

// TestLargeProducts multiplies matrices of small integers, whose products every type has exactly, of sizes at which rows are put in
// panels piece by piece, or folds are cut. They take turns, those of float32 on this processor more often.
func TestLargeProducts(t *testing.T) {
	cc := cputest.Compiler(t)
	runs, often := testkit.Turns(t, 4), testkit.Turns(t, 2)
	const (
		usual = iota
		transposed
		constant
	)
	for _, c := range []struct {
		name        string
		m, k, n     int
		has, hasNot string
		right       int // operand
	}{
		{"piece by piece", 517, 1020, 1024, "tapc_rows_", "open", usual},
		{"piece by piece, the fold in parts", 260, 2100, 530, "x16 open[", "open = (", transposed},
		{"piece by piece, too many sums for the stack", 1100, 1030, 1060, "open = (", "x16 open[", usual},
		{"where they stand, for few columns", 517, 1040, 70, "open[", "tapc_rows_", usual},
		{"where they stand, as they are few", 60, 2100, 530, "open[", "tapc_rows_", usual},
		{"with the next rows", 1100, 128, 10, "// the next rows", "tapc_rows_", usual},
		{"with the next columns", 600, 300, 1024, "// the next columns", "tapc_rows_", usual},
		{"with the next piece", 520, 240, 1024, "// the next piece", "_pack(", usual},
		{"without a next piece, as columns are few", 258, 128, 10, "tapc_pack", "// the next", usual},
		{"few rows, of what no cache holds", 2, 3000, 2800, ".fold = 16, .block = 64,", "tapc_rows_", usual},
		{"few rows, of what caches hold", 2, 3000, 530, "x16 open[", ".fold = 16,", usual},
		{"few rows, whole pages apart", 8, 333, 1024, "8x48(", "open[", usual}, // with 16 registers in order, as the next
		{"few rows, of more than caches have steadily", 12, 2500, 900, "x16 open[", ".fold = 16,", usual},
		{"few rows, a long sum", 2, 9000, 30, "groups = (", "tapc_rows_", usual},
		{"where they stand, a long sum", 30, 5000, 40, "groups = (", "tapc_rows_", usual},
		{"where they stand, a long sum and many tiles", 1100, 5000, 40, ".span = 4096", "groups = (", usual},
		{"constant, by rows", 300, 64, 130, "\n    for (int64_t i = i0;", "// the next", constant},
		{"constant, by columns", 100, 700, 500, "// the next columns", "\n    for (int64_t i = i0;", constant},
		{"constant, the next columns in the last tiles", 30, 600, 500, "(tile >= ", "\n    for (int64_t i = i0;", constant},
		{"constant, one tile of rows", 9, 600, 500, "in panels", "// the next", constant},
	} {
		for _, dtype := range []scalar.DType{scalar.Float32, scalar.Float64, scalar.Int32} {
			if dtype != scalar.Float32 && c.m*c.k*c.n > 1<<30 {
				continue // takes long
			}
			var cpus []string
			if dtype == scalar.Float32 && often() || dtype != scalar.Float32 && runs() {
				cpus = append(cpus, "native")
			}
			if runs() {
				cpus = append(cpus, "x86-64-v3")
			}
			if cpus == nil && dtype != scalar.Float32 {
				continue
			}
			t.Run(c.name+" "+dtype.String(), func(t *testing.T) {
				t.Parallel()
				text := strings.ReplaceAll(products(1, c.m, c.k, c.n, c.right == transposed), "float32", dtype.String())
				if c.right == constant {
					text += "operation op:constant {file: \"w\", key: \"w\"} -> (result: %w)\n"
				}
				g := cputest.Scheduled(t, text)
				src, err := cpu.Emit(g, "test", "test")
				if err != nil {
					t.Fatal(err)
				}
				_, kernel, _ := strings.Cut(src.C, "\n// The sums of") // behind what kernels have in common
				if dtype == scalar.Float32 && (!strings.Contains(kernel, c.has) || strings.Contains(kernel, c.hasNot)) {
					t.Errorf("expected %q and no %q in the code:\n%s", c.has, c.hasNot, kernel)
				}
				if cpus == nil {
					return
				}
				x, w := smallIntegers(1, c.m*c.k), smallIntegers(2, c.k*c.n)
				right := tensorfile.Tensor{DType: dtype, Shape: []int64{1, int64(c.k), int64(c.n)}, Data: encoded(dtype, w)}
				left := tensorfile.Tensor{DType: dtype, Shape: []int64{1, int64(c.m), int64(c.k)}, Data: encoded(dtype, x)}
				if c.right == transposed {
					left.Shape, right.Shape, right.Data = left.Shape[1:], []int64{int64(c.n), int64(c.k)}, encoded(dtype, byColumns(w, c.k, c.n))
				}
				in := map[string]tensorfile.Tensor{"x": left}
				if c.right != constant {
					in["w"] = right
				}
				load := func(tensorops.Const, *tensorops.Tensor) (tensorfile.Tensor, error) { return right, nil }
				want := encoded(dtype, multiplied(x, w, c.m, c.k, c.n))
				for _, cpu := range cpus {
					got := cputest.Executes(cc, cpu, cputest.Strict)(load)(t, g, in)["y"].Data
					same(t, cpu, got, want)
				}
			})
		}
	}
}

// byColumns gives the elements of a matrix column by column.
func byColumns(w []int64, rows, cols int) []int64 {
	out := make([]int64, 0, len(w))
	for j := range cols {
		for i := range rows {
			out = append(out, w[i*cols+j])
		}
	}
	return out
}

// same compares bytes, and names the first that is another.
func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	t.Errorf("%s: %d bytes, expected %d; the first that is another is byte %d", what, len(got), len(want), at)
}

// TestLargeBytes multiplies bytes with more unfinished sums than a stack has room for.
func TestLargeBytes(t *testing.T) {
	cc := cputest.Compiler(t)
	const m, k, n = 300, 2100, 1500
	g := cputest.Scheduled(t, fmt.Sprintf("%%x = tensor int8 [0:%d, 0:%d]\n%%w = tensor int8 [0:%d, 0:%d]\n%%y = tensor int32 [0:%d, 0:%d]\n"+
		"operation op:matmul_integer {} (A: %%x, B: %%w) -> (Y: %%y)\n", m, k, k, n, m, n))
	src, err := cpu.Emit(g, "test", "test")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(src.C, "*const open = (uint32_t *)(own") {
		t.Error("the sums are on the stack")
	}
	x, w := smallIntegers(1, m*k), smallIntegers(2, k*n)
	in := map[string]tensorfile.Tensor{
		"x": {DType: scalar.Int8, Shape: []int64{m, k}, Data: encoded(scalar.Int8, x)},
		"w": {DType: scalar.Int8, Shape: []int64{k, n}, Data: encoded(scalar.Int8, w)},
	}
	got := cputest.Executes(cc, "native", cputest.Strict)(cputest.RandomConstant)(t, g, in)["y"].Data
	same(t, "native", got, encoded(scalar.Int32, multiplied(x, w, m, k, n)))
}

// smallIntegers gives some integers of -8 to 7.
func smallIntegers(seed uint64, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		seed = seed*6364136223846793005 + 1442695040888963407
		out[i] = int64(seed>>60) - 8
	}
	return out
}

// multiplied is the product of an m by k and a k by n matrix.
func multiplied(x, w []int64, m, k, n int) []int64 {
	out := make([]int64, m*n)
	for i := range m {
		row := out[i*n : (i+1)*n]
		for f := range k {
			a := x[i*k+f]
			for j, b := range w[f*n : (f+1)*n] {
				row[j] += a * b
			}
		}
	}
	return out
}

// encoded gives numbers the bytes that they have in a type.
func encoded(dtype scalar.DType, values []int64) []byte {
	out := make([]byte, 0, len(values)*dtype.Size())
	for _, v := range values {
		switch dtype {
		case scalar.Float32:
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(v)))
		case scalar.Float64:
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(float64(v)))
		case scalar.Int8:
			out = append(out, byte(v))
		default:
			out = binary.LittleEndian.AppendUint32(out, uint32(v))
		}
	}
	return out
}

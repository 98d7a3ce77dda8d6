package lowprecision_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/cpu/isa"
	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
)

func TestMain(m *testing.M) { os.Exit(cputest.Main(m)) }

// narrowCase is a graph of one product of narrow numbers.
type narrowCase struct {
	name     string
	graph    string
	constant string // the input that is constant, or ""
}

// text gives the graph, with the constant operand as one or as an input.
func (c narrowCase) text(fixed bool) string {
	if !fixed || c.constant == "" {
		return c.graph
	}
	return c.graph + fmt.Sprintf("operation op:constant {file: \"w\", key: \"w\"} -> (result: %%%s)\n", c.constant)
}

// bytesProduct is matrix products of bytes with zero points of some shapes, "-" for none.
func bytesProduct(a, b, zeroA, zeroB string, dims ...int64) narrowCase {
	batch, m, k, n := dims[:len(dims)-3], dims[len(dims)-3], dims[len(dims)-2], dims[len(dims)-1]
	g := fmt.Sprintf("%%a = tensor %s %s\n%%b = tensor %s %s\n%%y = tensor int32 %s\n", a, cputest.Box(append(slices.Clone(batch), m, k)...),
		b, cputest.Box(append(slices.Clone(batch), k, n)...), cputest.Box(append(slices.Clone(batch), m, n)...))
	zeros := ""
	if zeroA != "-" {
		g += fmt.Sprintf("%%za = tensor %s %s\n", a, zeroA)
		zeros += ", a_zero: %za"
	}
	if zeroB != "-" {
		g += fmt.Sprintf("%%zb = tensor %s %s\n", b, zeroB)
		zeros += ", b_zero: %zb"
	}
	g += fmt.Sprintf("operation op:matmul_integer {} (A: %%a, B: %%b%s) -> (Y: %%y)\n", zeros)
	return narrowCase{fmt.Sprintf("%s %s %s %s %v", a, b, zeroA, zeroB, dims), g, "b"}
}

// bf16Product is matrix products of bfloat16 with a bias and a ReLU behind them.
func bf16Product(dims ...int64) narrowCase {
	batch, m, k, n := dims[:len(dims)-3], dims[len(dims)-3], dims[len(dims)-2], dims[len(dims)-1]
	out := cputest.Box(append(slices.Clone(batch), m, n)...)
	g := fmt.Sprintf("%%a = tensor bfloat16 %s\n%%b = tensor bfloat16 %s\n%%c = tensor bfloat16 %s\n%%p = tensor bfloat16 %s\n%%q = tensor bfloat16 %s\n%%y = tensor bfloat16 %s\n"+
		"operation op:matmul {} (X: %%a, Y: %%b) -> (Z: %%p)\noperation op:add {} (tensors: [%%p, %%c]) -> (result: %%q)\noperation op:relu {} (tensor: %%q) -> (result: %%y)\n",
		cputest.Box(append(slices.Clone(batch), m, k)...), cputest.Box(append(slices.Clone(batch), k, n)...), cputest.Box(n), out, out, out)
	return narrowCase{fmt.Sprintf("bfloat16 %v", dims), g, "b"}
}

// turnedProduct is a product of bfloat16 whose operands have their dimensions in any order.
func turnedProduct(equation string, a, b, y []int64) narrowCase {
	g := fmt.Sprintf("%%a = tensor bfloat16 %s\n%%b = tensor bfloat16 %s\n%%y = tensor bfloat16 %s\n"+
		"operation op:einsum {equation: %q} (tensors: [%%a, %%b]) -> (result: %%y)\n", cputest.Box(a...), cputest.Box(b...), cputest.Box(y...), equation)
	return narrowCase{"bfloat16 " + equation, g, "b"}
}

// turnedBytes is a product of bytes of which both operands are turned first, with a bias and a quantization behind it.
func turnedBytes(m, k, n int64) narrowCase {
	g := fmt.Sprintf("%%a = tensor uint8 %s\n%%b = tensor int8 %s\n%%at = tensor uint8 %s\n%%bt = tensor int8 %s\n%%c = tensor int32 %s\n%%s = tensor float32 []\n"+
		"%%p = tensor int32 %s\n%%q = tensor int32 %s\n%%r = tensor float32 %s\n%%y = tensor uint8 %s\n%%z = tensor int8 []\n",
		cputest.Box(k, m), cputest.Box(n, k), cputest.Box(m, k), cputest.Box(k, n), cputest.Box(n), cputest.Box(m, n), cputest.Box(m, n), cputest.Box(m, n), cputest.Box(m, n))
	g += "operation op:permute {perm: [1, 0]} (tensor: %a) -> (result: %at)\noperation op:permute {perm: [1, 0]} (tensor: %b) -> (result: %bt)\n" +
		"operation op:matmul_integer (A: %at, B: %bt, b_zero: %z) -> (Y: %p)\noperation op:add (tensors: [%p, %c]) -> (result: %q)\n" +
		"operation op:cast {dtype: \"float32\"} (tensor: %q) -> (result: %r)\noperation op:quantize (tensor: %r, scale: %s) -> (result: %y)\n"
	return narrowCase{fmt.Sprintf("turned bytes %d %d %d", m, k, n), g, "b"}
}

// narrowCases are products in sizes around those of groups, blocks, panels and tiles.
func narrowCases() []narrowCase {
	return []narrowCase{
		bytesProduct("uint8", "int8", "-", "-", 5, 3, 7),
		bytesProduct("uint8", "int8", "-", "-", 33, 130, 50),
		bytesProduct("uint8", "int8", "[]", "[]", 17, 64, 32),
		bytesProduct("int8", "int8", "[]", "[]", 40, 71, 19),
		bytesProduct("int8", "uint8", "-", "-", 31, 65, 48),
		bytesProduct("uint8", "uint8", "[0:9, 0:1]", "[0:21]", 9, 100, 21),
		bytesProduct("int8", "int8", "-", "[0:1, 0:37]", 1, 260, 37),
		bytesProduct("uint8", "int8", "[0:3, 0:1, 0:1]", "-", 3, 11, 29, 18),
		bytesProduct("int8", "int8", "-", "-", 34, 2100, 33),
		turnedBytes(37, 70, 21),
		turnedProduct("km,kn->mn", []int64{67, 35}, []int64{67, 18}, []int64{35, 18}),
		turnedProduct("mk,nk->mn", []int64{35, 67}, []int64{18, 67}, []int64{35, 18}),
		turnedProduct("bkm,bnk->bmn", []int64{2, 33, 20}, []int64{2, 34, 33}, []int64{2, 20, 34}),
		bf16Product(5, 3, 7),
		bf16Product(33, 130, 50),
		bf16Product(16, 64, 32),
		bf16Product(1, 67, 33),
		bf16Product(2, 19, 31, 23),
		bf16Product(34, 1100, 33),
	}
}

// narrowTarget is a processor and what is known of it.
type narrowTarget struct {
	cpu   string // of x86-64, or "aarch64"
	flags []string
}

// execute builds for the target and runs there; the test is skipped where that can not be done.
func (x narrowTarget) execute(t *testing.T, load reference.Constants) conformance.Execute {
	t.Helper()
	if x.cpu == "aarch64" {
		cc, tools := cputest.Cross(t, "gcc")
		return cputest.Executes(cc, toolchain.Portable, x.flags, tools.Processor("max")...)(load)
	}
	cc := cputest.Compiler(t)
	needX86(t, cc)
	return cputest.Executes(cc, x.cpu, x.flags)(load)
}

// lowPrecisionTargets have each set of instructions.
func lowPrecisionTargets(t *testing.T) map[string]narrowTarget {
	header, err := filepath.Abs("testdata/tiles.h")
	if err != nil {
		t.Fatal(err)
	}
	with := func(flags ...string) []string {
		return append([]string{"-Wall", "-Wextra", "-Werror", "-O1", cputest.Pattern}, flags...)
	}
	return map[string]narrowTarget{
		"x86-64-v4":         {"x86-64-v4", with()},
		"x86-64-v3":         {"x86-64-v3", append(slices.Clone(cputest.Strict), "-DTAPC_FEATURES=0")},
		"x86-64":            {"x86-64", with()},
		"x86-64-v4 plain":   {"x86-64-v4", with("-DTAPC_FEATURES=0")},
		"x86-64-v4 vectors": {"x86-64-v4", with("-DTAPC_FEATURES=(tapc_features()&~(TAPC_AMX_INT8|TAPC_AMX_BF16))")},
		"x86-64-v4 matrix":  {"x86-64-v4", with("-DTAPC_FEATURES=(TAPC_AMX_INT8|TAPC_AMX_BF16)", fmt.Sprintf("-DTAPC_TILES_HEADER=%q", header))},
		"aarch64":           {"aarch64", with()}, // usdot and bfdot
		"aarch64 sdot":      {"aarch64", with("-DTAPC_FEATURES=(tapc_features()&~TAPC_I8MM)")},
		"aarch64 plain":     {"aarch64", with("-DTAPC_FEATURES=0")},
	}
}

// joined gives one graph of many cases; those that are wanted have a constant operand.
func joined(cases []narrowCase, fixed bool) string {
	texts := make([]string, len(cases))
	for i, c := range cases {
		texts[i] = c.text(fixed)
	}
	return cputest.Together(texts...)
}

// isNarrow says whether a kernel of a graph is a narrow contraction.
func isNarrow(s *ir.Graph) bool {
	found := false
	for x := range s.Nodes() {
		if k, ok := x.Body.(*schedule.Kernel); ok && !found {
			n, ok := nest.FindLowPrecision(k, whole.Buffers(s))
			found = ok && k.Allow.Has(n.Needs())
		}
	}
	return found
}

// TestNarrowProducts runs products of bytes and of bfloat16 with every set of instructions: those of this processor, with its matrix
// unit and without, the plain ones of every level, and the matrix unit's through a stand-in. All but the first take turns.
func TestNarrowProducts(t *testing.T) {
	runs := testkit.Turns(t, 6)
	for _, c := range narrowCases() {
		s := cputest.Scheduled(t, c.graph)
		src, err := cpu.Emit(s, "test", "test")
		if err != nil {
			t.Fatal(err)
		}
		if !isNarrow(s) || !strings.Contains(src.C, "int choice = ") {
			t.Errorf("%s: it is not carried out as a product of narrow numbers", c.name)
		}
	}
	for _, fixed := range []bool{false, true} {
		text := joined(narrowCases(), fixed)
		in := cputest.RandomInputs(t, cputest.Operations(t, text))
		want := cputest.Evaluate(t, cputest.Operations(t, text), in)
		targets := lowPrecisionTargets(t)
		for _, name := range slices.Sorted(maps.Keys(targets)) {
			if fixed && (name == "x86-64" || strings.HasSuffix(name, " plain")) {
				continue // constants' panels are the same for all
			}
			title := fmt.Sprintf("%s constant=%v", name, fixed)
			if (name != "x86-64-v4" || fixed) && !runs() {
				continue
			}
			t.Run(title, func(t *testing.T) {
				t.Parallel()
				g := cputest.Scheduled(t, text)
				got := targets[name].execute(t, cputest.RandomConstant)(t, g, in)
				for output, w := range want {
					if err := reference.CompareWithin(output, w, got[output], reference.Ulps); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// floatProduct is a product of float32 with a bias, a ReLU and a quantization behind it. If rounded, its operands are rounded to
// bfloat16 first.
func floatProduct(rounded bool, m, k, n int64, source string) string {
	g := fmt.Sprintf("%%a = tensor float32 %s\n%%b = tensor float32 %s\n%%c = tensor float32 %s\n%%s = tensor float32 []\n", cputest.Box(m, k), cputest.Box(k, n), cputest.Box(n))
	x, w := "%a", "%b"
	if rounded {
		for _, name := range []string{"a", "b"} {
			dims := map[string]string{"a": cputest.Box(m, k), "b": cputest.Box(k, n)}[name]
			g += fmt.Sprintf("%%%s0 = tensor bfloat16 %s\n%%%s1 = tensor float32 %s\n", name, dims, name, dims)
			g += fmt.Sprintf("operation op:cast {dtype: \"bfloat16\"} (tensor: %%%s) -> (result: %%%s0)\n", name, name)
			g += fmt.Sprintf("operation op:cast {dtype: \"float32\"} (tensor: %%%s0) -> (result: %%%s1)\n", name, name)
		}
		x, w = "%a1", "%b1"
	}
	for _, name := range []string{"p", "q", "y"} {
		g += fmt.Sprintf("%%%s = tensor float32 %s\n", name, cputest.Box(m, n))
	}
	return g + fmt.Sprintf("operation op:matmul {} (X: %s, Y: %s) -> (Z: %%p)\noperation op:add {} (tensors: [%%p, %%c]) -> (result: %%q)\n"+
		"operation op:mul {} (tensors: [%%q, %%s]) -> (result: %%y)\n%s", x, w, source)
}

// lowered is cputest.Scheduled with bfloat16 allowed.
func lowered(t *testing.T, graph string) *ir.Graph {
	t.Helper()
	return cputest.Allowing(t, graph, permission.BF16)
}

// TestLowerPrecision runs products of float32 whose precision may be bfloat16's: they are those of the rounded numbers.
func TestLowerPrecision(t *testing.T) {
	for _, dims := range [][3]int64{{37, 70, 50}, {1, 131, 64}} {
		for source, constant := range map[string]string{"": "", "w": "operation op:constant {file: \"w\", key: \"w\"} -> (result: %b)\n"} {
			g := lowered(t, floatProduct(false, dims[0], dims[1], dims[2], constant))
			if dims[0] == 1 && source == "" { // a product with a matrix that is used once reads it where it stands
				if isNarrow(g) {
					t.Error("an operand that is used once is rounded")
				}
				continue
			}
			if !isNarrow(g) {
				t.Errorf("%v: it is not carried out as a product of bfloat16", dims)
			}
			rounded := cputest.Operations(t, floatProduct(true, dims[0], dims[1], dims[2], constant))
			in := cputest.RandomInputs(t, rounded)
			want := cputest.Evaluate(t, rounded, in)
			for _, name := range []string{"x86-64-v4", "x86-64-v4 matrix", "x86-64", "aarch64", "aarch64 plain"} {
				t.Run(fmt.Sprintf("%v %s %s", dims, name, source), func(t *testing.T) {
					got := lowPrecisionTargets(t)[name].execute(t, cputest.RandomConstant)(t, g, in)
					if err := reference.CompareWithin("y", want["y"], got["y"], 4*reference.Ulps); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// needX86 skips a test of instructions of x86-64 where the compiler writes for something else.
func needX86(t *testing.T, cc *toolchain.Compiler) {
	t.Helper()
	if cc.Machine.Name != "x86_64" {
		t.Skipf("%s compiles for %s", cc.Path, cc.Machine.Triple)
	}
}

// TestInstructions says for each set of instructions that programs ask for when they run, whether this machine's runs execute it. The
// tests of products take what the processor has, so that nothing else would show that the others were only compiled.
func TestInstructions(t *testing.T) {
	cc := cputest.Compiler(t)
	needX86(t, cc)
	for _, name := range []string{"AVX_VNNI", "AVX512_VNNI", "AVX512_BF16", "AMX_INT8", "AMX_BF16"} {
		t.Run(name, func(t *testing.T) {
			if !cputest.Has(t, cc, "tapc_features() & TAPC_"+name) {
				t.Skipf("this processor has no %s: micro-kernels for it were compiled, not executed", name)
			}
		})
	}
}

// TestMatrixUnit compiles programs with what the compilers know of the matrix unit: its instructions are there where products may
// use them, and only there.
func TestMatrixUnit(t *testing.T) {
	needX86(t, cputest.Compiler(t))
	dir := t.TempDir()
	for name, text := range rt.Files() {
		if strings.HasSuffix(name, ".h") {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	float := floatProduct(false, 64, 64, 64, "")
	for _, c := range []struct {
		name  string
		graph *ir.Graph
		level int // in isa.X86Levels
		want  map[string]bool
	}{
		{"exact", cputest.Scheduled(t, float), 0, map[string]bool{"tdpbf16ps": false, "vdpbf16ps": false}},
		{"bf16", lowered(t, float), 0, map[string]bool{"tdpbf16ps": true, "vdpbf16ps": true, "tdpbusd": false, "ldtilecfg": true}},
		{"bf16 without AVX-512", lowered(t, float), 1, map[string]bool{"tdpbf16ps": false, "vdpbf16ps": false}},
		{"bytes", cputest.Scheduled(t, bytesProduct("uint8", "int8", "-", "-", 64, 64, 64).graph), 0, map[string]bool{"tdpbusd": true, "vpdpbusd": true, "tdpbf16ps": false}},
		{"bytes without AVX-512", cputest.Scheduled(t, bytesProduct("uint8", "int8", "-", "-", 64, 64, 64).graph), 1, map[string]bool{"tdpbusd": false, "vpdpbusd": true}},
	} {
		src, err := cpu.EmitFor(c.graph, "test", "test", isa.X86Levels[c.level])
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "program.c")
		if err := os.WriteFile(file, []byte(src.C), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, compiler := range []string{"gcc", "clang"} {
			path, err := exec.LookPath(compiler)
			if err != nil && !testkit.Required(testkit.Compilers) {
				continue
			}
			testkit.Need(t, testkit.Compilers, err)
			args := append(slices.Concat(toolchain.UsualFlags(), isa.X86Levels[c.level].Flags), "-Wall", "-Wextra", "-Werror", "-mamx-tile", "-mamx-bf16", "-mamx-int8", "-S", "-o", "-", file)
			text, err := exec.Command(path, args...).CombinedOutput()
			if err != nil {
				t.Fatalf("%s, %s: %v\n%s", c.name, compiler, err, text)
			}
			for instruction, want := range c.want {
				if got := regexp.MustCompile(`\b` + instruction + `\b`).Match(text); got != want {
					t.Errorf("%s, %s: %s is there: %v, expected %v", c.name, compiler, instruction, got, want)
				}
			}
		}
	}
}

// TestFastMath runs a softmax with fast math beside one without: values differ by little. TestExtremes has its NaN.
func TestFastMath(t *testing.T) {
	cc := cputest.Compiler(t)
	const graph = "%x = tensor float32 [0:5, 0:100]\n%y = tensor float32 [0:5, 0:100]\noperation op:softmax {dims: [1]} (tensor: %x) -> (result: %y)\n"
	in := cputest.RandomInputs(t, cputest.Operations(t, graph))
	want := cputest.Evaluate(t, cputest.Operations(t, graph), in)
	for _, fast := range []bool{false, true} {
		allow := permission.Set(0)
		if fast {
			allow = permission.FastMath
		}
		g := cputest.Allowing(t, graph, allow)
		src, err := cpu.Emit(g, "test", "test")
		if err != nil {
			t.Fatal(err)
		}
		if exact := strings.Contains(src.C, "tapc_max_f32x16"); exact == fast {
			t.Errorf("fast=%v: greatest values keep NaN: %v", fast, exact)
		}
		got := cputest.Executes(cc, "native", cputest.Strict)(cputest.RandomConstant)(t, g, in)
		if err := reference.CompareWithin("y", want["y"], got["y"], 4*reference.Ulps); err != nil {
			t.Errorf("fast=%v: %v", fast, err)
		}
	}
}

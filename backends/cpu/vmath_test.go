package cpu_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// mathOps are the functions that vectors have of their own.
var mathOps = []scalar.Op{scalar.Exp, scalar.Exp2, scalar.Log, scalar.Tanh, scalar.Erf, scalar.Sin, scalar.Cos}

// mathHarness is what the program of TestMath does with a function: every stride-th bit pattern, special values, and the ends of
// the ranges in which the functions are computed in different ways. It prints the greatest error in units in the last place.
const mathHarness = `
static double worst_NAME(REAL x, REAL got) {
  const WIDE want = EXACT(x);
  if (isnan((double)want) || isnan((double)got)) return isnan((double)want) == isnan((double)got) ? 0 : 1e9;
  const REAL near = (REAL)want;
  if (isinf((double)near) || isinf((double)got)) return near == got || isinf((double)near) && fabs((double)got) >= (double)MOST ? 0 : 1e9;
  if (near == 0 && got == 0) return signbit((double)near) == signbit((double)got) ? 0 : 1e9;
  int e;
  (void)frexp((double)near, &e);
  const WIDE ulp = LDEXP((WIDE)1, (e < LEAST ? LEAST : e) - DIGITS);
  return (double)(((WIDE)got - want < 0 ? want - (WIDE)got : (WIDE)got - want) / ulp);
}

static void test_NAME(void) {
  double worst = 0;
  REAL at = 0;
  const REAL special[LANES] = {0, (REAL)-0.0, INFINITY, -INFINITY, NAN, 1, -1, MOST, -MOST, (REAL)0.99999994, (REAL)1.0000001, 4, -4, 89, -104, 88};
  for (BITS i = 0, n = (BITS)-1 / STRIDE / LANES; i <= n; i++) {
    VECTOR x;
    for (int l = 0; l < LANES; l++) {
      const BITS bits = (i * LANES + (BITS)l) * STRIDE;
      REAL r;
      __builtin_memcpy(&r, &bits, sizeof r);
      x[l] = i == 0 ? special[l] : r;
    }
    const VECTOR y = FUNCTION(x);
    for (int l = 0; l < LANES; l++) {
      const double u = worst_NAME(x[l], y[l]);
      if (u > worst) worst = u, at = x[l];
    }
    for (int l = 0; i % 1021 == 0 && l < LANES; l++) { // a lane does not depend on its neighbours
      VECTOR same;
      for (int k = 0; k < LANES; k++) same[k] = x[l];
      same = FUNCTION(same);
      const REAL a = same[l], b = y[l];
      if (a == a && __builtin_memcmp(&a, &b, sizeof a) != 0) worst = 1e9, at = x[l];
    }
  }
  printf("NAME %.3f at %a\n", worst, (double)at);
}
`

// TestMath compares the functions of vectors with the C library's of twice the precision.
func TestMath(t *testing.T) {
	cc := cputest.Compiler(t)
	for _, target := range cc.Machine.Levels {
		for _, d := range []scalar.DType{scalar.Float32, scalar.Float64} {
			t.Run(fmt.Sprintf("%s/%v", target.Name, d), func(t *testing.T) {
				t.Parallel()
				if !cputest.Runs(t, cc, target) {
					t.Skipf("this processor has not all of %s: its functions were not executed", target.Name)
				}
				testMath(t, cc, target, d, 1)
			})
		}
	}
	for _, d := range []scalar.DType{scalar.Float32, scalar.Float64} { // emulated, for one bit pattern in 16
		t.Run(fmt.Sprintf("aarch64/%v", d), func(t *testing.T) {
			t.Parallel()
			cc, tools := cputest.Cross(t, "gcc")
			testMath(t, cc, cc.Machine.Portable[0], d, 16, tools.Emulator...)
		})
	}
}

// testMath tests the functions of a target on every stride-th of some million bit patterns; what programs are arguments of comes last.
func testMath(t *testing.T, cc *toolchain.Compiler, target isa.Target, d scalar.DType, stride uint64, runner ...string) {
	w := cexpr.NewWriter()
	v, n := vector.New(w), target.Lanes(d.Size())
	if n < 4 {
		n = 4
	}
	var body, main strings.Builder
	words := []string{"REAL", "float", "WIDE", "double", "BITS", "uint32_t", "DIGITS", "24", "LEAST", "-125", "LDEXP", "ldexp", "STRIDE", fmt.Sprint(4099 * stride),
		"MOST", "0x1.fffffep127f", "LANES", fmt.Sprint(n), "VECTOR", v.Type(d, n)}
	if d == scalar.Float64 {
		words = []string{"REAL", "double", "WIDE", "long double", "BITS", "uint64_t", "DIGITS", "53", "LEAST", "-1021", "LDEXP", "ldexpl",
			"STRIDE", fmt.Sprintf("%du", 35184372088891*stride), "MOST", "0x1.fffffffffffffp1023", "LANES", fmt.Sprint(n), "VECTOR", v.Type(d, n)}
	}
	tested := 0
	for _, op := range mathOps {
		x, ok := vector.Function(v, op, n, []vector.Value{{Text: "x", Type: d}})
		if !ok {
			continue
		}
		tested++
		name, _, _ := strings.Cut(x.Text, "(")
		exact := op.String()
		if d == scalar.Float64 {
			exact += "l"
		}
		body.WriteString(strings.NewReplacer(append(words, "NAME", op.String(), "EXACT", exact, "FUNCTION", name)...).Replace(mathHarness))
		fmt.Fprintf(&main, "  test_%v();\n", op)
	}
	text := "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n" + cpu.Header[strings.Index(cpu.Header, "#define TAPC_FN"):] +
		w.Prelude() + v.Prelude() + body.String() + "int main(void) {\n" + main.String() + "  return 0;\n}\n"
	flags := append(toolchain.UsualFlags(), target.Flags...)
	// special lists 16 values; shorter vectors leave the rest out.
	text = strings.ReplaceAll(text, "const float special["+fmt.Sprint(n)+"]", "const float special[16]")
	text = strings.ReplaceAll(text, "const double special["+fmt.Sprint(n)+"]", "const double special[16]")
	command := append(slices.Clone(runner), cputest.CompileC(t, cc, text, flags...))
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		var name, at string
		var ulps float64
		if _, err := fmt.Sscanf(line, "%s %f at %s", &name, &ulps, &at); err != nil {
			t.Fatal(line, err)
		}
		tested--
		t.Logf("%s: %.3f ulp at %s", name, ulps, at)
		if ulps > vector.MaxULP {
			t.Errorf("%s is off by %.3f units in the last place at %s, expected at most %d", name, ulps, at, vector.MaxULP)
		}
	}
	if tested != 0 {
		t.Errorf("%d functions gave no result", tested)
	}
}

// A function of a number has the same bits among however many others, and wherever it stands among them. (One by itself comes from the C library: docs/numerics.md.)
func TestFunctionsKeepBits(t *testing.T) {
	cc := cputest.Compiler(t)
	const most = 19
	var graph strings.Builder
	names := []string{"exp", "log", "tanh", "erf", "sin", "cos"}
	sizes := []int{most, 2, 3, 4, 5, 6, 7, 8, 9, 10, 17, 18}
	for _, d := range []scalar.DType{scalar.Float32, scalar.Float64} {
		for _, n := range sizes {
			fmt.Fprintf(&graph, "%%x_%v_%d = tensor %v [0:%d]\n", d, n, d, n)
		}
		for _, f := range names {
			for _, n := range sizes {
				fmt.Fprintf(&graph, "%%%s_%v_%d = tensor %v [0:%d]\n%%f_%s_%v_%d = operation op:%s (tensor: %%x_%v_%d) -> (result: %%%s_%v_%d)\n", f, d, n, d, n, f, d, n, f, d, n, f, d, n)
				if d == scalar.Float32 { // beside wider numbers, of which a vector has half as many
					fmt.Fprintf(&graph, "%%n_%s_%d = tensor float32 [0:%d]\noperation op:neg (tensor: %%x_float32_%d) -> (result: %%n_%s_%d)\n", f, n, n, n, f, n)
					fmt.Fprintf(&graph, "%%m_%s_%d = tensor float32 [0:%d]\noperation op:%s (tensor: %%n_%s_%d) -> (result: %%m_%s_%d)\n", f, n, n, f, f, n, f, n)
					fmt.Fprintf(&graph, "%%%s_wide_%d = tensor float64 [0:%d]\noperation op:cast {dtype: \"float64\"} (tensor: %%m_%s_%d) -> (result: %%%s_wide_%d)\n", f, n, n, f, n, f, n)
				}
			}
		}
	}
	g := cputest.Operations(t, graph.String())
	in := cputest.RandomInputs(t, g)
	for _, d := range []scalar.DType{scalar.Float32, scalar.Float64} {
		all := in[fmt.Sprintf("x_%v_%d", d, most)]
		for _, n := range sizes { // the last numbers of all
			in[fmt.Sprintf("x_%v_%d", d, n)] = tensorfile.Tensor{DType: d, Shape: []int64{int64(n)}, Data: all.Data[(most-n)*d.Size():]}
		}
	}
	out := cputest.Run(t, []string{native(t, cc, g)}, g, in, "1")
	for _, d := range []scalar.DType{scalar.Float32, scalar.Float64} {
		for _, f := range names {
			all := out[fmt.Sprintf("%s_%v_%d", f, d, most)].Data
			for _, n := range sizes {
				if got := out[fmt.Sprintf("%s_%v_%d", f, d, n)].Data; len(got) != n*d.Size() || !bytes.Equal(got, all[(most-n)*d.Size():]) {
					t.Errorf("%s of %d numbers of %v: other bits than among %d", f, n, d, most)
				}
				if d == scalar.Float32 {
					if all, got := out[fmt.Sprintf("%s_wide_%d", f, most)].Data, out[fmt.Sprintf("%s_wide_%d", f, n)].Data; len(got) != 8*n || !bytes.Equal(got, all[8*(most-n):]) {
						t.Errorf("%s of %d numbers of float32 beside float64: other bits than among %d", f, n, most)
					}
				}
			}
		}
	}
}

package cexpr_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/scalar"
)

// values are the inputs of a type: special ones, ordinary ones, and ones near the limits.
func values(d scalar.DType) []scalar.Value {
	var out []scalar.Value
	add := func(v scalar.Value) {
		for _, w := range out {
			if w.Same(v) {
				return
			}
		}
		out = append(out, v)
	}
	switch {
	case d.IsFloat():
		for _, f := range []float64{0, 1, 2, 0.5, 3, 0.1, 1.5, 2.5, 7, 100, 1e-3, 1e-8, 6e-8, 65504, 65520, 1e5, 448, 464, 480, 57344, 3e38, 1e-40,
			2147483648, 9.2e18, 1.8e19, 255, 128, 5, 0.25, 0.75, 240, 248, 256, 0x1p-127, 0x1.8p-128, 0x1.7p-128, 0x1.8p-127, math.Inf(1)} {
			add(scalar.FloatValue(d, f))
			add(scalar.FloatValue(d, -f))
		}
		add(scalar.FloatValue(d, math.NaN()))
	case d.IsComplex():
		for _, re := range []float64{0, 1, -2, 0.3, -7.5, 30} {
			for _, im := range []float64{0, -1, 0.25, 5} {
				add(scalar.Value{DType: d, F: scalar.FloatValue(d.Part(), re).F, Im: scalar.FloatValue(d.Part(), im).F})
			}
		}
	case d == scalar.Bool:
		add(scalar.BoolValue(false))
		add(scalar.BoolValue(true))
	default:
		lo, hi := scalar.Lowest(d), scalar.Highest(d)
		for _, i := range []int64{0, 1, -1, 2, 3, 5, 7, -7, 8, 15, 16, 31, 33, 63, 64, 100, 127, 255, 1000, 65535, 1 << 20, 1<<31 - 1, 1 << 31, 1<<53 + 1,
			lo.I, lo.I + 1, hi.I, hi.I - 1} {
			add(scalar.IntValue(d, i))
		}
	}
	return out
}

// operation is one operator on types, tried on all values.
type operation struct {
	e    *scalar.Expr
	args []scalar.DType
	in   [][]scalar.Value // one for each argument, as long as each other
}

func operations() []*operation {
	var all []*operation
	add := func(e *scalar.Expr, err error, args ...scalar.DType) {
		if err != nil {
			return
		}
		o := &operation{e: e, args: args, in: make([][]scalar.Value, len(args))}
		if len(args) == 1 && args[0].IsFloat() && args[0].Bits() <= 8 { // every number
			for code := range 1 << args[0].Bits() {
				o.in[0] = append(o.in[0], scalar.Decode(args[0], []byte{byte(code)}))
			}
			all = append(all, o)
			return
		}
		for _, a := range values(args[0]) {
			if len(args) == 1 {
				o.in[0] = append(o.in[0], a)
				continue
			}
			for _, b := range values(args[1]) {
				o.in[0], o.in[1] = append(o.in[0], a), append(o.in[1], b)
			}
		}
		all = append(all, o)
	}
	for _, d := range scalar.DTypes() {
		for op := scalar.Neg; op <= scalar.Ge; op++ {
			args := []*scalar.Expr{scalar.NewLoad(0, d), scalar.NewLoad(1, d)}[:op.Arity()]
			types := []scalar.DType{d, d}[:op.Arity()]
			e, err := scalar.New(op, args...)
			add(e, err, types...)
		}
		for _, to := range scalar.DTypes() {
			if to != d {
				add(scalar.NewCast(to, scalar.NewLoad(0, d)), nil, d)
				e, err := scalar.NewBitcast(to, scalar.NewLoad(0, d))
				add(e, err, d)
			}
		}
	}
	return all
}

type leaves struct {
	w     *cexpr.Writer
	types []scalar.DType
}

func (l leaves) Load(ref int) string {
	return l.w.Load(l.types[ref], fmt.Sprintf("((const %s *)in%d)[i]", l.w.Stored(l.types[ref]), ref))
}
func (leaves) Local(int) string           { return "?" }
func (leaves) Loop(int) string            { return "?" }
func (leaves) Reduce(*scalar.Expr) string { return "?" }
func (leaves) Chosen(*scalar.Expr) string { return "" }

// source is a program that applies every operation to the values on its standard input and writes the results.
func source(t *testing.T, all []*operation) string {
	w := cexpr.NewWriter()
	var body strings.Builder
	for i, o := range all {
		l := leaves{w, o.args}
		fmt.Fprintf(&body, "static void f%d(const void *in0, const void *in1, void *out, int n) {\n  (void)in0; (void)in1;\n  for (int i = 0; i < n; i++) ((%s *)out)[i] = %s;\n}\n",
			i, w.Stored(o.e.Type), w.Store(o.e.Type, w.Expr(o.e, l)))
	}
	body.WriteString("static unsigned char in0[1 << 17], in1[1 << 17], out[1 << 17];\nint main(void) {\n")
	for i, o := range all {
		n := len(o.in[0])
		fmt.Fprintf(&body, "  if (fread(in0, 1, %d, stdin) == 0) return 1;\n", n*o.args[0].Size())
		if len(o.args) > 1 {
			fmt.Fprintf(&body, "  if (fread(in1, 1, %d, stdin) == 0) return 1;\n", n*o.args[1].Size())
		}
		fmt.Fprintf(&body, "  f%d(in0, in1, out, %d);\n  fwrite(out, 1, %d, stdout);\n", i, n, n*o.e.Type.Size())
	}
	body.WriteString("  return 0;\n}\n")
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	return "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n#define TAPC_FN static\n" +
		"#define TAPC_INF __builtin_inf()\n#define TAPC_INFF __builtin_inff()\n#define TAPC_NAN __builtin_nan(\"\")\n#define TAPC_NANF __builtin_nanf(\"\")\n" +
		w.Prelude() + body.String()
}

// compile builds the program as C or C++, with every warning an error and undefined behaviour caught.
func compile(t *testing.T, text, compiler, language string, flags ...string) string {
	t.Helper()
	path := testkit.Program(t, testkit.Compilers, compiler)
	testkit.NeedSanitizers(t, path, "-fsanitize=undefined")
	dir := t.TempDir()
	file, exe := filepath.Join(dir, "ops."+language), filepath.Join(dir, "ops")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-O0", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover=all", "-ffp-contract=off", "-x", language, file, "-o", exe, "-lm"}, flags...)
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, firstLines(string(out), 40))
	}
	return exe
}

func firstLines(s string, n int) string {
	lines := strings.SplitN(s, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}

// TestOperators applies every operator and conversion to every type in C, and compares with what ir/scalar says.
func TestOperators(t *testing.T) {
	all := operations()
	var input bytes.Buffer
	for _, o := range all {
		for _, list := range o.in {
			for _, v := range list {
				b := make([]byte, v.DType.Size())
				v.Encode(b)
				input.Write(b)
			}
		}
	}
	text := source(t, all)
	for _, c := range []struct {
		name, compiler, language string
		flags                    []string
	}{{"C", "gcc", "c", []string{"-march=native"}}, {"C++", "g++", "c++", nil}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(compile(t, text, c.compiler, c.language, c.flags...))
			cmd.Stdin = bytes.NewReader(input.Bytes())
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr.String())
			}
			for _, o := range all {
				out = check(t, o, out)
			}
		})
	}
}

// check compares one operation's results and gives the bytes behind them.
func check(t *testing.T, o *operation, out []byte) []byte {
	size := o.e.Type.Size()
	for i := range o.in[0] {
		args := make([]scalar.Value, len(o.in))
		for j := range args {
			args[j] = o.in[j][i]
		}
		want, got := scalar.Apply(o.e.Op, o.e.Type, args...), scalar.Decode(o.e.Type, out[:size])
		out = out[size:]
		if !close(o.e.Op, want, got) {
			t.Errorf("%v to %v of %v is %v, want %v", o.e.Op, o.e.Type, args, got, want)
		}
	}
	return out
}

// close says whether a result is right: exactly, but for functions of the C library, which may be off by a little.
func close(op scalar.Op, want, got scalar.Value) bool {
	if want.Same(got) {
		return true
	}
	library := op.Class() == scalar.Transcendental || op == scalar.Rsqrt || want.DType.IsComplex() || op == scalar.Abs
	if !library {
		return false
	}
	near := func(a, b float64) bool {
		scale := math.Hypot(want.F, want.Im)
		ulp := scale * math.Ldexp(1, -digits(want.DType))
		return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 2*ulp || math.Abs(a-b) < 1e-44
	}
	return near(want.F, got.F) && near(want.Im, got.Im)
}

func digits(d scalar.DType) int {
	if f, ok := d.Format(); ok {
		return f.Mantissa
	}
	if d.Part() == scalar.Float32 {
		return 23
	}
	return 52 - 2 // Go's own functions of float64 may be off as well
}

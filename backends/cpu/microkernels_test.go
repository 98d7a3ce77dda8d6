package cpu_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/ir/scalar"
)

// The table of docs/cpu.md is the one that programs are made of.
func TestMicrokernelTable(t *testing.T) {
	const file = "../../docs/cpu.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := microkernelTable()
	if strings.Contains(string(text), want) {
		return
	}
	t.Errorf("%s lacks the table of micro-kernels:\n%s", file, want)
}

// microkernelTable describes the table, as docs/cpu.md has it.
func microkernelTable() string {
	var b strings.Builder
	b.WriteString("| products and sums | group | lanes | name | processors | C |\n|---|---|---|---|---|---|\n")
	for _, m := range micro.Table {
		processors, lanes := "every one", "any"
		if m.Machine != "" {
			processors = fmt.Sprintf("%s with `%s`", m.Machine, m.Feature)
		}
		if m.Vector > 0 {
			lanes = fmt.Sprint(m.Vector / int64(m.Sum.Size()))
		}
		file := "`c += a * w`"
		if m.File != "" {
			file = "[`" + m.File + "`](../backends/cpu/micro/c/" + m.File + ")"
		}
		fmt.Fprintf(&b, "| %v × %v, %v | %d | %s | %s | %s | %s |\n", m.Left, m.Right, m.Sum, m.Group, lanes, m.Name, processors, file)
	}
	return b.String()
}

// Every kernel of groups has a row for every processor, and rows are told apart where a program has several.
func TestMicrokernelRows(t *testing.T) {
	var targets []isa.Target
	for _, triple := range []string{"x86_64-linux-gnu", "aarch64-linux-gnu", "riscv64-linux-gnu"} {
		targets = append(targets, isa.MachineOf(triple).Levels...)
	}
	for _, target := range append(targets, isa.Scheduled) {
		for _, group := range []int64{2, 4} {
			seen := map[string]bool{}
			rows := micro.For(target, group)
			for i, m := range rows {
				if last := i == len(rows)-1; seen[m.Name] || (m.Feature == "") != last || m.Known() == "" != last || micro.Text(m.File) == "" {
					t.Errorf("%s, groups of %d: row %d of %d, %+v", target.Name, group, i, len(rows), m)
				}
				seen[m.Name] = true
			}
			if len(rows) == 0 {
				t.Errorf("%s, groups of %d: no row", target.Name, group)
			}
		}
	}
}

// bytesHarness compares what a step gives with the sums of the products, for bytes from a small generator and for the extreme ones. What a
// row that moves left bytes lacks is added.
const bytesHarness = `
%[1]s__attribute__((noinline)) static int test_%[2]s(void) {
  uint32_t state = 1;
  for (int i = 0; i < 4000; i++) {
    tapc_groups c, w, got;
    uint8_t a[4];
    int8_t right[4 * TAPC_LANES];
    for (int x = 0; x < 4; x++) a[x] = i %% 3 ? (uint8_t)((state = state * 1664525u + 1013904223u) >> 24) : (uint8_t)(i & 1 ? 255 : 0);
    for (int x = 0; x < 4 * TAPC_LANES; x++) right[x] = i %% 5 ? (int8_t)((state = state * 1664525u + 1013904223u) >> 24) : (int8_t)(i & 2 ? 127 : -128);
    for (int x = 0; x < TAPC_LANES; x++) c[x] = state * (uint32_t)x;
    __builtin_memcpy(&w, right, sizeof w);
    uint32_t group;
    __builtin_memcpy(&group, a, 4);
    got = %[3]s(c, group - (tapc_groups){0}, w);
    for (int x = 0; x < TAPC_LANES; x++) {
      uint32_t want = c[x], sum = 0;
      for (int y = 0; y < 4; y++) want += (uint32_t)(a[y] * right[4 * x + y]), sum += (uint32_t)right[4 * x + y];
      if (got[x] + %[4]du * sum != want) return 1;
    }
  }
  return 0;
}
`

// weaveHarness has a group of four bytes, one of each row, for each of sixteen columns.
const weaveHarness = `
static int test_weave(void) {
  uint8_t rows[4 * 20], woven[64];
  for (unsigned i = 0; i < sizeof rows; i++) rows[i] = (uint8_t)(i * 37);
  tapc_weave(rows, 20, woven, 0x80);
  for (int i = 0; i < 64; i++)
    if (woven[i] != (uint8_t)(rows[i % 4 * 20 + i / 4] ^ 0x80)) return 1;
  return 0;
}
`

// TestMicrokernelFiles compiles the files of the table as C of their own, for each size of vectors, and runs the rows for bytes that the
// processor can run.
func TestMicrokernelFiles(t *testing.T) {
	wide := isa.Target{Target: isa.Scheduled.Target, Name: "wide, without instructions", Machine: "none"}
	withCompilers(t, []isa.Target{wide}, func(t *testing.T, cc *toolchain.Compiler, target isa.Target, runner ...string) {
		w := cexpr.NewWriter()
		v, lanes := vector.New(w), target.Lanes(4)
		var tests, calls strings.Builder
		for _, m := range slices.Concat(micro.For(target, 4), micro.For(target, 2)) {
			m.Define(v, lanes)
			if m.Group != 4 || m.Form == micro.MatrixUnit {
				continue
			}
			when, has := "1", "1"
			if m.Feature != "" {
				when, has = m.Known(), "tapc_features() & "+m.Feature
			}
			fmt.Fprintf(&tests, "#if "+when+bytesHarness+"#endif\n", m.Attribute(), m.Name, m.Function, map[bool]int{true: 128}[m.Moves()])
			fmt.Fprintf(&calls, "#if %s\n  if ((%s) && test_%s()) puts(\"%s\");\n#endif\n", when, has, m.Name, m.Name)
		}
		v.Type(scalar.UInt8, 16)
		v.Type(scalar.UInt16, 8)
		for _, file := range []string{"some.c", "sums.c", "tilerows.c", "tobf16.c", "weave.c"} {
			v.Define(file, func() string { return micro.Text(file) })
		}
		text := cputest.WithFeatures("#include <stdio.h>\n" + cpu.Header[strings.Index(cpu.Header, "#define TAPC_FN"):] + w.Prelude() + v.Prelude() + tests.String() + weaveHarness +
			"int main(void) {\n  if (test_weave()) puts(\"weave\");\n" + calls.String() + "  return 0;\n}\n")
		flags := slices.Concat(cc.Args, toolchain.UsualFlags(), target.Flags, []string{"-Wall", "-Wextra", "-Werror", "-Wno-unused-function"})
		command := append(slices.Clone(runner), cputest.CompileC(t, cc, text, flags...))
		if target.Has != "" && len(runner) == 0 && !cputest.Runs(t, cc, target) {
			return
		}
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("wrong sums of %s (%v)", out, err)
		}
	})
}

// bfdotHarness prints what BFDOT makes of some sums and pairs.
const bfdotHarness = `
#include <stdio.h>
#include <string.h>
static unsigned bits(float f) {
  unsigned x;
  memcpy(&x, &f, sizeof x);
  return x;
}
TAPC_TARGET("bf16") __attribute__((noinline)) static tapc_singles dot(tapc_singles c, tapc_groups a, tapc_groups w) { return tapc_bfdot(c, a, w); }
int main(void) {
  static const struct { float c; unsigned a, w; } cases[] = {%s};
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    const float c = cases[i].c;
    printf("%%08x\n", bits(dot((tapc_singles){c, c, c, c}, (tapc_groups){cases[i].a}, (tapc_groups){cases[i].w})[0]));
  }
}
`

// TestBFDOT holds an emulated processor to what docs/cpu.md says of the instruction BFDOT (Arm Architecture Reference Manual, BFDOT and
// BFDotAdd, without FEAT_EBF16 or where FPCR.EBF is 0).
func TestBFDOT(t *testing.T) {
	cc, tools := cputest.Cross(t, "gcc")
	cases := []struct {
		about, c string
		a, w     uint32 // two bfloat16 each
		want     uint32 // bits
	}{
		{"exact", "1.0f", 0x40003f80, 0x3f803f80, 0x40800000},                                           // 1 + (1·1 + 2·1)
		{"an inexact sum has an odd last bit, upward here", "1.0f", 0x00003380, 0x00003f80, 0x3f800001}, // 1 + 2^-24: a tie, to nearest even 1
		{"and downward here", "0x1.000002p0f", 0x00003400, 0x00003f00, 0x3f800001},                      // 1 + 2^-23 + 2^-24: a tie, to nearest even 1 + 2^-22
		{"however little is lost", "1.0f", 0x00000d80, 0x00003f80, 0x3f800001},                          // 1 + 2^-100
		{"products are added to each other first", "0.0f", 0x33803f80, 0x3f803f80, 0x3f800001},          // 1 + 2^-24
		{"denormal operands are zero", "0.0f", 0x00000040, 0x00007f00, 0},
		{"denormal sums are zero", "0.0f", 0x00000080, 0x00003f00, 0}, // 2^-126 / 2
		{"negative ones too", "0.0f", 0x00008080, 0x00003f00, 0},
		{"overflow is infinite", "0.0f", 0x00007f7f, 0x00007f7f, 0x7f800000},
		{"NaN is the default one", "0.0f", 0x0000ffc1, 0x00003f80, 0x7fc00000},
		{"infinity less infinity too", "0.0f", 0xff807f80, 0x3f803f80, 0x7fc00000},
	}
	var rows strings.Builder
	for _, c := range cases {
		fmt.Fprintf(&rows, "{%s, 0x%xu, 0x%xu}, ", c.c, c.a, c.w)
	}
	types := "#define TAPC_FN static inline __attribute__((always_inline, unused))\n" +
		"typedef float tapc_singles __attribute__((vector_size(16)));\ntypedef uint32_t tapc_groups __attribute__((vector_size(16)));\n"
	text := cputest.WithFeatures(types + micro.Text("features.c") + micro.Text("bfdot.c") + fmt.Sprintf(bfdotHarness, rows.String()))
	for _, compiler := range []string{"gcc", "clang"} {
		if compiler == "clang" {
			cc, tools = cputest.Cross(t, compiler)
		}
		exe := cputest.CompileC(t, cc, text, append(cc.Args, "-O1", "-Wall", "-Wextra")...)
		command := append(tools.Processor("max"), exe)
		out, err := exec.Command(command[0], command[1:]...).Output()
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Fields(string(out))
		for i, c := range cases {
			if want := fmt.Sprintf("%08x", c.want); i >= len(got) || got[i] != want {
				t.Errorf("%s: %s: found %v, expected %s", compiler, c.about, got, want)
			}
		}
	}
}

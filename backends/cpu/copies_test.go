package cpu_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/lowprecision"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/scalar"
)

// copiesHarness looks at every element that the functions which pack one type of numbers write, and gives the line, of its own, of the first that is wrong.
const copiesHarness = `
#line 1
#define CHECK(x) do { if (!(x)) return __LINE__; } while (0)
static int copies_$n(void) {
  enum { n = $n, width = 2 * n, values = 2 * n + 3, most = 1 << 15 };
  static $type from[most];
  static _Alignas(64) $type to[most];
  for (int i = 0; i < most; i++) from[i] = ($type)(i * 37 % 101);
  for (int live = 1; live <= width; live += n - 1)
    for (int across = -1; across < 4; across++) {
      const $type *begin = from + most / 2;
      $pack(begin, 3, across, live, values, 2, to, width);
      for (int k = 0; k < values; k++)
        for (int x = 0; x < width; x++) CHECK(to[k * width + x] == (x < live ? begin[k * 3 + x * across] : 0));
    }
  $squares(from, 1, 71, width, values, 2, to, width);
  for (int k = 0; k < values; k++)
    for (int x = 0; x < width; x++) CHECK(to[k * width + x] == from[k + x * 71]);
  enum { high = n < 3 ? n : 3 };
  $rows(from, 150, 2 * high + 1, values, to, high * values + n); // two whole panels, and a row
  for (int r = 0; r < 2 * high + 1; r++)
    for (int k = 0; k < values; k++) CHECK(to[r / high * (high * values + n) + k * high + r % high] == from[r * 150 + k]);
  for (int step = 1; step < 3; step++) { // two whole panels, and a row
    $spread(from, step, 5, 2 * n + 1, values, 3, to, values * n, n);
    for (int r = 0; r < 2 * n + 1; r++)
      for (int k = 0; k < values; k++) CHECK(to[r / n * values * n + k * n + r % n] == from[r * step + k * 5]);
  }
  for (int places = n - 1; places < width; places += 2)
    for (int count = n - 1; count < width; count += 2) {
      for (int i = 0; i < 6; i++) {
        const int across = i / 2 == 0 ? 1 : i / 2 == 1 ? count : 149, step = i % 2 == 0 ? 1 : i == 1 ? 140 : 3;
        $places(from, across, step, to, places, count);
        for (int x = 0; x < places; x++)
          for (int y = 0; y < count; y++) CHECK(to[x * count + y] == from[x * across + y * step]);
      }
    }
  static _Alignas(64) $mask live[2 * n];
  for (int i = 0; i < 2 * n; i++) live[i] = -(i % 3 != 0);
  const $type fill[1] = {77};
  for (int kind = 1; kind <= n + 1; kind++) { // neighbours up to a row's end, or all of them, or every second one
    int64_t at[n], reach[3], runs[3];
    uint32_t lanes[4];
    const int step = kind == n + 1 ? 2 : 1;
    for (int l = 0; l < n; l++) at[l] = l < kind ? l * step : l + 200;
    $window_reach(at, step, n, reach);
    CHECK(reach[0] == (kind >= n) && reach[1] == 0 && reach[2] == at[n - 1]);
    for (int there = 0; there < 2; there++)
      for (int guarded = 0; guarded < 2; guarded++) {
        $window(from + 100, 100, there ? most : 101, at, reach, step, guarded, live, fill, 5, to, n);
        for (int l = 0; l < n; l++) CHECK(to[l] == (!guarded || live[l] ? from[100 + at[l]] : 77));
      }
    $window_runs(at, live, 2, runs, lanes);
#if defined(__AVX512F__)
    CHECK(n > 16 || runs[0] == (kind < n ? 2 : kind == n ? 1 : 0));
#else
    CHECK(runs[0] == 0);
#endif
    for (int g = 0; g < 2 && runs[0] > 0 && $masked; g++) {
      if (runs[0] == 1) $window_one(from + 100, runs, lanes + g, fill, to);
      else $window_two(from + 100, runs, lanes + g, 2, fill, to);
      for (int l = 0; l < n; l++) CHECK(to[l] == (live[g * n + l] ? from[100 + at[l]] : 77));
    }
  }
  $window_ahead(from, (int64_t[]){0}, 3, 2, 7);
  return 0;
}
`

// convertersHarness does so for numbers that are changed to what instructions for narrow numbers take: a block lane by lane is what one group by group is, transposed.
const convertersHarness = `
#line 1
static int converts_$name(void) {
  enum { size = sizeof($kept), count = 64 / size, group = 4 / size };
  static $type from[4096];
  static $kept to[4096];
  _Alignas(64) uint8_t lines[1024], transposed[1024], across[1024];
  uint32_t state = 1;
  for (int i = 0; i < 4096; i++) from[i] = ($type)((state = state * 1664525u + 1013904223u) >> 8);
  $line(from, to, 37);
  for (int i = 0; i < 37; i++) CHECK(to[i] == ($kept)($one(from[i])));
  for (int places = 15; places < 36; places += 10)
    for (int values = 15; values < 36; values += 10) {
      $places(from, 1, 40, to, places, values);
      for (int x = 0; x < places; x++)
        for (int y = 0; y < values; y++) CHECK(to[x * values + y] == ($kept)($one(from[y * 40 + x])));
    }
  for (int live = 5; live <= 16; live += 11)
    for (int some = count - 3; some <= count; some += 3) {
      $lines(from, 1, 20, live, some, lines);
      for (int lane = 0; lane < 16; lane++)
        for (int k = 0; k < count; k++) CHECK((($kept *)lines)[lane * count + k] == (lane < live && k < some ? ($kept)($one(from[k * 20 + lane])) : 0));
      $transposed(lines, transposed);
      for (int lane = 0; lane < 16; lane++)
        for (int k = 0; k < count; k++) CHECK((($kept *)transposed)[k / group * (64 / size) + lane * group + k % group] == (($kept *)lines)[lane * count + k]);
      $across(from, 1, 20, live, some, across);
      CHECK(!__builtin_memcmp(transposed, across, 1024));
      $lines(from, 70, 1, live, some, lines);
      for (int k = 0; k < some; k++) CHECK((($kept *)lines)[(live - 1) * count + k] == ($kept)($one(from[(live - 1) * 70 + k])));
    }
  return 0;
}
`

// TestCopies compiles the C files that pack operands as C of their own, for each size of vectors, and looks at what they copy.
func TestCopies(t *testing.T) {
	testC(t, func(v *vector.Printer, target isa.Target, add func(text, name string, pairs ...string)) {
		for _, d := range []scalar.DType{scalar.Float32, scalar.Float64, scalar.Int8} {
			n := target.Lanes(d.Size())
			x, c, window := v.Of(d, n), v.W.Stored(d), product.Window(v, d, n)
			line := "TAPC_LINE(from, to, n) __builtin_memcpy(to, from, (uint64_t)(n) * sizeof *(to))"
			add(strings.Replace(copiesHarness, "copies_$n", fmt.Sprintf("copies_%v", d), 1), fmt.Sprintf("copies_%v", d), "$n", fmt.Sprint(n), "$type", c,
				"$pack", product.Pack(x), "$squares", product.PackSquares(x), "$rows", product.PackRows(x, min(n, 3)), "$spread", product.Spread(x),
				"$places", product.Places(x, "", "TAPC_KEPT "+c, "TAPC_ONE(x) x", line, product.Transposing(x, n))("tapc_places"),
				"$masked", map[bool]string{true: "1", false: "0"}[vector.HasMasks(d, n)], "$mask", v.W.Type(vector.IntegerOf(d.Size(), true)), "$window_runs", window("tapc_window_runs"),
				"$window_one", window("tapc_window_one"), "$window_two", window("tapc_window_two"), "$window_ahead", window("tapc_window_ahead"), "$window_reach", window("tapc_window_reach"),
				"$window", window("tapc_window"))
		}
		for _, form := range []panels.Blocked{{Form: panels.Lines, From: scalar.Float32}, {Form: panels.Lines, From: scalar.BFloat16}, {Form: panels.Lines, From: scalar.Int8},
			{Form: panels.Lines, From: scalar.UInt8}, {Form: panels.Across, From: scalar.UInt8}} {
			c := &lowprecision.Converter{V: v, Lanes: target.Lanes(4), Form: form}
			kept := "uint16_t"
			if form.IsBytes() {
				kept = "uint8_t"
			}
			name := fmt.Sprintf("%v_%d", form.From, form.Flip())
			add("#define ONE_$name(x) "+c.One("x")+"\n"+convertersHarness, "converts_"+name, "$name", name, "$kept", kept, "$type", v.W.Stored(form.From), "$one", "ONE_"+name, "$lines", c.Lines(), "$line", c.Line(),
				"$places", c.Places()("tapc_places"), "$transposed", c.Transposed(), "$across", c.Across())
		}
	})
}

// lanesHarness looks at what reads and writes some lanes of a vector: at either end of memory beyond which nothing can be read, and with numbers of lanes that compilers know and do not.
const lanesHarness = `
#line 1
static $type *data_$name, *end_$name; // what can be read
TAPC_FN int lanes_of_$name(int live) {
  enum { n = $n };
  if (live < 1 || live > n) __builtin_unreachable();
  $type kept[n + 1];
  $vector v, other;
  for (int i = 0; i < n; i++) other[i] = ($type)(i + 100);
  $type *const p[2] = {data_$name, end_$name - live};
  for (int e = 0; e < 2; e++) {
    v = $load(p[e], live);
    for (int i = 0; i < n; i++) CHECK(v[i] == (i < live ? p[e][i] : 0));
    const $type before = end_$name[-n - 1];
    for (int i = 0; i <= n; i++) kept[i] = p[e][i < live ? i : -e];
    $store(p[e], other, live);
    for (int i = 0; i < live; i++) CHECK(p[e][i] == other[i]);
    for (int i = 0; i < live; i++) p[e][i] = kept[i];
    CHECK(e == 0 || live <= n - 1 || end_$name[-n - 1] == before);
  }
  for (int step = -3; step <= 3; step++) {
    const int span = (live - 1) * step;
    for (int e = 0; e < 2; e++) {
      $type *const q = e == 0 ? data_$name - (span < 0 ? span : 0) : end_$name - 1 - (span > 0 ? span : 0);
      v = $gather(q, step, live);
      for (int i = 0; i < n; i++) CHECK(v[i] == (i < live ? q[i * step] : 0));
      if (step == 0) continue;
      for (int i = 0; i < live; i++) kept[i] = q[i * step];
      $scatter(q, step, other, live);
      for (int i = 0; i < live; i++) CHECK(q[i * step] == other[i]);
      for (int i = 0; i < live; i++) q[i * step] = kept[i];
    }
  }
  for (int low = -1; low < live; low++)
    for (int e = 0; e < 2; e++) {
      const uintptr_t q = e == 0 ? (uintptr_t)data_$name - (uintptr_t)(low > 0 ? low : 0) * sizeof kept[0] : (uintptr_t)p[1];
      v = $part((const $type *)q, low, live, other);
      for (int i = 0; i < n; i++) CHECK(v[i] == (i >= low && i < live ? *(const $type *)(q + (uintptr_t)i * sizeof kept[0]) : other[i]));
    }
  return 0;
}
static int lanes_$name(void) {
  enum { page = 1 << 16, n = $n, no = 0, all = 3 };
  static char memory[4 * page];
  char *const begin = (char *)(((uintptr_t)memory + page - 1) / page * page);
  data_$name = ($type *)(begin + page), end_$name = ($type *)(begin + 2 * page);
  for (int i = 0; i < page / (int)sizeof *data_$name; i++) data_$name[i] = ($type)(i * 37 % 101 + 1);
  CHECK(!mprotect(begin, page, no) && !mprotect(begin + 2 * page, page, no));
  int line = 0;
  for (volatile int live = 1; live <= n && line == 0; live++) line = lanes_of_$name(live);
  if (n <= 8 && line == 0) line = lanes_of_$name(n - n / 4);
  if (n <= 8 && line == 0) line = lanes_of_$name(n / 2);
  CHECK(!mprotect(begin, page, all) && !mprotect(begin + 2 * page, page, all));
  return line;
}
`

// TestSomeLanes compiles the C files that read and write vectors as C of their own, for each size of vectors that may have a type, and looks at what they touch.
func TestSomeLanes(t *testing.T) {
	testC(t, func(v *vector.Printer, target isa.Target, add func(text, name string, pairs ...string)) {
		v.Define("lanes", func() string {
			return "#define CHECK(x) do { if (!(x)) return __LINE__; } while (0)\nint mprotect(void *memory, uint64_t bytes, int allowed);\n"
		})
		for _, d := range []scalar.DType{scalar.Float32, scalar.Float64, scalar.Int32, scalar.BFloat16, scalar.UInt8} {
			for bytes := target.Lanes(1); bytes >= 8 && bytes > d.Size(); bytes /= 2 {
				n := bytes / d.Size()
				x, name := v.Of(d, n), fmt.Sprintf("%s_%d", vector.ElementName(d), n)
				function := func(call string) string { return call[:strings.Index(call, "(")] }
				add(lanesHarness, "lanes_"+name, "$name", name, "$type", v.W.Stored(d), "$vector", v.Type(d, n), "$n", fmt.Sprint(n), "$load", function(x.Load("", "")), "$store", function(x.Store("", "", "")),
					"$gather", function(x.Gather("", "", "")), "$scatter", function(x.Scatter("", "", "", "")), "$part", function(x.Part("", "", "", "")))
			}
		}
	})
}

// testC compiles C with functions of C files, for each size of vectors, and runs the functions that are added, each of which gives the line at which something is wrong, or 0, and may print what
// the machine lacks for it.
// In their texts names stand for others, by pairs. The compiler optimizes as much as it does in programs, where these functions are in kernels that are written out.
func testC(t *testing.T, write func(v *vector.Printer, target isa.Target, add func(text, name string, pairs ...string))) {
	withCompilers(t, nil, func(t *testing.T, cc *toolchain.Compiler, target isa.Target, runner ...string) {
		w := cexpr.NewWriter()
		v := vector.New(w)
		var tests, calls strings.Builder
		write(v, target, func(text, name string, pairs ...string) {
			tests.WriteString(strings.NewReplacer(pairs...).Replace(text))
			fmt.Fprintf(&calls, "  if ((line = %s())) printf(\"line %%d of %s\\n\", line);\n", name, name)
		})
		text := cputest.WithFeatures("#include <stdint.h>\n#include <stdio.h>\n" + cpu.Header[strings.Index(cpu.Header, "#define TAPC_FN"):] + w.Prelude() + v.Prelude() + tests.String() +
			"int main(void) {\n  int line;\n" + calls.String() + "  return 0;\n}\n")
		flags := slices.Concat(cc.Args, toolchain.UsualFlags(), target.Flags, []string{cpu.WrittenFlag, "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"})
		command := append(slices.Clone(runner), cputest.CompileC(t, cc, text, flags...))
		if target.Has != "" && len(runner) == 0 && !cputest.Runs(t, cc, target) {
			return
		}
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "lacks ") {
				t.Log("not tried: the machine ", line)
			} else {
				t.Errorf("wrong: %s", line)
			}
		}
		if err != nil {
			t.Error(err)
		}
	})
}

// withCompilers runs a test of C for each size of vectors of this machine, for more targets, and for those of an emulated AArch64: with gcc and clang by turns, of which each pair of a target and a compiler has one in four.
func withCompilers(t *testing.T, more []isa.Target, test func(t *testing.T, cc *toolchain.Compiler, target isa.Target, runner ...string)) {
	t.Helper()
	runs := testkit.Turns(t, 4)
	each := func(t *testing.T, targets []isa.Target, find func(t *testing.T, name string) (*toolchain.Compiler, []string)) {
		names := []string{"gcc", "clang"}
		for _, target := range targets {
			for _, name := range names {
				if runs() {
					t.Run(target.Name+"/"+name, func(t *testing.T) {
						cc, runner := find(t, name)
						test(t, cc, target, runner...)
					})
				}
			}
			slices.Reverse(names)
		}
	}
	each(t, slices.Concat(cputest.Compiler(t).Machine.Levels, more), func(t *testing.T, name string) (*toolchain.Compiler, []string) {
		return cputest.Compiler(t, name), nil
	})
	t.Run("aarch64", func(t *testing.T) {
		cc, _ := cputest.Cross(t, "gcc")
		each(t, cc.Machine.Levels, func(t *testing.T, name string) (*toolchain.Compiler, []string) {
			cc, tools := cputest.Cross(t, name)
			return cc, tools.Emulator
		})
	})
}

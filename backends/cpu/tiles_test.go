package cpu_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/lowprecision"
	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/ir/scalar"
)

// tilesHarness computes register tiles of small integers, whose sums have the same bits in any order, and gives the line, of its own, of the first sum that is wrong.
const tilesHarness = `
#line 1
enum { $name_n = $n, $name_rows = 3, $name_vectors = 2, $name_all = $name_rows * $name_vectors, $name_most = 1 << 15 };
static $type $name_a[$name_most];
static _Alignas(64) $type $name_w[$name_most];

// Whether s has the sums of the values from one on before another; columns from live on are 0.
static int $name_holds(struct tapc_tile t, const $vector *s, int64_t from, int64_t to, int64_t live) {
  for (int64_t r = 0; r < t.rows; r++)
    for (int64_t x = 0; x < t.vectors * $name_n; x++) {
      int64_t sum = 0;
      for (int64_t k = from; k < to && x < live; k++) sum += (int64_t)$name_a[r * t.row + k * t.left] * (int64_t)$name_w[x / t.panel * t.apart + x % t.panel + k * t.step];
      if (s[r * t.vectors + x / $name_n][x % $name_n] != ($element)sum) return 0;
    }
  return 1;
}

// The sums of some parts of the reduction, one after the other.
#define WHOLE(holds, ...) do {                                                                                              \
    const struct tapc_tile t = {.rows = $name_rows, .vectors = $name_vectors, .area = $name_all, __VA_ARGS__};              \
    $vector s[$name_all], c[$name_all], totals[$name_all], open[3 * $name_all];                                             \
    uintptr_t next = (uintptr_t)$name_a;                                                                                    \
    for (int64_t f = 0; f < t.length; f += t.fold) {                                                                        \
      const int64_t values = t.length - f < t.fold ? t.length - f : t.fold;                                                 \
      $begin(t, f, open, s);                                                                                                \
      $add(t, $name_a + f * t.left, $name_w + f * t.step, f, values, &next, 8, open, c, totals, s);                         \
      CHECK($end(t, f, values, open, s) == (f + values == t.length));                                                       \
    }                                                                                                                       \
    CHECK(holds);                                                                                                           \
  } while (0)
#define CHECK(x) do { if (!(x)) return __LINE__; } while (0)
#define ALL (2 * $name_n)
#define PANELS .row = 501, .left = 1, .step = $name_n, .panel = $name_n, .apart = 600 * $name_n, .aligned = 1, .ahead = 4
#define ROWS .row = 1, .left = 5, .step = 51, .panel = ALL, .apart = ALL

static int $name(void) {
  for (int i = 0; i < $name_most; i++) $name_a[i] = ($type)(i * 7 % 11 - 5), $name_w[i] = ($type)(i * 5 % 13 - 6);
  WHOLE($name_holds(t, s, 0, 500, ALL), PANELS, .steps = 4, .length = 500, .fold = 500, .block = 64, .span = 500);              // partial sums
  WHOLE($name_holds(t, s, 0, 500, ALL), PANELS, .steps = 3, .length = 500, .fold = 500, .block = 64, .span = 256, .next_left = 1); // and sums of these
  WHOLE($name_holds(t, s, 0, 40, ALL), PANELS, .steps = 2, .length = 40, .fold = 40, .block = 64, .span = 40, .next_right = 1);
  WHOLE($name_holds(t, s, 0, 500, ALL), PANELS, .steps = 1, .length = 500, .fold = 128, .block = 64, .span = 256); // in parts of several blocks
  WHOLE($name_holds(t, s, 0, 500, ALL), PANELS, .length = 500, .fold = 128, .block = 64, .span = 500, .lines = 1, .columns = 2);
  WHOLE($name_holds(t, s, 0, 500, ALL), PANELS, .length = 500, .fold = 256, .block = 64, .span = 256); // of a sum of these
  WHOLE($name_holds(t, s, 0, 500, ALL), PANELS, .length = 500, .fold = 64, .block = 64, .span = 256);  // of one
  WHOLE($name_holds(t, s, 0, 500, ALL), PANELS, .length = 500, .fold = 32, .block = 64, .span = 256);  // and less
  WHOLE($name_holds(t, s, 0, 50, ALL), PANELS, .length = 50, .fold = 32, .block = 64, .span = 50);
  WHOLE($name_holds(t, s, 0, 500, ALL), ROWS, .length = 500, .fold = 500, .block = 64, .span = 500);   // factors where they are
  WHOLE($name_holds(t, s, 0, 500, $name_n + 1), ROWS, .rest = 1, .length = 500, .fold = 500, .block = 64, .span = 500);

  // The innermost dimension of the reduction twice, and then sums in rows, and of groups.
  const struct tapc_tile t = {.rows = $name_rows, .vectors = $name_vectors, PANELS, .length = 50, .fold = 50, .block = 64, .span = 50, .runs = 2};
  $vector s[$name_all], c[$name_all], totals[$name_all], groups[3 * $name_all];
  uintptr_t next = 0;
  $begin(t, 0, 0, s);
  for (int run = 0; run < 2; run++) $add(t, $name_a + run * 50, $name_w + run * 50 * $name_n, 0, 50, &next, 0, 0, c, totals, s);
  CHECK($name_holds(t, s, 0, 100, ALL));
  static _Alignas(64) $element rows[$name_rows * 4 * $name_n];
  $put(t, s, rows, 4 * $name_n);
  for (int r = 0; r < $name_rows; r++)
    for (int x = 0; x < ALL; x++) CHECK(rows[r * 4 * $name_n + x] == s[r * 2 + x / $name_n][x % $name_n]);
  const struct tapc_tile joined = {.rows = $name_rows, .vectors = $name_vectors, .area = $name_all, .groups = 3};
  for (int g = 0; g < 3; g++)
    for (int x = 0; x < $name_all; x++) groups[g * $name_all + x] = s[x] * ($element)(g + 1);
  $join(joined, groups, c);
  for (int x = 0; x < $name_all; x++)
    for (int l = 0; l < $name_n; l++) CHECK(c[x][l] == s[x][l] * 6);
  return 0;
}
#undef WHOLE
#undef CHECK
#undef ALL
#undef PANELS
#undef ROWS
`

// TestTiles compiles the C file of register tiles as C of its own, for each size of vectors, and looks at the sums.
func TestTiles(t *testing.T) {
	testC(t, func(v *vector.Printer, target isa.Target, add func(text, name string, pairs ...string)) {
		for _, d := range []struct{ factor, sum scalar.DType }{{scalar.Float32, scalar.Float32}, {scalar.Float64, scalar.Float64}, {scalar.Int32, scalar.UInt32}} {
			n := target.Lanes(d.sum.Size())
			tile, name := product.Tiles(v, d.factor, d.sum, n), fmt.Sprintf("tiles_%v", d.factor)
			add(tilesHarness, name, "$name", name, "$n", fmt.Sprint(n), "$type", v.W.Stored(d.factor), "$element", v.W.Type(d.sum), "$vector", v.Type(d.sum, n), "$begin", tile("tapc_sums_begin"),
				"$add", tile("tapc_sums_add"), "$end", tile("tapc_sums_end"), "$put", tile("tapc_sums_put"), "$join", tile("tapc_sums_join"))
		}
	})
}

// groupsHarness has the numbers of products of groups, and their sums.
const groupsHarness = `
enum { $name_size = $size, $name_group = 4 / $size, $name_most = 1 << 16 };
static _Alignas(64) uint8_t $name_a[$name_most], $name_w[$name_most];

static $element $name_number(const uint8_t *p, int is_signed) {
  (void)is_signed;
#if $size == 1
  return is_signed ? ($element)(int8_t)*p : *p;
#else
  const uint32_t bits = (uint32_t)p[1] << 24 | (uint32_t)p[0] << 16;
  float number;
  __builtin_memcpy(&number, &bits, sizeof number);
  return number;
#endif
}

static void $name_fill(uint8_t *p, int factor) {
  for (int i = 0; i < $name_most; i++) {
#if $size == 1
    p[i] = (uint8_t)(i * factor + i / 251);
#else
    const float number = (float)((i / 2 * factor + i / 502) % 11 - 5);
    uint32_t bits;
    __builtin_memcpy(&bits, &number, sizeof bits);
    p[i] = (uint8_t)(bits >> (i % 2 ? 24 : 16));
#endif
  }
}

// The sum of the values from one on before another, of a row of which so many bytes are neighbours. What a row of the table lacks that moves left bytes is left out.
static $element $name_sum(struct tapc_tile t, int64_t r, int64_t x, int64_t from, int64_t to, int64_t bytes) {
  $element sum = 0;
  for (int64_t k = from; k < (to + $name_group - 1) / $name_group * $name_group; k++) {
    const int64_t at = k * $name_size;
    const $element w = $name_number($name_w + x / 16 * t.panel + k / $name_group * 64 + x % 16 * 4 + at % 4, 1);
    if (k < to) sum += $name_number($name_a + r / 16 * t.half + r % (t.half ? 16 : r + 1) * t.row + at / bytes * 1024 + at % bytes, 0) * w;
    sum -= $moved * w;
  }
  return sum;
}
#define CHECK(x) do { if (!(x)) return __LINE__; } while (0)
#define RUN 4096 // bytes that are neighbours: more than there are
`

// vectorsHarness computes register tiles in vectors of small numbers, and gives the line, of its own, of the first sum that is wrong.
const vectorsHarness = `
#line 1
enum { $name_n = $n, $name_rows = 3, $name_vectors = 16 / $n + 1, $name_all = $name_rows * $name_vectors };

static int $name_holds(struct tapc_tile t, const $vector *s, int64_t to, int64_t bytes) {
  for (int64_t r = 0; r < t.rows; r++)
    for (int64_t x = 0; x < t.vectors * $name_n; x++)
      if (s[r * t.vectors + x / $name_n][x % $name_n] != $name_sum(t, r, x, 0, to, bytes)) return 0;
  return 1;
}

#if $known
// The sums of some blocks at a time.
#define PANELS(at_once, ...) do {                                                              \
    const struct tapc_tile t = {.rows = $name_rows, .vectors = $name_vectors, .panel = 20000, .row = 64, __VA_ARGS__}; \
    static uint32_t open[$name_all * $name_n];                                                 \
    for (int64_t f = 0; f < t.blocks; f += at_once) {                                          \
      $vector c[$name_all], s[$name_all] = {{0}};                                              \
      const int64_t count = t.blocks - f < at_once ? t.blocks - f : at_once;                   \
      $panels(t, $name_a, $name_w, f, count, c, s);                                            \
      CHECK($whole(t, f, count, open, s) == (f + count == t.blocks));                          \
      if (f + count == t.blocks) CHECK($name_holds(t, s, ((t.blocks - 1) * 16 + t.whole) * $name_group, 64)); \
    }                                                                                          \
  } while (0)
// And of neighbours in rows where they are, in several runs.
#define RUNS(runs, ...) do {                                                                   \
    const struct tapc_tile t = {.rows = $name_rows, .vectors = $name_vectors, .panel = 20000, .row = 1002, __VA_ARGS__}; \
    $vector c[$name_all], s[$name_all] = {{0}};                                                \
    $begin(t, c);                                                                              \
    for (int64_t x = 0; x < runs; x++) $run(t, $name_a + x * t.whole * 4, $name_w + x * t.whole * 64, c, s); \
    if ($blocks == 0) $end(t, c, s);                                                           \
    CHECK($name_holds(t, s, runs * t.whole * $name_group + t.some / $name_size, RUN));         \
  } while (0)

$attribute static __attribute__((noinline)) int $name(void) {
  if (!($has)) {
    puts("lacks $feature");
    return 0;
  }
  $name_fill($name_a, 7);
  $name_fill($name_w, 5);
  PANELS(9, .blocks = 9, .whole = 16);
  PANELS(5, .blocks = 5, .whole = 3); // a block that is not whole
  PANELS(2, .blocks = 5, .whole = 16); // in parts
  PANELS(1, .blocks = 3, .whole = 1);
  RUNS(1, .whole = 53);
  RUNS(2, .whole = 53);
  RUNS(1, .whole = 53, .some = 4 - $name_size); // and bytes behind the last group
  RUNS(1, .whole = 96, .some = $name_size);
  RUNS(1, .whole = 0, .some = $name_size);
  return 0;
}
#undef PANELS
#undef RUNS
#else
static int $name(void) {
  puts("lacks a compiler for $feature");
  return 0;
}
#endif
#undef CHECK
#undef RUN
`

// matrixHarness does so with a stand-in for the matrix unit.
const matrixHarness = `
#line 1
static int $name_holds(struct tapc_tile t, const uint32_t *c, int rows, int cols, int64_t to, int64_t bytes) {
  for (int r = 0; r < (rows > 16 ? 32 : 16); r++)
    for (int x = 0; x < (cols > 16 ? 32 : 16); x++) {
      $element sum;
      __builtin_memcpy(&sum, c + r / 16 * 512 + x / 16 * 256 + r % 16 * 16 + x % 16, sizeof sum);
      if (sum != (r < rows || bytes < RUN ? $name_sum(t, r, x, 0, to, bytes) : 0)) return 0; // rows that are not there are not read where they would be
    }
  for (int i = 0; i < 1024; i++) // of tiles that are not there
    if (((i / 512 && rows <= 16) || (i / 256 % 2 && cols <= 16)) && c[i] != 77) return 0;
  return 1;
}

static int $name(void) {
  static _Alignas(64) uint32_t c[1024];
  static const int sizes[][2] = {{32, 32}, {16, 32}, {32, 16}, {5, 3}, {19, 30}};
  $name_fill($name_a, 7);
  $name_fill($name_w, 5);
  tapc_tile_config();
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int rows = sizes[i][0], cols = sizes[i][1], down = rows > 16, across = cols > 16;
    const struct tapc_tile blocks = {.panel = 20000, .row = 64, .half = 10240};
    for (int at_once = 2; at_once < 6; at_once += 3) { // in parts, and all
      for (int x = 0; x < 1024; x++) c[x] = 77;
      for (int f = 0; f < 5; f += at_once) {
        $begin(f, c, down, across);
        $panels(blocks, $name_a, $name_w, f, 5 - f < at_once ? 5 - f : at_once, down, across);
        $end(c, down, across);
      }
      CHECK($name_holds(blocks, c, rows, cols, 5 * 16 * $name_group, 64));
    }
    for (int some = 0; some < 4; some += $name_size)
      for (int whole = 16; whole < 60; whole += 21) {
        const struct tapc_tile t = {.panel = 20000, .row = 302, .half = 16 * 302, .whole = whole, .some = some};
        for (int x = 0; x < 1024; x++) c[x] = 77;
        $begin(0, c, down, across);
        $run(t, $name_a, $name_w, rows, down, across);
        $end(c, down, across);
        CHECK($name_holds(t, c, rows, cols, whole * $name_group + some / $name_size, RUN));
      }
  }
  tapc_tile_release();
  return 0;
}
#undef CHECK
#undef RUN
`

// TestLowPrecisionTiles does so for the C files of register tiles of low precision, for each row of the table of micro-kernels.
func TestLowPrecisionTiles(t *testing.T) {
	header, err := filepath.Abs("lowprecision/testdata/tiles.h")
	if err != nil {
		t.Fatal(err)
	}
	testC(t, func(v *vector.Printer, target isa.Target, add func(text, name string, pairs ...string)) {
		v.Define("tiles.h", func() string { return fmt.Sprintf("#define TAPC_TILES_HEADER %q\n", header) })
		n := target.Lanes(4)
		for _, m := range slices.Concat(micro.For(target, 4), micro.For(target, 2)) {
			sum := m.Sum
			if sum.IsInt() {
				sum = scalar.UInt32
			}
			call, name := lowprecision.Tiles(v, m, sum, n), fmt.Sprintf("%s_%v", m.Name, m.Right)
			harness, word := vectorsHarness, "tapc_"
			if m.Form == micro.MatrixUnit {
				harness, word = matrixHarness, "tapc_matrix_"
			}
			begin, end := call(word+"begin"), call(word+"end")
			if m.Form != micro.MatrixUnit {
				begin, end = call("tapc_groups_begin"), call("tapc_groups_end")
			}
			has := "1"
			if m.Feature != "" {
				has = "tapc_features() & " + m.Feature
			}
			add(groupsHarness+harness, name, "$name", name, "$n", fmt.Sprint(n), "$size", fmt.Sprint(4/m.Group), "$element", v.W.Type(sum), "$vector", v.Type(sum, n), "$known", cmp.Or(m.Known(), "1"),
				"$attribute", m.Attribute(), "$has", has, "$feature", m.Feature, "$moved", map[bool]string{true: "128", false: "0"}[m.Moves()], "$blocks", fmt.Sprint(m.Run()), "$begin", begin, "$end", end,
				"$panels", call(word+"panels"), "$run", call(word+"run"), "$whole", call("tapc_groups_whole"))
		}
	})
}

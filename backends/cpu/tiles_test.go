package cpu_test

import (
	"fmt"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/ir/scalar"
)

// tilesHarness computes register tiles of small integers, whose sums have the same bits in any order, and gives the line, of its own, of the first sum that is wrong.
const tilesHarness = `
#line 1
enum { $name_n = $n, $name_rows = 3, $name_vectors = 2, $name_all = $name_rows * $name_vectors, $name_most = 1 << 15 };
static $type $name_a[$name_most], $name_w[$name_most];

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

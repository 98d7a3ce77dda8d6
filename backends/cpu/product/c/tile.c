// Register tiles: the sums of some rows, each with some vectors of columns. The numbers of a tile are constants where these functions are inlined, so that loops over sums are
// unrolled and the sums c stay in registers while products are added.
//
// A sum of float products is a tree over the reduction (docs/numerics.md): partial sums of block products, sums of span products of these, and the sum of all of those. It does not
// depend on the parts that run at once: a tile goes on with what it finds in open, its innermost sums that are not whole, and behind these in the others.
#define TAPC_EACH(t)                                                                                                                                                               \
  TAPC_UNROLL                                                                                                                                                                      \
  for (int x = 0; x < (t).rows * (t).vectors; x++)

// Adds the products of one value of the reduction to c.
TAPC_FN void TAPC_NAME(tapc_product)(const struct tapc_tile t, const TAPC_STORED *a, const TAPC_STORED *w, uintptr_t *next, uintptr_t step, TAPC_VECTOR *c) {
  TAPC_VECTOR right[32];
  TAPC_UNROLL
  for (int x = 0; x < t.vectors; x++) {
    const TAPC_STORED *p = w + x * TAPC_COUNT / t.panel * t.apart + x * TAPC_COUNT % t.panel;
    if (t.aligned) right[x] = *(const TAPC_VECTOR *)p;
    else right[x] = t.rest && x == t.vectors - 1 ? (TAPC_VECTOR)TAPC_LOAD(p, (int)t.rest) : (TAPC_VECTOR) * (const TAPC_LOOSE *)p;
    if (t.ahead && x * TAPC_COUNT % t.panel == 0) TAPC_FETCH(p, t.ahead * t.step, 0, 3);
  }
  if (t.ahead && !t.aligned && t.step % t.panel) TAPC_FETCH(w, t.ahead * t.step + t.vectors * TAPC_COUNT - 1, 0, 3); // columns begin within a line
  if (t.next_left) TAPC_FETCH((const char *)*next, 0, 0, 3), *next += step;
  if (t.next_right) TAPC_FETCH((const char *)*next, 0, 0, 2), *next += step;
  TAPC_UNROLL
  for (int r = 0; r < t.rows; r++) {
    const TAPC_ELEMENT left = (TAPC_ELEMENT)a[r * t.row];
    TAPC_UNROLL
    for (int x = 0; x < t.vectors; x++) c[r * t.vectors + x] = TAPC_TAKE(c[r * t.vectors + x], left, right[x]);
  }
}

// Adds those of some values. The pragma takes no number of a macro or a struct.
TAPC_FN void TAPC_NAME(tapc_products)(const struct tapc_tile t, const TAPC_STORED *a, const TAPC_STORED *w, int64_t values, uintptr_t *next, uintptr_t step, TAPC_VECTOR *c) {
#define TAPC_EACH_VALUE                                                                                                                                                            \
  for (int64_t k = 0; k < values; k++, a += t.left, w += t.step) TAPC_NAME(tapc_product)(t, a, w, next, step, c)
  if (t.steps == 4) {
#pragma GCC unroll 4
    TAPC_EACH_VALUE;
  } else if (t.steps == 3) {
#pragma GCC unroll 3
    TAPC_EACH_VALUE;
  } else if (t.steps == 2) {
#pragma GCC unroll 2
    TAPC_EACH_VALUE;
  } else if (t.steps == 1) {
#pragma GCC unroll 1
    TAPC_EACH_VALUE;
  } else TAPC_EACH_VALUE;
#undef TAPC_EACH_VALUE
}

// Adds the sums s to c. All of them are read before any is written: if there are more than registers, compilers would read one, write one and read the next, which takes
// processors up to a tenth longer in all.
TAPC_FN void TAPC_NAME(tapc_sums_read)(const struct tapc_tile t, TAPC_VECTOR *s, TAPC_VECTOR *c) {
  if (!t.resident) TAPC_BARRIER(*(TAPC_VECTOR(*)[t.rows * t.vectors]) s);
  TAPC_EACH(t) c[x] += s[x];
  if (!t.resident) TAPC_BARRIER(*(TAPC_VECTOR(*)[t.rows * t.vectors]) s);
}

// Begins the sums s with those of the parts of the reduction before f, unless the products themselves go on.
TAPC_FN void TAPC_NAME(tapc_sums_begin)(const struct tapc_tile t, int64_t f, const TAPC_VECTOR *open, TAPC_VECTOR *s) {
  const int goes_on = t.fold >= t.block && f % t.span != 0;
  TAPC_EACH(t) s[x] = goes_on ? open[x] : (TAPC_VECTOR){0};
}

// Adds the products of the innermost dimension of the reduction from f on to s, block by block.
TAPC_FN void TAPC_NAME(tapc_sums_add)(const struct tapc_tile t, const TAPC_STORED *a, const TAPC_STORED *w, int64_t f, int64_t values, uintptr_t *next, uintptr_t step,
  const TAPC_VECTOR *open, TAPC_VECTOR *c, TAPC_VECTOR *totals, TAPC_VECTOR *s) {
  const int spans = t.fold == t.length && t.length > t.span, several = t.fold > t.block || t.runs > 1 || (t.fold < t.length && t.fold == t.block);
  if (spans) TAPC_EACH(t) totals[x] = (TAPC_VECTOR){0};
  for (int64_t k = 0; k < values; k += t.block) {
    const int64_t here = values - k < t.block ? values - k : t.block;
    for (int64_t x = 0; x < t.columns; x++)
      for (int64_t line = 0; line < t.lines; line++) TAPC_FETCH((const char *)*next, x * t.apart * (int64_t)sizeof *w + line * 64, 0, 2);
    *next += (uintptr_t)(t.lines * 64);
    TAPC_EACH(t) c[x] = (TAPC_VECTOR){0};
    if (t.fold < t.block && f % t.block != 0) {
      TAPC_EACH(t) c[x] = open[x];
    }
    TAPC_NAME(tapc_products)(t, a + k * t.left, w + k * t.step, here, next, step, c);
    if (several) TAPC_NAME(tapc_sums_read)(t, s, c);
    TAPC_EACH(t) s[x] = c[x];
    if (spans && (k + t.block) % t.span == 0) TAPC_EACH(t) totals[x] += s[x], s[x] = (TAPC_VECTOR){0};
    if (t.fold <= t.block) break;
  }
  if (spans) TAPC_EACH(t) s[x] = totals[x] + s[x];
}

// Says whether the sums are whole after some values from f on; those that are not are kept.
TAPC_FN int TAPC_NAME(tapc_sums_end)(const struct tapc_tile t, int64_t f, int64_t values, TAPC_VECTOR *open, TAPC_VECTOR *s) {
  const int64_t end = f + values;
  TAPC_VECTOR *sums = open, *keep = 0;
  if (t.fold < t.block && end < t.length && end % t.block != 0) keep = open;
  else {
    if (t.fold < t.block && t.length > t.block) {
      sums = open + t.area;
      if (f % t.span >= t.block) TAPC_EACH(t) s[x] = sums[x] + s[x];
    }
    if (end < t.length && end % t.span != 0) keep = sums;
    else if (!t.groups) {
      if (f >= t.span) TAPC_EACH(t) s[x] = sums[t.area + x] + s[x];
      if (end < t.length) keep = sums + t.area;
    }
  }
  if (keep) TAPC_EACH(t) keep[x] = s[x];
  return !keep;
}

// Puts the sums into rows of elements that are across apart.
TAPC_FN void TAPC_NAME(tapc_sums_put)(const struct tapc_tile t, const TAPC_VECTOR *s, TAPC_ELEMENT *open, int64_t across) {
  TAPC_UNROLL
  for (int r = 0; r < t.rows; r++) {
    TAPC_UNROLL
    for (int x = 0; x < t.vectors; x++) *(TAPC_VECTOR *)(open + r * across + x * TAPC_COUNT) = s[r * t.vectors + x];
  }
}

// Adds the sums of groups, in their order.
TAPC_FN void TAPC_NAME(tapc_sums_join)(const struct tapc_tile t, const TAPC_VECTOR *group, TAPC_VECTOR *s) {
  TAPC_EACH(t) s[x] = group[x];
  for (int64_t g = 1; g < t.groups; g++) TAPC_EACH(t) s[x] = s[x] + group[g * t.area + x];
}
#undef TAPC_EACH

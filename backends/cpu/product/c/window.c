// What packs panels of columns that a window slides over, as they do not stand evenly: columns begin at some distances, and live has the masks of those that are there, for each
// state of the guard. Elements that are not there need not exist, so their addresses are numbers.
#define TAPC_AT(p, n) ((uintptr_t)(p) + (uintptr_t)(n) * sizeof *(p))

// Finds out whether the columns of a vector are one run of neighbours, or two, as where a row of an image ends: how many, and how far their first lanes would be. For these, lanes
// has a bit for each column that is there, of the first runs for all states, then of the second.
TAPC_FN void TAPC_NAME(tapc_window_runs)(const int64_t *at, const TAPC_MASK *live, int64_t states, int64_t *runs, uint32_t *lanes) {
  runs[0] = runs[1] = runs[2] = 0;
#if defined(__AVX512F__) && TAPC_COUNT <= 16
  int cut = TAPC_COUNT, several = 0; // where the second begins, and whether there are more
  for (int l = 1; l < TAPC_COUNT; l++)
    if (at[l] != at[l - 1] + 1) several |= cut < TAPC_COUNT, cut = cut < TAPC_COUNT ? cut : l;
  if (several) return;
  runs[0] = cut < TAPC_COUNT ? 2 : 1;
  runs[1] = at[0];
  runs[2] = cut < TAPC_COUNT ? at[cut] - cut : at[0];
  for (int64_t g = 0; g < states; g++) {
    uint32_t all = 0;
    for (int l = 0; l < TAPC_COUNT; l++) all |= (live[g * TAPC_COUNT + l] != 0 ? 1u : 0u) << l;
    lanes[g] = all & ((1u << cut) - 1);
    lanes[states + g] = all & ~((1u << cut) - 1);
  }
#else
  (void)at, (void)live, (void)states, (void)lanes;
#endif
}

// Packs a vector of columns that are one run.
TAPC_FN void TAPC_NAME(tapc_window_one)(const TAPC_ELEMENT *from, const int64_t *runs, const uint32_t *lanes, const TAPC_ELEMENT *fill, TAPC_ELEMENT *to) {
  *(TAPC_VECTOR *)to = TAPC_SOME(TAPC_AT(from, runs[1]), TAPC_SPLAT(*fill), lanes[0]);
}

// Packs one of columns that are two.
TAPC_FN void TAPC_NAME(tapc_window_two)(const TAPC_ELEMENT *from, const int64_t *runs, const uint32_t *lanes, int64_t states, const TAPC_ELEMENT *fill, TAPC_ELEMENT *to) {
  *(TAPC_VECTOR *)to = TAPC_SOME(TAPC_AT(from, runs[2]), TAPC_SOME(TAPC_AT(from, runs[1]), TAPC_SPLAT(*fill), lanes[0]), lanes[states]);
}

// Asks for the memory of some rows of the window, a step apart.
TAPC_FN void TAPC_NAME(tapc_window_ahead)(const TAPC_ELEMENT *from, const int64_t *at, int64_t ahead, int64_t rows, int64_t step) {
  for (int64_t r = 0; r < rows; r++) TAPC_FETCH(from, at[0] + ahead + r * step, 0, 3);
}

// Finds out whether all columns are a step apart, and which are the first and the last in memory.
TAPC_FN void TAPC_NAME(tapc_window_reach)(const int64_t *at, int64_t step, int64_t width, int64_t *reach) {
  int64_t even = 1, low = at[0], high = at[0];
  for (int64_t l = 1; l < width; l++) {
    even &= at[l] == at[0] + l * step;
    low = at[l] < low ? at[l] : low;
    high = at[l] > high ? at[l] : high;
  }
  reach[0] = even, reach[1] = low, reach[2] = high;
}

// Packs columns for one value of the reduction: vector by vector where they are evenly apart and all of them exist, else one by one. Their first element has a number in an operand
// of some elements.
TAPC_FN void TAPC_NAME(tapc_window)(const TAPC_ELEMENT *from, int64_t first, int64_t elements, const int64_t *at, const int64_t *reach, int64_t step, int64_t guarded,
  const TAPC_MASK *live, const TAPC_ELEMENT *fill, int64_t ahead, TAPC_ELEMENT *to, int64_t width) {
  if (reach[0] && (!guarded || (first + reach[1] >= 0 && first + reach[2] < elements))) {
    if (ahead != 0) TAPC_FETCH(from, at[0] + ahead, 0, 3);
    for (int64_t x = 0; x < width; x += TAPC_COUNT) {
      const TAPC_ELEMENT *p = (const TAPC_ELEMENT *)TAPC_AT(from, at[0] + x * step);
      const TAPC_VECTOR all = step == 1 ? TAPC_LOAD(p, TAPC_COUNT) : TAPC_GATHER(p, step, TAPC_COUNT);
      *(TAPC_VECTOR *)(to + x) = guarded ? TAPC_PICK(live + x, all, TAPC_SPLAT(*fill)) : all;
    }
    return;
  }
  for (int64_t l = 0; l < width; l++) to[l] = !guarded || live[l] ? *(const TAPC_ELEMENT *)TAPC_AT(from, at[l]) : *fill;
}
#undef TAPC_AT

// The transformations of F(2x2, 3x3) and F(4x4, 3x3), in the channels of a vector; panels.WinogradForms has their matrices. Lines of four have no x4 and x5.
typedef struct tapc_line {
  tapc_singles x0, x1, x2, x3, x4, x5;
} tapc_line;

TAPC_FN tapc_line tapc_four(tapc_singles x0, tapc_singles x1, tapc_singles x2, tapc_singles x3) { return (tapc_line){.x0 = x0, .x1 = x1, .x2 = x2, .x3 = x3}; }

// A row or a column of an image.
TAPC_FN tapc_line tapc_image_line_2(tapc_line d) { return tapc_four(d.x2 - d.x0, d.x2 + d.x1, d.x2 - d.x1, d.x3 - d.x1); }

TAPC_FN tapc_line tapc_image_line_4(tapc_line d) {
  const tapc_singles a = d.x4 - 2.25f * d.x2, b = d.x3 - 2.25f * d.x1;
  const tapc_singles c = d.x4 - 0.390625f * d.x2, e = d.x3 - 0.390625f * d.x1;
  return (tapc_line){0.87890625f * d.x0 + d.x4 - 2.640625f * d.x2, a + 0.625f * b, a - 0.625f * b, c + 1.5f * e, c - 1.5f * e, 0.87890625f * d.x1 + d.x5 - 2.640625f * d.x3};
}

// A row or a column of sums.
TAPC_FN tapc_line tapc_sums_line_2(tapc_line s) {
  const tapc_singles a = s.x1 + s.x2, b = s.x1 - s.x2;
  return (tapc_line){.x0 = s.x0 + a, .x1 = b + s.x3};
}

TAPC_FN tapc_line tapc_sums_line_4(tapc_line s) {
  const tapc_singles a = s.x1 + s.x2, b = s.x1 - s.x2, c = s.x3 + s.x4, d = s.x3 - s.x4;
  return tapc_four(s.x0 + a + c, 0.625f * b + 1.5f * d, 0.390625f * a + 2.25f * c, 0.244140625f * b + 3.375f * d + s.x5);
}

// Columns of which the elements are apart, and the rows of four or six columns that were transformed.
#define TAPC_COLUMN_2(p) tapc_four(TAPC_LOAD(p, n), TAPC_LOAD((p) + down, n), TAPC_LOAD((p) + 2 * down, n), TAPC_LOAD((p) + 3 * down, n))
#define TAPC_COLUMN_4(p)                                                                                                                                                           \
  (tapc_line) { TAPC_LOAD(p, n), TAPC_LOAD((p) + down, n), TAPC_LOAD((p) + 2 * down, n), TAPC_LOAD((p) + 3 * down, n), TAPC_LOAD((p) + 4 * down, n), TAPC_LOAD((p) + 5 * down, n) }
#define TAPC_ROW_2(x) tapc_four(a.x, b.x, c.x, d.x)
#define TAPC_ROW_4(x)                                                                                                                                                              \
  (tapc_line) { a.x, b.x, c.x, d.x, e.x, f.x }

TAPC_FN void tapc_keep_four(float *restrict to, int64_t apart, tapc_line u) {
  *(tapc_singles *)to = u.x0;
  *(tapc_singles *)(to + apart) = u.x1;
  *(tapc_singles *)(to + 2 * apart) = u.x2;
  *(tapc_singles *)(to + 3 * apart) = u.x3;
}

TAPC_FN void tapc_keep_six(float *restrict to, int64_t apart, tapc_line u) {
  tapc_keep_four(to, apart, u);
  *(tapc_singles *)(to + 4 * apart) = u.x4;
  *(tapc_singles *)(to + 5 * apart) = u.x5;
}

// The points of a tile in some channels. Its elements are down and across apart, and its points apart.
TAPC_FN void tapc_points_2(const float *from, int64_t down, int64_t across, float *restrict to, int64_t apart, int n) {
  const tapc_line a = tapc_image_line_2(TAPC_COLUMN_2(from)), b = tapc_image_line_2(TAPC_COLUMN_2(from + across));
  const tapc_line c = tapc_image_line_2(TAPC_COLUMN_2(from + 2 * across)), d = tapc_image_line_2(TAPC_COLUMN_2(from + 3 * across));
  tapc_keep_four(to, apart, tapc_image_line_2(TAPC_ROW_2(x0)));
  tapc_keep_four(to + 4 * apart, apart, tapc_image_line_2(TAPC_ROW_2(x1)));
  tapc_keep_four(to + 8 * apart, apart, tapc_image_line_2(TAPC_ROW_2(x2)));
  tapc_keep_four(to + 12 * apart, apart, tapc_image_line_2(TAPC_ROW_2(x3)));
}

TAPC_FN void tapc_points_4(const float *from, int64_t down, int64_t across, float *restrict to, int64_t apart, int n) {
  const tapc_line a = tapc_image_line_4(TAPC_COLUMN_4(from)), b = tapc_image_line_4(TAPC_COLUMN_4(from + across));
  const tapc_line c = tapc_image_line_4(TAPC_COLUMN_4(from + 2 * across)), d = tapc_image_line_4(TAPC_COLUMN_4(from + 3 * across));
  const tapc_line e = tapc_image_line_4(TAPC_COLUMN_4(from + 4 * across)), f = tapc_image_line_4(TAPC_COLUMN_4(from + 5 * across));
  tapc_keep_six(to, apart, tapc_image_line_4(TAPC_ROW_4(x0)));
  tapc_keep_six(to + 6 * apart, apart, tapc_image_line_4(TAPC_ROW_4(x1)));
  tapc_keep_six(to + 12 * apart, apart, tapc_image_line_4(TAPC_ROW_4(x2)));
  tapc_keep_six(to + 18 * apart, apart, tapc_image_line_4(TAPC_ROW_4(x3)));
  tapc_keep_six(to + 24 * apart, apart, tapc_image_line_4(TAPC_ROW_4(x4)));
  tapc_keep_six(to + 30 * apart, apart, tapc_image_line_4(TAPC_ROW_4(x5)));
}

// The same in all channels.
TAPC_FN void tapc_image_2(const float *from, int64_t down, int64_t across, float *restrict to, int64_t apart, int64_t channels) {
  const int64_t rest = channels % TAPC_LANES;
  for (int64_t c = 0; c < channels - rest; c += TAPC_LANES) tapc_points_2(from + c, down, across, to + c, apart, TAPC_LANES);
  if (rest > 0) tapc_points_2(from + channels - rest, down, across, to + channels - rest, apart, (int)rest);
}

TAPC_FN void tapc_image_4(const float *from, int64_t down, int64_t across, float *restrict to, int64_t apart, int64_t channels) {
  const int64_t rest = channels % TAPC_LANES;
  for (int64_t c = 0; c < channels - rest; c += TAPC_LANES) tapc_points_4(from + c, down, across, to + c, apart, TAPC_LANES);
  if (rest > 0) tapc_points_4(from + channels - rest, down, across, to + channels - rest, apart, (int)rest);
}

// The results of a tile of sums in some channels. Points are apart; rows of results are line vectors apart.
TAPC_FN void tapc_results_2(const float *from, int64_t apart, tapc_singles *restrict to, int64_t line) {
  const int64_t down = 4 * apart;
  const int n = TAPC_LANES;
  const tapc_line a = tapc_sums_line_2(TAPC_COLUMN_2(from)), b = tapc_sums_line_2(TAPC_COLUMN_2(from + apart));
  const tapc_line c = tapc_sums_line_2(TAPC_COLUMN_2(from + 2 * apart)), d = tapc_sums_line_2(TAPC_COLUMN_2(from + 3 * apart));
  const tapc_line first = tapc_sums_line_2(TAPC_ROW_2(x0)), second = tapc_sums_line_2(TAPC_ROW_2(x1));
  to[0] = first.x0, to[1] = first.x1;
  to[line] = second.x0, to[line + 1] = second.x1;
}

TAPC_FN void tapc_results_4(const float *from, int64_t apart, tapc_singles *restrict to, int64_t line) {
  const int64_t down = 6 * apart;
  const int n = TAPC_LANES;
  const tapc_line a = tapc_sums_line_4(TAPC_COLUMN_4(from)), b = tapc_sums_line_4(TAPC_COLUMN_4(from + apart));
  const tapc_line c = tapc_sums_line_4(TAPC_COLUMN_4(from + 2 * apart)), d = tapc_sums_line_4(TAPC_COLUMN_4(from + 3 * apart));
  const tapc_line e = tapc_sums_line_4(TAPC_COLUMN_4(from + 4 * apart)), f = tapc_sums_line_4(TAPC_COLUMN_4(from + 5 * apart));
  tapc_keep_four((float *)to, TAPC_LANES, tapc_sums_line_4(TAPC_ROW_4(x0)));
  tapc_keep_four((float *)(to + line), TAPC_LANES, tapc_sums_line_4(TAPC_ROW_4(x1)));
  tapc_keep_four((float *)(to + 2 * line), TAPC_LANES, tapc_sums_line_4(TAPC_ROW_4(x2)));
  tapc_keep_four((float *)(to + 3 * line), TAPC_LANES, tapc_sums_line_4(TAPC_ROW_4(x3)));
}

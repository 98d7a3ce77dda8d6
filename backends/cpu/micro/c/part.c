// A part of a product of narrow numbers: some rows and columns, which are packed at once.
typedef struct tapc_narrow_part {
  void *const *b;
  int64_t row, rows, column, columns;
} tapc_narrow_part;

// Transposes a block: 16 by 16 groups of four bytes.
TAPC_FN void TAPC_NAME(tapc_transpose_block)(const void *block, void *transposed) {
  const TAPC_ELEMENT *from = block;
  TAPC_ELEMENT *to = transposed;
  for (int y = 0; y < 16; y += TAPC_COUNT)
    for (int x = 0; x < 16; x += TAPC_COUNT) TAPC_TRANSPOSE(from + y * 16 + x, 16, to + x * 16 + y, 16);
}

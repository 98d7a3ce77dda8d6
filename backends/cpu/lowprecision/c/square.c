// Transposes 16 by 16 elements and changes them to what the instructions take.
TAPC_FN void TAPC_NAME(tapc_image_square)(const TAPC_ELEMENT *from, int64_t step, TAPC_KEPT *to, int64_t apart) {
  TAPC_KEPT square[256];
  for (int v = 0; v < 16; v++) TAPC_NAME(tapc_image_line)(from + v * step, square + v * 16, 16);
  TAPC_TRANSPOSE(square, 16, to, apart);
}

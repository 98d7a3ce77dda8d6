#if TAPC_BYTES == 64 && defined(__AVX512F__) && defined(__clang__)
#define TAPC_EXTREME(which, sign) TAPC_X86(which, 512)(a, b, 4)
#elif TAPC_BYTES == 64 && defined(__AVX512F__)
#define TAPC_EXTREME(which, sign) TAPC_X86(which, 512_mask)(a, b, a, -1, 4)
#elif TAPC_BYTES == 32 && defined(__AVX__)
#define TAPC_EXTREME(which, sign) TAPC_X86(which, 256)(a, b)
#elif TAPC_BYTES == 16 && defined(__SSE2__)
#define TAPC_EXTREME(which, sign) TAPC_X86(which, )(a, b)
#else
#define TAPC_EXTREME(which, sign) TAPC_NAME(tapc_pick)(a sign b, a, b)
#endif
// a where it is greater than b, or less, else b, which processors have an instruction for.
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_greater)(TAPC_VECTOR a, TAPC_VECTOR b) { return TAPC_EXTREME(max, >); }
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_less)(TAPC_VECTOR a, TAPC_VECTOR b) { return TAPC_EXTREME(min, <); }

// The greatest and least of two: NaN if either is NaN, and of equal values the second.
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_max)(TAPC_VECTOR a, TAPC_VECTOR b) { return TAPC_NAME(tapc_pick)(a != a, a, TAPC_NAME(tapc_greater)(a, b)); }
TAPC_FN TAPC_VECTOR TAPC_NAME(tapc_min)(TAPC_VECTOR a, TAPC_VECTOR b) { return TAPC_NAME(tapc_pick)(a != a, a, TAPC_NAME(tapc_less)(a, b)); }
#undef TAPC_EXTREME

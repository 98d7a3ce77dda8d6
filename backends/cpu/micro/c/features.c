// What compilers and processors know of instructions for narrow numbers. TAPC_FEATURES and TAPC_TILES can be given to the compiler, for
// tests.
#ifndef TAPC_FEATURES
#define TAPC_FEATURES tapc_features()
#endif
#if defined(__x86_64__) && (defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 11)
#define TAPC_X86_DOT 1
#endif
// Clang takes an instruction in a function that is for processors which have it, GCC wherever its assembler is told of one.
#if defined(__aarch64__) && defined(__clang__) && __clang_major__ >= 12
#define TAPC_ARM_DOT 1
#define TAPC_ARM_ARCH
#define TAPC_TARGET(feature) __attribute__((target(feature)))
#elif defined(__aarch64__) && !defined(__clang__) && __GNUC__ >= 10
#define TAPC_ARM_DOT 1
#define TAPC_ARM_ARCH ".arch armv8.6-a+crypto+fp16+sve2\n\t"
#define TAPC_TARGET(feature)
#endif

// Tensor cores and asynchronous copies: the functions of tapc_device.cuh, for which a device has no
// C++ but only PTX. The layouts of fragments over lanes are those of the PTX manual, section
// "Warp Level Matrix Instructions"; so a kernel that spreads its operands wrongly is wrong here too.
#ifndef TAPC_EMU_TENSOR_H
#define TAPC_EMU_TENSOR_H

#include "block.h"
#include "half.h"
#include "warp.h"

namespace tapc_emu {

// The registers of one lane: A and B as 32-bit words, C and D as floats.
struct Fragments {
  const unsigned *a, *b;
  const float* c;
  float* d;
};

// One of the two 16-bit values of a word.
template <class F>
inline double half_of(unsigned word, unsigned i) { return decode<F>(static_cast<uint16_t>(word >> (16 * i))); }

// A tensor core reads the upper 19 bits of a float.
inline double tf32_of(unsigned word) { return bits<float>(word & 0xffffe000u); }

// Element (row, k) of the 16 x 16 operand A, and (k, column) of the 16 x 8 operand B, of 16-bit values.
template <class F>
struct Mma16 {
  static constexpr unsigned depth = 16;
  TAPC_EMU_RAW static double a(void* const* posts, unsigned row, unsigned k) {
    const unsigned lane = row % 8 * 4 + k % 8 / 2, word = row / 8 + k / 8 * 2;
    return half_of<F>(static_cast<Fragments*>(posts[lane])->a[word], k % 2);
  }
  TAPC_EMU_RAW static double b(void* const* posts, unsigned k, unsigned column) {
    const unsigned lane = column * 4 + k % 8 / 2;
    return half_of<F>(static_cast<Fragments*>(posts[lane])->b[k / 8], k % 2);
  }
};

// The same for 16 x 8 and 8 x 8 operands of TF32.
struct MmaTf32 {
  static constexpr unsigned depth = 8;
  TAPC_EMU_RAW static double a(void* const* posts, unsigned row, unsigned k) {
    return tf32_of(static_cast<Fragments*>(posts[row % 8 * 4 + k % 4])->a[row / 8 + k / 4 * 2]);
  }
  TAPC_EMU_RAW static double b(void* const* posts, unsigned k, unsigned column) {
    return tf32_of(static_cast<Fragments*>(posts[column * 4 + k % 4])->b[k / 4]);
  }
};

// D = A B + C for the 16 x 8 result: products are exact, and their sum is rounded once.
template <class Operands>
TAPC_EMU_RAW inline void exchange_mma(void* const* posts, unsigned mask) {
  if (mask != 0xffffffffu) fail("mma needs all 32 lanes of the warp");
  float result[16][8];
  for (unsigned i = 0; i < 16 * 8; i++) {
    const unsigned row = i / 8, column = i % 8;
    double sum = static_cast<Fragments*>(posts[row % 8 * 4 + column / 2])->c[row / 8 * 2 + column % 2];
    for (unsigned k = 0; k < Operands::depth; k++) sum += Operands::a(posts, row, k) * Operands::b(posts, k, column);
    result[row][column] = static_cast<float>(sum);
  }
  for (unsigned i = 0; i < 16 * 8; i++) {
    const unsigned row = i / 8, column = i % 8;
    static_cast<Fragments*>(posts[row % 8 * 4 + column / 2])->d[row / 8 * 2 + column % 2] = result[row][column];
  }
}

template <class Operands>
TAPC_EMU_RAW inline void mma(float* d, const unsigned* a, const unsigned* b, const float* c, const char* what, int line) {
  Fragments post{a, b, c, d};
  meet(0xffffffffu, exchange_mma<Operands>, &post, what, line);
}

struct MatrixLoad {
  const void* row;  // 16 bytes of shared memory
  unsigned* words;
};

// Word i of a lane gets two neighbours of row lane/4 of matrix i, whose rows lanes 8i to 8i+7 point to;
// or, transposed, of column lane/4.
template <unsigned Count, bool Transposed>
TAPC_EMU_RAW inline void exchange_ldmatrix(void* const* posts, unsigned mask) {
  if (mask != 0xffffffffu) fail("ldmatrix needs all 32 lanes of the warp");
  for (unsigned at = 0; at < Count * warp_size; at++) {
    const unsigned matrix = at / warp_size, lane = at % warp_size, pair = lane % 4 * 2;
    uint16_t value[2];
    for (unsigned i = 0; i < 2; i++) {
      const unsigned row = Transposed ? pair + i : lane / 4, column = Transposed ? lane / 4 : pair + i;
      value[i] = static_cast<const uint16_t*>(static_cast<MatrixLoad*>(posts[matrix * 8 + row])->row)[column];
    }
    static_cast<MatrixLoad*>(posts[lane])->words[matrix] = value[0] | static_cast<unsigned>(value[1]) << 16;
  }
}

template <unsigned Count, bool Transposed>
TAPC_EMU_RAW inline void ldmatrix(unsigned* words, const void* row, const char* what, int line) {
  const bool asked = lane_id() < Count * 8;  // the addresses of the other lanes are not looked at
  if (asked && reinterpret_cast<uintptr_t>(row) % 16 != 0) fail(format("%s in line %d: the row is not aligned to 16 bytes", what, line));
  MatrixLoad post{row, words};
  meet(0xffffffffu, exchange_ldmatrix<Count, Transposed>, &post, what, line);
}

// An asynchronous copy that has been asked for and not been waited for.
struct Copy {
  char* to;
  const char* from;
  unsigned bytes, taken;  // what lies beyond taken is zero
};

constexpr unsigned max_copies = 256;

// The copies of one thread, oldest first; those of the group that is not committed yet come last.
struct Copies {
  Copy list[max_copies];
  unsigned group[max_copies];
  unsigned count = 0, groups = 0;
};
inline Copies copies[max_block_threads];

inline void perform(const Copy& c) {
  memcpy(c.to, c.from, c.taken);
  memset(c.to + c.taken, 0, c.bytes - c.taken);
}

// A copy may happen at any time up to its wait: here at the last moment, or, under a seed, for some at
// the first.
TAPC_EMU_RAW inline void begin_copy(void* to, const void* from, unsigned bytes, unsigned taken, const char* what, int line) {
  Copies& mine = copies[state.current->linear];
  if (reinterpret_cast<uintptr_t>(to) % bytes != 0 || reinterpret_cast<uintptr_t>(from) % bytes != 0) {
    fail(format("%s in line %d: an address is not aligned to %u bytes", what, line, bytes));
  }
  if (mine.count == max_copies) fail(format("%s in line %d: more than %u copies are under way", what, line, max_copies));
  const Copy copy{static_cast<char*>(to), static_cast<const char*>(from), bytes, std::min(taken, bytes)};
  if (state.settings.seed != 0 && next_random() % 2 == 0) return perform(copy);
  mine.list[mine.count] = copy;
  mine.group[mine.count++] = mine.groups;
}

TAPC_EMU_RAW inline void commit_copies() { copies[state.current->linear].groups++; }

// Waits for all groups of the thread but the last pending ones, or for all copies.
TAPC_EMU_RAW inline void wait_copies(unsigned pending, bool all) {
  Copies& mine = copies[state.current->linear];
  unsigned done = 0;
  while (done < mine.count && (all || mine.group[done] + pending < mine.groups)) perform(mine.list[done++]);
  for (unsigned i = done; i < mine.count; i++) mine.list[i - done] = mine.list[i], mine.group[i - done] = mine.group[i];
  mine.count -= done;
}

inline void finish_copies() { wait_copies(0, true); }
TAPC_EMU_RAW inline void forget_copies(const Thread& t) { copies[t.linear].count = copies[t.linear].groups = 0; }

}  // namespace tapc_emu

#define TAPC_EMU_MMA(NAME, OPERANDS)                                                                                 \
  inline void NAME(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], const float (&c)[4], int line = __builtin_LINE()) { \
    tapc_emu::mma<OPERANDS>(d, a, b, c, #NAME, line);                                                                \
  }
TAPC_EMU_MMA(tapc_mma_m16n8k16_f16, tapc_emu::Mma16<tapc_emu::Half>)
TAPC_EMU_MMA(tapc_mma_m16n8k16_bf16, tapc_emu::Mma16<tapc_emu::Brain>)
TAPC_EMU_MMA(tapc_mma_m16n8k8_tf32, tapc_emu::MmaTf32)
#undef TAPC_EMU_MMA

#define TAPC_EMU_LDMATRIX(NAME, COUNT, TRANSPOSED)                                                    \
  inline void NAME(unsigned (&words)[COUNT], const void* row, int line = __builtin_LINE()) {          \
    tapc_emu::ldmatrix<COUNT, TRANSPOSED>(words, row, #NAME, line);                                   \
  }
TAPC_EMU_LDMATRIX(tapc_ldmatrix_x2, 2, false)
TAPC_EMU_LDMATRIX(tapc_ldmatrix_x4, 4, false)
TAPC_EMU_LDMATRIX(tapc_ldmatrix_x2_trans, 2, true)
TAPC_EMU_LDMATRIX(tapc_ldmatrix_x4_trans, 4, true)
#undef TAPC_EMU_LDMATRIX

inline unsigned tapc_to_tf32(float v) { return (tapc_emu::bits<unsigned>(v) + 0x1000u) & 0xffffe000u; }

inline void tapc_cp_async_16(void* to, const void* from, unsigned taken = 16, int line = __builtin_LINE()) {
  tapc_emu::begin_copy(to, from, 16, taken, "tapc_cp_async_16", line);
}
inline void tapc_cp_async_8(void* to, const void* from, unsigned taken = 8, int line = __builtin_LINE()) {
  tapc_emu::begin_copy(to, from, 8, taken, "tapc_cp_async_8", line);
}
inline void tapc_cp_async_4(void* to, const void* from, unsigned taken = 4, int line = __builtin_LINE()) {
  tapc_emu::begin_copy(to, from, 4, taken, "tapc_cp_async_4", line);
}
inline void tapc_cp_async_commit() { tapc_emu::commit_copies(); }
template <int Pending>
inline void tapc_cp_async_wait() { tapc_emu::wait_copies(Pending, false); }
inline void tapc_cp_async_wait_all() { tapc_emu::wait_copies(0, true); }

#endif

// The part of cooperative_groups that lies inside a block: thread blocks, tiles of a warp, reductions.
#ifndef TAPC_EMU_GROUPS_H
#define TAPC_EMU_GROUPS_H

#include "warp.h"

namespace cooperative_groups {

class thread_block {
 public:
  void sync(int line = __builtin_LINE()) const { tapc_emu::barrier(0, "thread_block::sync", line); }
  unsigned thread_rank() const { return tapc_emu::state.current->linear; }
  unsigned num_threads() const { return tapc_emu::state.count; }
  unsigned size() const { return num_threads(); }
  uint3 thread_index() const { return tapc_emu::state.current->index; }
  uint3 group_index() const { return tapc_emu::state.block_index; }
  dim3 group_dim() const { return tapc_emu::state.block_dim; }
  dim3 dim_threads() const { return group_dim(); }
};
inline thread_block this_thread_block() { return {}; }

// Size consecutive threads of a warp; Size is a power of two.
template <unsigned Size, class Parent = thread_block>
class thread_block_tile {
  static_assert(Size > 0 && Size <= 32 && (Size & (Size - 1)) == 0, "a tile has a power of two of threads, at most 32");

 public:
  unsigned thread_rank() const { return tapc_emu::state.current->linear % Size; }
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  unsigned meta_group_rank() const { return tapc_emu::state.current->linear / Size; }
  unsigned meta_group_size() const { return (tapc_emu::state.count + Size - 1) / Size; }
  void sync(int line = __builtin_LINE()) const { __syncwarp(mask(), line); }
  template <class T> T shfl(T v, int lane, int line = __builtin_LINE()) const { return __shfl_sync(mask(), v, lane, Size, line); }
  template <class T> T shfl_up(T v, unsigned d, int line = __builtin_LINE()) const { return __shfl_up_sync(mask(), v, d, Size, line); }
  template <class T> T shfl_down(T v, unsigned d, int line = __builtin_LINE()) const { return __shfl_down_sync(mask(), v, d, Size, line); }
  template <class T> T shfl_xor(T v, unsigned m, int line = __builtin_LINE()) const { return __shfl_xor_sync(mask(), v, static_cast<int>(m), Size, line); }
  int any(int p, int line = __builtin_LINE()) const { return __any_sync(mask(), p, line); }
  int all(int p, int line = __builtin_LINE()) const { return __all_sync(mask(), p, line); }
  unsigned ballot(int p, int line = __builtin_LINE()) const { return __ballot_sync(mask(), p, line) >> first(); }
  template <class T> unsigned match_any(T v, int line = __builtin_LINE()) const { return __match_any_sync(mask(), v, line) >> first(); }

 private:
  unsigned first() const { return tapc_emu::lane_id() / Size * Size; }
  unsigned mask() const { return (0xffffffffu >> (32 - Size)) << first(); }
};

template <unsigned Size, class Parent>
inline thread_block_tile<Size, Parent> tiled_partition(const Parent&) { return {}; }

template <class T> struct plus { T operator()(T a, T b) const { return a + b; } };
template <class T> struct greater { T operator()(T a, T b) const { return a > b ? a : b; } };
template <class T> struct less { T operator()(T a, T b) const { return a < b ? a : b; } };
template <class T> struct bit_and { T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { T operator()(T a, T b) const { return a ^ b; } };

// Every thread of the tile gets the result. The order of combination is that of a butterfly.
template <unsigned Size, class Parent, class T, class Op>
inline T reduce(const thread_block_tile<Size, Parent>& tile, T v, Op op, int line = __builtin_LINE()) {
  for (unsigned step = Size / 2; step > 0; step /= 2) v = op(v, tile.shfl_xor(v, step, line));
  return v;
}

inline void sync(const thread_block& b, int line = __builtin_LINE()) { b.sync(line); }
template <unsigned Size, class Parent>
inline void sync(const thread_block_tile<Size, Parent>& t, int line = __builtin_LINE()) { t.sync(line); }

}  // namespace cooperative_groups

#endif

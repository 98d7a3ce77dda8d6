// Warp operations: shuffles, votes, matches, reductions and __syncwarp.
//
// The lanes that a mask names meet, as the programming guide asks, in one call with one mask; lanes
// that have exited or that the block does not have are not waited for. A value read from a lane that
// takes no part is the poison pattern.
#ifndef TAPC_EMU_WARP_H
#define TAPC_EMU_WARP_H

#include "block.h"

namespace tapc_emu {

TAPC_EMU_RAW inline Thread& lane_of(unsigned warp, unsigned lane) { return state.threads[warp * warp_size + lane]; }

// Performs the operation that t waits for if all lanes of it are there.
TAPC_EMU_RAW inline void try_exchange(Thread& t) {
  const unsigned warp = t.linear / warp_size;
  Warp& w = state.warps[warp];
  const unsigned wanted = t.mask & w.present & ~w.exited;
  if ((w.waiting & wanted) != wanted) return;
  void* posts[warp_size] = {};
  for (unsigned lane = 0; lane < warp_size; lane++) {
    if (!(wanted >> lane & 1)) continue;
    const Thread& o = lane_of(warp, lane);
    if (o.mask != t.mask || o.exchange != t.exchange || o.line != t.line) {
      fail(format("divergent warp operation: %s calls %s in line %d with mask 0x%08x, %s calls %s in line %d with mask 0x%08x",
                  name_of(t).c_str(), t.what, t.line, t.mask, name_of(o).c_str(), o.what, o.line, o.mask));
    }
    posts[lane] = o.post;
  }
  if (t.exchange != nullptr) t.exchange(posts, wanted);
  for (unsigned lane = 0; lane < warp_size; lane++) {
    if (wanted >> lane & 1) make_ready(lane_of(warp, lane));
  }
  w.waiting &= ~wanted;
}

// Waits for the lanes of mask and takes part in their exchange. post lies on the caller's stack.
TAPC_EMU_RAW inline void meet(unsigned mask, Exchange exchange, void* post, const char* what, int line) {
  Thread& me = *state.current;
  const unsigned lane = me.linear % warp_size;
  if (!(mask >> lane & 1)) fail(format("%s in line %d: mask 0x%08x does not name the calling lane %u", what, line, mask, lane));
  me.wait = Wait::warp, me.mask = mask, me.exchange = exchange, me.post = post, me.what = what, me.line = line;
  state.warps[me.linear / warp_size].waiting |= 1u << lane;
  try_exchange(me);
  to_scheduler();
}

// Those who wait for a lane that exits wait for it no longer.
TAPC_EMU_RAW inline void lane_exits(Thread& t) {
  const unsigned warp = t.linear / warp_size;
  Warp& w = state.warps[warp];
  w.exited |= 1u << t.linear % warp_size;
  for (unsigned lane = 0; lane < warp_size; lane++) {
    if (w.waiting >> lane & 1) try_exchange(lane_of(warp, lane));
  }
}

template <class T>
struct Shuffle {
  T value;
  int source;  // lane to read
  T result;
};

template <class T>
TAPC_EMU_RAW inline void exchange_shuffle(void* const* posts, unsigned mask) {
  for (unsigned lane = 0; lane < warp_size; lane++) {
    if (!(mask >> lane & 1)) continue;
    Shuffle<T>& mine = *static_cast<Shuffle<T>*>(posts[lane]);
    const unsigned source = static_cast<unsigned>(mine.source);
    if (source < warp_size && (mask >> source & 1)) {
      mine.result = static_cast<Shuffle<T>*>(posts[source])->value;
    } else {
      for (size_t i = 0; i < sizeof(T); i++) reinterpret_cast<volatile unsigned char*>(&mine.result)[i] = state.settings.poison;
    }
  }
}

template <class T>
TAPC_EMU_RAW inline T shuffle(unsigned mask, T value, int source, const char* what, int line) {
  Shuffle<T> post{value, source, value};
  meet(mask, exchange_shuffle<T>, &post, what, line);
  return post.result;
}

struct Vote {
  unsigned long long value;
  unsigned result;
  int flag;
};

// The loops below are written out, without lambdas: the sanitizers would look into those.
TAPC_EMU_RAW inline Vote* vote_of(void* const* posts, unsigned mask, unsigned lane) {
  return mask >> lane & 1 ? static_cast<Vote*>(posts[lane]) : nullptr;
}

TAPC_EMU_RAW inline void exchange_ballot(void* const* posts, unsigned mask) {
  unsigned set = 0;
  for (unsigned lane = 0; lane < warp_size; lane++) {
    if (const Vote* v = vote_of(posts, mask, lane)) set |= static_cast<unsigned>(v->value != 0) << lane;
  }
  for (unsigned lane = 0; lane < warp_size; lane++) {
    if (Vote* v = vote_of(posts, mask, lane)) v->result = set, v->flag = set == mask;
  }
}

TAPC_EMU_RAW inline void match_lane(void* const* posts, unsigned mask, Vote& mine) {
  mine.result = 0;
  for (unsigned lane = 0; lane < warp_size; lane++) {
    if (const Vote* v = vote_of(posts, mask, lane)) mine.result |= static_cast<unsigned>(v->value == mine.value) << lane;
  }
  mine.flag = mine.result == mask;
}

TAPC_EMU_RAW inline void exchange_match(void* const* posts, unsigned mask) {
  for (unsigned lane = 0; lane < warp_size; lane++) {
    if (Vote* mine = vote_of(posts, mask, lane)) match_lane(posts, mask, *mine);
  }
}

TAPC_EMU_RAW inline Vote vote(unsigned mask, unsigned long long value, Exchange exchange, const char* what, int line) {
  Vote post{value, 0, 0};
  meet(mask, exchange, &post, what, line);
  return post;
}

inline unsigned lane_id() { return state.current->linear % warp_size; }

template <class T, class Op>
TAPC_EMU_RAW inline void exchange_reduce(void* const* posts, unsigned mask) {
  T sum{};
  bool first = true;
  for (unsigned lane = 0; lane < warp_size; lane++) {
    if (!(mask >> lane & 1)) continue;
    const T value = static_cast<Shuffle<T>*>(posts[lane])->value;
    sum = first ? value : Op()(sum, value);
    first = false;
  }
  for (unsigned lane = 0; lane < warp_size; lane++) {
    if (mask >> lane & 1) static_cast<Shuffle<T>*>(posts[lane])->result = sum;
  }
}

template <class T, class Op>
TAPC_EMU_RAW inline T reduce(unsigned mask, T value, const char* what, int line) {
  Shuffle<T> post{value, 0, value};
  meet(mask, exchange_reduce<T, Op>, &post, what, line);
  return post.result;
}

// The bounds of the group of width lanes that the calling lane is in; width is a power of two.
inline int group_first(int width) { return static_cast<int>(lane_id()) & ~(width - 1); }
inline int group_last(int width) { return group_first(width) + width - 1; }

template <class T>
TAPC_EMU_RAW inline T shuffle_in_group(unsigned mask, T value, int source, int width, const char* what, int line) {
  if (width < 1 || width > 32 || (width & (width - 1)) != 0) {
    fail(format("%s in line %d: width %d is not a power of two up to 32", what, line, width));
  }
  const bool inside = source >= group_first(width) && source <= group_last(width);
  return shuffle(mask, value, inside ? source : static_cast<int>(lane_id()), what, line);
}

}  // namespace tapc_emu

template <class T>
inline T __shfl_sync(unsigned mask, T v, int source, int width = 32, int line = __builtin_LINE()) {
  const int from = tapc_emu::group_first(width) + (source & (width - 1));
  return tapc_emu::shuffle_in_group(mask, v, from, width, "__shfl_sync", line);
}

template <class T>
inline T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32, int line = __builtin_LINE()) {
  const int from = static_cast<int>(tapc_emu::lane_id() - delta);
  return tapc_emu::shuffle_in_group(mask, v, from, width, "__shfl_up_sync", line);
}

template <class T>
inline T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32, int line = __builtin_LINE()) {
  const int from = static_cast<int>(tapc_emu::lane_id() + delta);
  return tapc_emu::shuffle_in_group(mask, v, from, width, "__shfl_down_sync", line);
}

template <class T>
inline T __shfl_xor_sync(unsigned mask, T v, int lanes, int width = 32, int line = __builtin_LINE()) {
  // A lane may read from an earlier group, never from a later one.
  int from = static_cast<int>(tapc_emu::lane_id()) ^ lanes;
  if (from <= tapc_emu::group_last(width)) return tapc_emu::shuffle(mask, v, from, "__shfl_xor_sync", line);
  return tapc_emu::shuffle_in_group(mask, v, from, width, "__shfl_xor_sync", line);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return tapc_emu::vote(mask, predicate != 0, tapc_emu::exchange_ballot, "__ballot_sync", line).result;
}
inline int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return tapc_emu::vote(mask, predicate != 0, tapc_emu::exchange_ballot, "__any_sync", line).result != 0;
}
inline int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return tapc_emu::vote(mask, predicate != 0, tapc_emu::exchange_ballot, "__all_sync", line).flag;
}

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, int line = __builtin_LINE()) {
  unsigned long long bits = 0;
  static_assert(sizeof(T) <= sizeof bits, "__match_any_sync takes at most 8 bytes");
  __builtin_memcpy(&bits, &value, sizeof value);
  return tapc_emu::vote(mask, bits, tapc_emu::exchange_match, "__match_any_sync", line).result;
}
template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* all, int line = __builtin_LINE()) {
  unsigned long long bits = 0;
  static_assert(sizeof(T) <= sizeof bits, "__match_all_sync takes at most 8 bytes");
  __builtin_memcpy(&bits, &value, sizeof value);
  const tapc_emu::Vote v = tapc_emu::vote(mask, bits, tapc_emu::exchange_match, "__match_all_sync", line);
  *all = v.flag;
  return v.flag ? v.result : 0;
}

inline unsigned __activemask() {
  const tapc_emu::Warp& w = tapc_emu::state.warps[tapc_emu::state.current->linear / tapc_emu::warp_size];
  return w.present & ~w.exited;  // convergence is the hardware's affair; every live lane may be active
}

#define TAPC_EMU_REDUCE(NAME, T, EXPR)                                                     \
  namespace tapc_emu { struct op_##NAME { template <class V> V operator()(V a, V b) const { return EXPR; } }; } \
  inline T NAME(unsigned mask, T v, int line = __builtin_LINE()) {                         \
    return tapc_emu::reduce<T, tapc_emu::op_##NAME>(mask, v, #NAME, line);                 \
  }
TAPC_EMU_REDUCE(__reduce_and_sync, unsigned, a & b)
TAPC_EMU_REDUCE(__reduce_or_sync, unsigned, a | b)
TAPC_EMU_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
TAPC_EMU_REDUCE(__reduce_add_sync, unsigned, a + b)
TAPC_EMU_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
TAPC_EMU_REDUCE(__reduce_max_sync, unsigned, a > b ? a : b)
#undef TAPC_EMU_REDUCE
inline int __reduce_add_sync(unsigned mask, int v, int line = __builtin_LINE()) {
  return tapc_emu::reduce<int, tapc_emu::op___reduce_add_sync>(mask, v, "__reduce_add_sync", line);
}
inline int __reduce_min_sync(unsigned mask, int v, int line = __builtin_LINE()) {
  return tapc_emu::reduce<int, tapc_emu::op___reduce_min_sync>(mask, v, "__reduce_min_sync", line);
}
inline int __reduce_max_sync(unsigned mask, int v, int line = __builtin_LINE()) {
  return tapc_emu::reduce<int, tapc_emu::op___reduce_max_sync>(mask, v, "__reduce_max_sync", line);
}

#if defined(TAPC_EMU_TSAN)
namespace tapc_emu {
struct Meeting {
  char* mine;
  char* others[warp_size];
};
TAPC_EMU_RAW inline void exchange_tokens(void* const* posts, unsigned mask) {
  for (unsigned i = 0; i < warp_size * warp_size; i++) {
    const unsigned lane = i / warp_size, other = i % warp_size;
    if ((mask >> lane & mask >> other & 1) == 0) continue;
    static_cast<Meeting*>(posts[lane])->others[other] = static_cast<Meeting*>(posts[other])->mine;
  }
}
TAPC_EMU_RAW inline char* next_token() { return &state.current->tokens[state.current->meetings++ % 2]; }
TAPC_EMU_RAW inline void sync_warp(unsigned mask, int line) {
  Meeting post{next_token(), {}};
  __tsan_release(post.mine);
  meet(mask, exchange_tokens, &post, "__syncwarp", line);
  for (char* token : post.others) {
    if (token != nullptr) __tsan_acquire(token);
  }
}
}  // namespace tapc_emu
inline void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE()) { tapc_emu::sync_warp(mask, line); }
#else
inline void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE()) {
  tapc_emu::meet(mask, nullptr, nullptr, "__syncwarp", line);
}
#endif

inline void __syncthreads(int line = __builtin_LINE()) { tapc_emu::barrier(0, "__syncthreads", line); }
inline int __syncthreads_count(int predicate, int line = __builtin_LINE()) {
  return tapc_emu::barrier(predicate != 0, "__syncthreads_count", line);
}
inline int __syncthreads_and(int predicate, int line = __builtin_LINE()) {
  return tapc_emu::barrier(predicate == 0, "__syncthreads_and", line) == 0;
}
inline int __syncthreads_or(int predicate, int line = __builtin_LINE()) {
  return tapc_emu::barrier(predicate != 0, "__syncthreads_or", line) != 0;
}

#endif

// One block at a time: its threads, their scheduler, __syncthreads, and the errors of a launch.
#ifndef TAPC_EMU_BLOCK_H
#define TAPC_EMU_BLOCK_H

#include "config.h"
#include "fiber.h"
#include "vector.h"

namespace tapc_emu {

// What a thread waits for, and in which line of the kernel's text.
enum class Wait : uint8_t { nothing, barrier, warp };

// An operation of a warp: given every participant's operand by lane, it fills in their results.
using Exchange = void (*)(void* const* posts, unsigned mask);

struct Thread {
  Fiber fiber;
  uint3 index{};
  unsigned linear = 0;
  int line = 0;              // where it waits
  const char* what = "";     // the function it waits in
  unsigned mask = 0;         // lanes it waits for
  Exchange exchange = nullptr;
  void* post = nullptr;
  Wait wait = Wait::nothing;
  bool exited = false;
  char tokens[2] = {};  // what the thread sanitizer orders this thread's __syncwarp by, in turn
  unsigned meetings = 0;
};

struct Warp {
  unsigned present = 0;  // lanes that the block has
  unsigned exited = 0;
  unsigned waiting = 0;
};

// Choices that a run may make; the zero seed means threads in ascending order.
struct Settings {
  uint64_t seed = 0;
  size_t stack = 64 << 10;
  unsigned char poison = 0xff;       // every byte of memory that nobody wrote: a NaN in all formats
  bool exited_pass_barriers = false; // count an exited thread as one that reached every barrier
};

// A static shared variable. The translation of a text adds a Held after each declaration.
struct Shared {
  char* begin;
  size_t bytes;
};
constexpr unsigned max_shared_variables = 1024;

// All that the running launch needs. There is one, because one kernel runs at a time. It holds arrays
// of fixed size, because the thread sanitizer follows the standard library's containers.
struct State {
  Settings settings;
  Fiber scheduler;
  Stacks stacks;
  Thread threads[max_block_threads];
  Warp warps[max_block_threads / warp_size];
  unsigned ready[max_block_threads];  // a ring of the threads that can go on
  unsigned ready_head = 0, ready_count = 0;
  unsigned count = 0;  // threads of the block
  Thread* current = nullptr;
  uint3 block_index{};
  dim3 block_dim, grid_dim;
  const char* kernel = "";
  void (*body)(void*) = nullptr;
  void* body_data = nullptr;
  unsigned live = 0, at_barrier = 0, spins = 0;
  int votes = 0, votes_result = 0;
  uint64_t random = 0;
  size_t dynamic_shared = 0;
  Shared shared[max_shared_variables];
  unsigned shared_count = 0;
  char barrier_tokens[2] = {}, launch_token = 0;  // what the thread sanitizer orders threads by
  unsigned barriers = 0;                          // passed by the block so far
  std::string error;
};

inline State state;

// Dynamic shared memory of the running block.
alignas(1024) inline char dynamic_bytes[max_shared];
inline char* dynamic_shared() { return dynamic_bytes; }

TAPC_EMU_RAW inline uint64_t next_random() {  // splitmix64
  uint64_t z = state.random += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

inline std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));
inline std::string format(const char* pattern, ...) {
  char text[1024];
  va_list args;
  va_start(args, pattern);
  vsnprintf(text, sizeof text, pattern, args);
  va_end(args);
  return text;
}

inline std::string name_of(const Thread& t) {
  return format("thread (%u,%u,%u)", t.index.x, t.index.y, t.index.z);
}

inline std::string place() {
  std::string text = format("kernel %s, block (%u,%u,%u)", state.kernel, state.block_index.x, state.block_index.y, state.block_index.z);
  if (state.current != nullptr) text += ", " + name_of(*state.current);
  return text;
}

TAPC_EMU_RAW inline void to_scheduler(bool last = false) { switch_fiber(state.current->fiber, state.scheduler, last); }

// Ends the launch with an error. Called by a CUDA thread; the block's other threads never go on.
[[noreturn]] inline void fail(const std::string& message) {
  state.error = place() + ": " + message;
  to_scheduler(true);
  abort();
}

TAPC_EMU_RAW inline unsigned& ready_slot(unsigned i) { return state.ready[(state.ready_head + i) % max_block_threads]; }

TAPC_EMU_RAW inline void make_ready(Thread& t) {
  t.wait = Wait::nothing;
  ready_slot(state.ready_count++) = t.linear;
}

// Takes the thread that has waited longest or, under a seed, any.
TAPC_EMU_RAW inline Thread& take_ready() {
  if (state.settings.seed != 0) {
    unsigned& first = ready_slot(0);
    unsigned& other = ready_slot(static_cast<unsigned>(next_random() % state.ready_count));
    const unsigned chosen = other;
    other = first;
    first = chosen;
  }
  Thread& t = state.threads[ready_slot(0)];
  state.ready_head = (state.ready_head + 1) % max_block_threads;
  state.ready_count--;
  return t;
}

// Lets other threads run. Spinning on memory would otherwise never end.
TAPC_EMU_RAW inline void yield() {
  state.spins = 0;
  make_ready(*state.current);
  to_scheduler();
}

TAPC_EMU_RAW inline void release_barrier() {
  state.at_barrier = 0;
  state.barriers++;
  state.votes_result = state.votes;
  state.votes = 0;
  for (unsigned i = 0; i < state.count; i++) {
    if (state.threads[i].wait == Wait::barrier) make_ready(state.threads[i]);
  }
}

TAPC_EMU_RAW inline const Thread* first_at_barrier() {
  for (unsigned i = 0; i < state.count; i++) {
    if (state.threads[i].wait == Wait::barrier) return &state.threads[i];
  }
  return nullptr;
}

TAPC_EMU_RAW inline void arrive_at_barrier(int vote, const char* what, int line) {
  Thread& me = *state.current;
  if (state.at_barrier > 0) {
    const Thread& other = *first_at_barrier();
    if (other.line != line || other.what != what) {
      fail(format("divergent barrier: it reached %s in line %d while %s waits at %s in line %d", what, line,
                  name_of(other).c_str(), other.what, other.line));
    }
  }
  me.wait = Wait::barrier, me.what = what, me.line = line;
  state.votes += vote;
  state.at_barrier++;
  const unsigned needed = state.settings.exited_pass_barriers ? state.live : state.count;
  if (state.at_barrier == needed) release_barrier();
}

TAPC_EMU_RAW inline char* barrier_token() { return &state.barrier_tokens[state.barriers % 2]; }

// Waits for all threads of the block; returns the sum of the threads' votes.
inline int barrier(int vote, const char* what, int line) {
#if defined(TAPC_EMU_TSAN)
  // Two tokens in turn: a thread may be at the next barrier before another has left this one.
  char* token = barrier_token();
  __tsan_release(token);
#endif
  arrive_at_barrier(vote, what, line);
  to_scheduler();
#if defined(TAPC_EMU_TSAN)
  __tsan_acquire(token);
#endif
  return state.votes_result;
}

void lane_exits(Thread& t);             // warp.h
void finish_copies();                   // tensor.h: of the current thread
void forget_copies(const Thread& t);    // tensor.h

TAPC_EMU_RAW inline void exit_thread() {
  Thread& me = *state.current;
  finish_copies();
  me.exited = true;
  state.live--;
  lane_exits(me);
  if (state.settings.exited_pass_barriers && state.at_barrier > 0 && state.at_barrier == state.live) release_barrier();
  to_scheduler(true);
  abort();
}

TAPC_EMU_RAW inline void thread_main() {
  entered(state.scheduler);
  state.body(state.body_data);
#if defined(TAPC_EMU_TSAN)
  __tsan_release(&state.launch_token);
#endif
  exit_thread();
}

// Says why no thread of the block can go on.
inline std::string describe_deadlock() {
  std::string text = "deadlock:";
  const char* separator = " ";
  for (unsigned i = 0; i < state.count; i++) {
    const Thread& t = state.threads[i];
    auto same = [&](const Thread& o) {
      return o.exited == t.exited && (t.exited || (o.wait == t.wait && o.line == t.line && o.what == t.what));
    };
    if (std::any_of(state.threads, state.threads + i, same)) continue;
    const long alike = std::count_if(state.threads, state.threads + state.count, same);
    text += separator + format("%ld of %u threads (first: %s) ", alike, state.count, name_of(t).c_str());
    if (t.exited) {
      text += "have exited";
    } else {
      text += format("wait at %s in line %d", t.what, t.line);
      if (t.wait == Wait::warp) text += format(" for lanes 0x%08x", t.mask);
    }
    separator = "; ";
  }
  return text;
}

// Fills memory that no thread has written. The loop, not memset, because the address sanitizer keeps
// guard bytes between shared variables and would see an overflow.
TAPC_EMU_RAW inline void poison(char* begin, size_t bytes) {
#if defined(TAPC_EMU_ASAN) || defined(TAPC_EMU_TSAN)
  for (volatile char* p = begin; p < begin + bytes; p++) *p = static_cast<char>(state.settings.poison);
#else
  if (bytes > 0) memset(begin, state.settings.poison, bytes);
#endif
#if defined(TAPC_EMU_TSAN)
  // A new block's shared memory has no history; the heap interface of the sanitizer can say so.
  const unsigned long first = reinterpret_cast<unsigned long>(begin) & ~7ul;
  const unsigned long end = (reinterpret_cast<unsigned long>(begin) + bytes + 7) & ~7ul;
  if (bytes > 0) __tsan_java_alloc(first, end - first);
#endif
}

TAPC_EMU_RAW inline void poison_shared() {
  for (unsigned i = 0; i < state.shared_count; i++) poison(state.shared[i].begin, state.shared[i].bytes);
  poison(dynamic_bytes, state.dynamic_shared);
}

// Held makes a shared variable known. The first thread of all that comes past its declaration poisons
// it; from then on every new block does.
struct Held {
  TAPC_EMU_RAW Held(void* variable, size_t bytes) {
    for (unsigned i = 0; i < state.shared_count; i++) {
      if (state.shared[i].begin == variable) return;
    }
    if (state.shared_count == max_shared_variables) fail("more shared variables than the emulation can hold");
    state.shared[state.shared_count++] = Shared{static_cast<char*>(variable), bytes};
    poison(static_cast<char*>(variable), bytes);
  }
};

TAPC_EMU_RAW inline void start_threads() {
  state.ready_head = state.ready_count = 0;
  state.at_barrier = 0, state.votes = 0, state.spins = 0;
  state.live = state.count;
  for (Warp& w : state.warps) w.exited = w.waiting = 0;
  for (unsigned i = 0; i < state.count; i++) {
    state.threads[i].exited = false;
    forget_copies(state.threads[i]);
    prepare(state.threads[i].fiber, thread_main);
    make_ready(state.threads[i]);
  }
}

// Runs one block to its end. False: state.error says what went wrong.
TAPC_EMU_RAW inline bool run_block(uint3 index) {
  state.block_index = index;
  poison_shared();
  start_threads();
  while (state.ready_count > 0) {
    state.current = &take_ready();
    switch_fiber(state.scheduler, state.current->fiber);
    state.current = nullptr;
    if (!state.error.empty()) return false;
  }
  if (state.live > 0) {
    state.error = place() + ": " + describe_deadlock();
    return false;
  }
  return true;
}

}  // namespace tapc_emu

#endif

// Launching a kernel: from C++ with its own argument types, or from C by name with parameter slots.
#ifndef TAPC_EMU_LAUNCH_H
#define TAPC_EMU_LAUNCH_H

#include "block.h"

namespace tapc_emu {

inline std::string check_launch(dim3 grid, dim3 block, size_t shared) {
  const unsigned long long threads = 1ull * block.x * block.y * block.z;
  if (threads == 0 || threads > max_block_threads || block.x > 1024 || block.y > 1024 || block.z > 64) {
    return format("block (%u,%u,%u): expected 1 to 1024 threads, at most 64 along z", block.x, block.y, block.z);
  }
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) {
    return format("grid (%u,%u,%u): expected 1 to 2^31-1 blocks along x, 1 to 65535 along y and z", grid.x, grid.y, grid.z);
  }
  if (shared > max_shared) return format("%zu bytes of dynamic shared memory: expected at most %zu", shared, max_shared);
  return "";
}

// Gives the block's threads their places and stacks. False: no memory.
TAPC_EMU_RAW inline bool lay_out_block(dim3 block) {
  state.count = block.x * block.y * block.z;
  size_t stack = state.settings.stack;
#if defined(TAPC_EMU_ASAN) || defined(TAPC_EMU_TSAN)
  stack *= 4;  // instrumented frames are larger
#endif
  if (!state.stacks.reserve(state.count, stack)) return false;
  for (Warp& w : state.warps) w = Warp();
  for (unsigned i = 0; i < state.count; i++) {
    Thread& t = state.threads[i];
    t.linear = i;
    t.index = uint3{i % block.x, i / block.x % block.y, i / (block.x * block.y)};
    state.stacks.give(i, t.fiber);
    state.warps[i / warp_size].present |= 1u << i % warp_size;
  }
  return true;
}

#if defined(TAPC_EMU_TSAN)
}  // namespace tapc_emu
extern "C" char __bss_start[], _end[];  // the linker's bounds of what shared variables lie in
namespace tapc_emu {
// Fibers of the sanitizer are made anew for each block, so that nothing orders one block after another,
// and kept as long as it has room, because it may take a new fiber for an old one that it reuses.
inline std::vector<void*> old_fibers;

inline void forget_fibers(size_t room) {
  if (old_fibers.size() + room <= 4096) return;
  for (void* fiber : old_fibers) __tsan_destroy_fiber(fiber);
  old_fibers.clear();
}
inline void begin_tracking() {
  static bool begun = false;
  if (!begun) {
    const unsigned long first = reinterpret_cast<unsigned long>(__bss_start) & ~7ul;
    __tsan_java_init(first, (reinterpret_cast<unsigned long>(_end) - first + 7) & ~7ul);
    begun = true;
  }
  state.scheduler.tsan = __tsan_get_current_fiber();
}
inline void begin_block_tracking(uint3 block) {
  lay_out_block(state.block_dim);
  forget_fibers(state.count);
  for (unsigned i = 0; i < state.count; i++) {
    Thread& t = state.threads[i];
    t.fiber.tsan = __tsan_create_fiber(0);
    __tsan_set_fiber_name(t.fiber.tsan, format("block (%u,%u,%u) %s", block.x, block.y, block.z, name_of(t).c_str()).c_str());
  }
}
inline void end_block_tracking() {
  for (unsigned i = 0; i < state.count; i++) old_fibers.push_back(state.threads[i].fiber.tsan);
  state.stacks.release();
}
#endif

// Runs every block of the grid, in order of their numbers or in an order that the seed permutes:
// a walk by a stride without a common divisor with the number of blocks.
inline bool run_grid() {
  const dim3 g = state.grid_dim;
  const unsigned long long blocks = 1ull * g.x * g.y * g.z;
  unsigned long long at = 0, stride = 1;
  if (state.settings.seed != 0) {
    at = next_random() % blocks;
    stride = next_random() % blocks | 1;
    while (std::gcd(stride, blocks) != 1) stride++;
  }
  for (unsigned long long done = 0; done < blocks; done++) {
    const uint3 index{static_cast<unsigned>(at % g.x), static_cast<unsigned>(at / g.x % g.y),
                      static_cast<unsigned>(at / (1ull * g.x * g.y))};
#if defined(TAPC_EMU_TSAN)
    begin_block_tracking(index);
#endif
    const bool fine = run_block(index);
#if defined(TAPC_EMU_TSAN)
    end_block_tracking();
#endif
    if (!fine) return false;
    at = (at + stride) % blocks;
  }
  return true;
}

// Runs body(data) as the kernel of that name. Returns an error, or an empty text.
inline std::string launch_body(const char* name, void (*body)(void*), void* data, dim3 grid, dim3 block, size_t shared) {
  const std::string bad = check_launch(grid, block, shared);
  if (!bad.empty()) return format("kernel %s: ", name) + bad;
  state.kernel = name;
  state.body = body, state.body_data = data;
  state.grid_dim = grid, state.block_dim = block;
  state.dynamic_shared = shared;
  state.error.clear();
  state.random = state.settings.seed;
  if (!lay_out_block(block)) return format("kernel %s: no memory for the stacks of %u threads", name, state.count);
#if defined(TAPC_EMU_ASAN)
  __asan_unpoison_memory_region(dynamic_bytes, max_shared);
  __asan_poison_memory_region(dynamic_bytes + shared, max_shared - shared);
#endif
#if defined(TAPC_EMU_TSAN)
  begin_tracking();
#endif
  run_grid();
#if defined(TAPC_EMU_TSAN)
  __tsan_acquire(&state.launch_token);
#endif
  state.kernel = "";
  return state.error;
}

template <class... P>
struct Call {
  void (*kernel)(P...);
  std::tuple<std::decay_t<P>...> arguments;
  static void run(void* self) {
    Call& c = *static_cast<Call*>(self);
    std::apply(c.kernel, c.arguments);
  }
};

// Runs a kernel over a grid, as kernel<<<grid, block, shared>>>(arguments...) would and then waiting.
// Returns an error, or an empty text.
template <class... P, class... A>
inline std::string launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, A&&... arguments) {
  Call<P...> call{kernel, {static_cast<std::decay_t<P>>(arguments)...}};
  return launch_body("(unnamed)", Call<P...>::run, &call, grid, block, shared);
}

// A kernel that can be launched by name. parameters has one letter for each: p pointer, i signed,
// u unsigned, f floating, b anything else; sizes has their bytes.
struct Entry {
  const char* name;
  void (*run)(void* slots);
  unsigned max_threads;  // of its launch bounds; 0 for none
  const char* parameters;
  const unsigned* sizes;
};

template <class T>
constexpr char letter_of() {
  if (std::is_pointer_v<T>) return 'p';
  if (std::is_floating_point_v<T>) return 'f';
  if (std::is_integral_v<T> || std::is_enum_v<T>) return std::is_signed_v<T> ? 'i' : 'u';
  return 'b';
}

template <auto Kernel>
struct Named;
template <class... P, void (*Kernel)(P...)>
struct Named<Kernel> {
  static constexpr char parameters[] = {letter_of<std::decay_t<P>>()..., 0};
  static constexpr unsigned sizes[] = {static_cast<unsigned>(sizeof(std::decay_t<P>))..., 0};

  template <class T>
  static T take(void* slot) {
    alignas(T) char bytes[sizeof(T)];
    memcpy(bytes, slot, sizeof(T));
    return *reinterpret_cast<T*>(bytes);
  }
  template <size_t... I>
  static void call(void** slots, std::index_sequence<I...>) {
    Kernel(take<std::decay_t<P>>(slots[I])...);
  }
  static void run(void* slots) { call(static_cast<void**>(slots), std::index_sequence_for<P...>()); }
};

}  // namespace tapc_emu

// The kernels of the program, up to an entry that has no name. A program that launches its kernels
// from C++ need not define it. It lies outside the namespace, whose names could hide a kernel's.
extern const tapc_emu::Entry tapc_emu_entries[] __attribute__((weak));

namespace tapc_emu {

inline const Entry* find(const char* name) {
  for (const Entry* e = tapc_emu_entries; e != nullptr && e->name != nullptr; e++) {
    if (strcmp(e->name, name) == 0) return e;
  }
  return nullptr;
}

// As the driver's launch: slots[i] points to the i-th argument's value.
inline std::string launch_entry(const Entry& e, dim3 grid, dim3 block, size_t shared, void** slots) {
  const unsigned long long threads = 1ull * block.x * block.y * block.z;
  if (e.max_threads != 0 && threads > e.max_threads) {
    return format("kernel %s: %llu threads a block, but its launch bounds allow %u", e.name, threads, e.max_threads);
  }
  return launch_body(e.name, e.run, slots, grid, block, shared);
}

}  // namespace tapc_emu

// TAPC_EMU_ENTRY(kernel, bounds...) makes one line of a program's table of kernels.
#define TAPC_EMU_ENTRY(kernel, ...)                                                                      \
  {#kernel, ::tapc_emu::Named<&kernel>::run, ::tapc_emu::first_of(__VA_ARGS__),                          \
   ::tapc_emu::Named<&kernel>::parameters, ::tapc_emu::Named<&kernel>::sizes}
namespace tapc_emu {
constexpr unsigned first_of(unsigned first = 0, unsigned = 0, unsigned = 0) { return first; }
}

// The C interface of a program built as a shared library.
extern "C" {
// Runs a kernel by name. Returns 0, 1 if there is no such kernel, 2 if the run failed; message, of
// size bytes, then says why.
__attribute__((visibility("default"), used)) inline int tapc_emu_launch(const char* kernel, const unsigned grid[3], const unsigned block[3],
                                                                 size_t shared, void** slots, char* message, size_t size) {
  const tapc_emu::Entry* e = tapc_emu::find(kernel);
  const std::string error = e == nullptr ? tapc_emu::format("no kernel %s", kernel)
                                         : tapc_emu::launch_entry(*e, dim3(grid[0], grid[1], grid[2]),
                                                                  dim3(block[0], block[1], block[2]), shared, slots);
  if (size > 0) snprintf(message, size, "%s", error.c_str());
  return e == nullptr ? 1 : error.empty() ? 0 : 2;
}
// Sets the choices of the runs to come; see tapc_emu::Settings.
__attribute__((visibility("default"), used)) inline void tapc_emu_configure(unsigned long long seed, int exited_pass_barriers) {
  tapc_emu::state.settings.seed = seed;
  tapc_emu::state.settings.exited_pass_barriers = exited_pass_barriers != 0;
}
// Reports the parameters of a kernel, as in tapc_emu::Entry; null if there is no such kernel.
__attribute__((visibility("default"), used)) inline const char* tapc_emu_parameters(const char* kernel) {
  const tapc_emu::Entry* e = tapc_emu::find(kernel);
  return e == nullptr ? nullptr : e->parameters;
}
}

#endif

// Standard headers, the sanitizers in force, and the limits of an emulated device.
#ifndef TAPC_EMU_CONFIG_H
#define TAPC_EMU_CONFIG_H

#include <assert.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define TAPC_EMU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TAPC_EMU_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define TAPC_EMU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TAPC_EMU_TSAN 1
#endif
#endif

// TAPC_EMU_RAW marks the emulation's own code: its reads of other threads' state are no races, and
// its writes over all of shared memory are no overflows.
#if defined(TAPC_EMU_TSAN)
#define TAPC_EMU_RAW __attribute__((noinline, no_sanitize("thread")))
#elif defined(TAPC_EMU_ASAN)
#define TAPC_EMU_RAW __attribute__((noinline, no_sanitize("address")))
#else
#define TAPC_EMU_RAW
#endif

namespace tapc_emu {

constexpr unsigned warp_size = 32;
constexpr unsigned max_block_threads = 1024;
constexpr size_t max_shared = 232448;  // bytes a block may have on sm_90

}  // namespace tapc_emu

#endif

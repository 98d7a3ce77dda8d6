// Atomic operations. Fibers switch only where the emulation lets them, so a plain read and write is
// atomic; under the thread sanitizer they are real atomics, so that it can tell them from races.
#ifndef TAPC_EMU_ATOMIC_H
#define TAPC_EMU_ATOMIC_H

#include "block.h"
#include "half.h"
#include "vector.h"

namespace tapc_emu {

// A thread that spins on an atomic lets the others run now and then.
TAPC_EMU_RAW inline void note_atomic() {
  if (++state.spins >= 256) yield();
}

template <class T, class... U>
constexpr bool one_of = (std::is_same_v<T, U> || ...);

template <class T>
struct same { using type = T; };
template <class T>
using same_t = typename same<T>::type;  // keeps an argument out of deduction

#if defined(TAPC_EMU_TSAN)
template <size_t Bytes> struct word_of;
template <> struct word_of<2> { using type = uint16_t; };
template <> struct word_of<4> { using type = uint32_t; };
template <> struct word_of<8> { using type = uint64_t; };
#endif

// Replaces *p by next(*p) and returns what was there.
template <class T, class Next>
inline T update(T* p, Next next) {
  note_atomic();
#if defined(TAPC_EMU_TSAN)
  if constexpr (sizeof(T) <= 8) {
    using Word = typename word_of<sizeof(T)>::type;
    Word* w = reinterpret_cast<Word*>(p);
    Word seen = __atomic_load_n(w, __ATOMIC_ACQUIRE);
    for (;;) {
      T old, now;
      Word put;
      __builtin_memcpy(&old, &seen, sizeof old);
      now = next(old);
      __builtin_memcpy(&put, &now, sizeof put);
      if (__atomic_compare_exchange_n(w, &seen, put, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return old;
    }
  }
#endif
  const T old = *p;
  *p = next(old);
  return old;
}

template <class T> constexpr bool integer_word = one_of<T, int, unsigned, unsigned long long, long long>;
template <class T> constexpr bool can_add =
    one_of<T, int, unsigned, unsigned long long, float, double, float2, float4, __half, __half2, __nv_bfloat16, __nv_bfloat162>;

template <class T> inline T plus(T a, T b) { return a + b; }
template <> inline float2 plus(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
template <> inline float4 plus(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }

}  // namespace tapc_emu

// TAPC_EMU_ATOMIC defines an atomic and its forms for one block and for the whole system. TYPES says
// which T the device has; OLD and v are the value there and the operand.
#define TAPC_EMU_ATOMIC(NAME, TYPES, EXPR)                                                      \
  template <class T>                                                                            \
  inline T NAME(T* p, tapc_emu::same_t<T> v) {                                                  \
    static_assert(TYPES, #NAME " has no form for this type");                                   \
    return tapc_emu::update(p, [&](T OLD) -> T { (void)OLD; return EXPR; });                    \
  }                                                                                             \
  template <class T> inline T NAME##_block(T* p, tapc_emu::same_t<T> v) { return NAME(p, v); }  \
  template <class T> inline T NAME##_system(T* p, tapc_emu::same_t<T> v) { return NAME(p, v); }

#define TAPC_EMU_IS(...) (tapc_emu::one_of<T, __VA_ARGS__>)
TAPC_EMU_ATOMIC(atomicAdd, tapc_emu::can_add<T>, tapc_emu::plus<T>(OLD, v))
TAPC_EMU_ATOMIC(atomicSub, TAPC_EMU_IS(int, unsigned), OLD - v)
TAPC_EMU_ATOMIC(atomicExch, TAPC_EMU_IS(int, unsigned, unsigned long long, float), v)
TAPC_EMU_ATOMIC(atomicMin, tapc_emu::integer_word<T>, OLD < v ? OLD : v)
TAPC_EMU_ATOMIC(atomicMax, tapc_emu::integer_word<T>, OLD > v ? OLD : v)
TAPC_EMU_ATOMIC(atomicInc, TAPC_EMU_IS(unsigned), OLD >= v ? 0 : OLD + 1)
TAPC_EMU_ATOMIC(atomicDec, TAPC_EMU_IS(unsigned), OLD == 0 || OLD > v ? v : OLD - 1)
TAPC_EMU_ATOMIC(atomicAnd, tapc_emu::integer_word<T>, OLD & v)
TAPC_EMU_ATOMIC(atomicOr, tapc_emu::integer_word<T>, OLD | v)
TAPC_EMU_ATOMIC(atomicXor, tapc_emu::integer_word<T>, OLD ^ v)
#undef TAPC_EMU_IS
#undef TAPC_EMU_ATOMIC

template <class T>
inline T atomicCAS(T* p, tapc_emu::same_t<T> expected, tapc_emu::same_t<T> v) {
  static_assert(tapc_emu::one_of<T, int, unsigned, unsigned long long, unsigned short>, "atomicCAS has no form for this type");
  return tapc_emu::update(p, [&](T old) -> T { return old == expected ? v : old; });
}
template <class T>
inline T atomicCAS_block(T* p, tapc_emu::same_t<T> expected, tapc_emu::same_t<T> v) { return atomicCAS(p, expected, v); }
template <class T>
inline T atomicCAS_system(T* p, tapc_emu::same_t<T> expected, tapc_emu::same_t<T> v) { return atomicCAS(p, expected, v); }

// Fences: fibers see each other's writes at once. A spinning thread often calls one, so it yields.
inline void __threadfence() { tapc_emu::note_atomic(); __asm__ volatile("" ::: "memory"); }
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { __threadfence(); }
inline void __nanosleep(unsigned) { tapc_emu::yield(); }

// Loads and stores with a cache hint.
#define TAPC_EMU_LOAD(NAME) \
  template <class T> inline T NAME(const T* p) { return *p; }
#define TAPC_EMU_STORE(NAME) \
  template <class T> inline void NAME(T* p, tapc_emu::same_t<T> v) { *p = v; }
TAPC_EMU_LOAD(__ldg)
TAPC_EMU_LOAD(__ldca)
TAPC_EMU_LOAD(__ldcg)
TAPC_EMU_LOAD(__ldcs)
TAPC_EMU_LOAD(__ldlu)
TAPC_EMU_LOAD(__ldcv)
TAPC_EMU_STORE(__stwb)
TAPC_EMU_STORE(__stcg)
TAPC_EMU_STORE(__stcs)
TAPC_EMU_STORE(__stwt)
#undef TAPC_EMU_LOAD
#undef TAPC_EMU_STORE

#endif

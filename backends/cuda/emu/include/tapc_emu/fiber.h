// Fibers: one stack a CUDA thread, switched by hand on x86-64 and by ucontext elsewhere.
//
// Control always goes from the scheduler to a fiber and back, never from fiber to fiber. The address
// and thread sanitizers are told of every switch.
#ifndef TAPC_EMU_FIBER_H
#define TAPC_EMU_FIBER_H

#include "config.h"

#if !defined(__x86_64__) && !defined(TAPC_EMU_UCONTEXT)
#define TAPC_EMU_UCONTEXT 1
#endif
#if defined(TAPC_EMU_UCONTEXT)
#include <ucontext.h>
#endif
#if defined(TAPC_EMU_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(TAPC_EMU_TSAN)
#include <sanitizer/tsan_interface.h>
extern "C" {
void __tsan_java_init(unsigned long heap_begin, unsigned long heap_size);
void __tsan_java_alloc(unsigned long ptr, unsigned long size);
}
#endif

namespace tapc_emu {

struct Fiber {
  char* stack = nullptr;  // lowest byte
  size_t size = 0;
#if defined(TAPC_EMU_UCONTEXT)
  ucontext_t context;
#else
  void* sp = nullptr;
#endif
#if defined(TAPC_EMU_ASAN)
  void* fake = nullptr;
#endif
#if defined(TAPC_EMU_TSAN)
  void* tsan = nullptr;
#endif
};

#if !defined(TAPC_EMU_UCONTEXT)
// Saves what a C function must keep on the current stack, stores the stack pointer in *save, and goes
// on where the stack at next was left.
extern "C" void tapc_emu_switch(void** save, void* next);
asm(R"(
.text
.weak tapc_emu_switch
.hidden tapc_emu_switch
.type tapc_emu_switch, @function
tapc_emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tapc_emu_switch, .-tapc_emu_switch
)");
#endif

// Prepares f, whose stack is set, to begin in entry, which must never return.
TAPC_EMU_RAW inline void prepare(Fiber& f, void (*entry)()) {
#if defined(TAPC_EMU_UCONTEXT)
  getcontext(&f.context);
  f.context.uc_stack.ss_sp = f.stack;
  f.context.uc_stack.ss_size = f.size;
  f.context.uc_link = nullptr;
  makecontext(&f.context, entry, 0);
#else
  void** top = reinterpret_cast<void**>(f.stack + f.size) - 2;
  *--top = nullptr;  // entry's return address; it leaves the stack as a call would
  *--top = reinterpret_cast<void*>(entry);
  for (int saved = 0; saved < 6; saved++) *--top = nullptr;
  f.sp = top;
#endif
#if defined(TAPC_EMU_ASAN)
  f.fake = nullptr;
  __asan_unpoison_memory_region(f.stack, f.size);
#endif
}

// Leaves from, goes on in to, and returns when something switches back. last says that from ends.
TAPC_EMU_RAW inline void switch_fiber(Fiber& from, Fiber& to, bool last = false) {
#if defined(TAPC_EMU_ASAN)
  __sanitizer_start_switch_fiber(last ? nullptr : &from.fake, to.stack, to.size);
#endif
#if defined(TAPC_EMU_TSAN)
  __tsan_switch_to_fiber(to.tsan, __tsan_switch_to_fiber_no_sync);
#endif
  (void)last;
#if defined(TAPC_EMU_UCONTEXT)
  swapcontext(&from.context, &to.context);
#else
  tapc_emu_switch(&from.sp, to.sp);
#endif
#if defined(TAPC_EMU_ASAN)
  __sanitizer_finish_switch_fiber(from.fake, nullptr, nullptr);
#endif
}

// Must be the first thing that a new fiber does: it learns the bounds of the stack it came from.
TAPC_EMU_RAW inline void entered(Fiber& scheduler) {
#if defined(TAPC_EMU_ASAN)
  const void* bottom = nullptr;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &scheduler.size);
  scheduler.stack = static_cast<char*>(const_cast<void*>(bottom));
#endif
  (void)scheduler;
}

// Stacks owns the stacks of a block's fibers, each above a page that faults.
class Stacks {
 public:
  // Makes at least count stacks of at least size bytes. False: no memory.
  bool reserve(size_t count, size_t size) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size = (size + page - 1) / page * page;
    if (count <= count_ && size == size_) return true;
    release();
    const size_t bytes = count * (size + page);
    void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return false;
    base_ = static_cast<char*>(base), count_ = count, size_ = size, page_ = page;
    for (size_t i = 0; i < count; i++) {
      if (mprotect(base_ + i * (size + page), page, PROT_NONE) != 0) return false;
    }
    return true;
  }

  void release() {
    if (base_ != nullptr) munmap(base_, count_ * (size_ + page_));
    base_ = nullptr, count_ = 0;
  }

  TAPC_EMU_RAW void give(size_t i, Fiber& f) const { f.stack = base_ + i * (size_ + page_) + page_, f.size = size_; }

  // Reports whether address is in the page below some stack, where only an overflow can reach.
  bool guards(const void* address) const {
    const char* a = static_cast<const char*>(address);
    if (base_ == nullptr || a < base_ || a >= base_ + count_ * (size_ + page_)) return false;
    return static_cast<size_t>(a - base_) % (size_ + page_) < page_;
  }

 private:
  char* base_ = nullptr;
  size_t count_ = 0, size_ = 0, page_ = 0;
};

}  // namespace tapc_emu

#endif

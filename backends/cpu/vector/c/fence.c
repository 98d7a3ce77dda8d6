// Makes what was written past the caches known to other threads.
TAPC_FN void tapc_fence(void) {
#if defined(__SSE__)
  __builtin_ia32_sfence();
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

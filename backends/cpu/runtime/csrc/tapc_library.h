// The interface of a library to who loads it: C, and loaders in other languages.
#ifndef TAPC_LIBRARY_H
#define TAPC_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

// The version of this interface. A loader must know the version that a library has; within one version the table only grows.
#define TAPC_ABI 1

// A program made ready to run: its threads and its scratch memory.
typedef struct tapc_instance tapc_instance;

// What a library can do. A shared library gives its table by the function tapc_library_of, without arguments, and any library by
// the function NAME_library.
typedef struct tapc_library {
  int abi;                 // TAPC_ABI, in every version
  size_t bytes;            // of the table
  const char *name;        // of the program
  const char *description; // JSON text: inputs and outputs, with their types, shapes and bytes, and more
  tapc_instance *(*create)(int threads, char *error, size_t error_bytes);
  int (*run)(tapc_instance *instance, const void *const *inputs, void *const *outputs, char *error, size_t error_bytes);
  void (*destroy)(tapc_instance *instance);
  // run at a size of each dimension that has several, which the description lists; NULL: the greatest
  int (*run_at)(tapc_instance *instance, const int64_t *sizes, const void *const *inputs, void *const *outputs, char *error, size_t error_bytes);
  // bind each thread of an instance to a core, from the place-th core for each of its threads on; a status other than 0 where there are fewer cores
  int (*pin)(tapc_instance *instance, int place, char *error, size_t error_bytes);
} tapc_library;

#endif

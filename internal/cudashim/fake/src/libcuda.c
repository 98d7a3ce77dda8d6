/* A CUDA driver library without a GPU. Device memory is host memory, a module is a shared library of
 * emulated kernels (backends/cuda/emu, Options.Shared) in place of machine code, and everything is
 * done when the call returns. It serves two ends: programs that use the driver run and are tested on
 * any machine, and they can be linked where no driver is installed.
 *
 * It is as strict as a real driver about handles, sizes and shared memory, and stricter about copies,
 * which must lie inside one allocation. A kernel's error goes to stderr, and then every call fails, as
 * after a fault on a device. Environment: TAPC_EMU_SEED permutes the order of threads; with TAPC_EMU_CLOCK=threads
 * events tell no time but 10 microseconds for each thread that was launched, and for 128 at least, so that what is
 * measured is known. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum {
  SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201,
  NO_BINARY_FOR_GPU = 209, FILE_NOT_FOUND = 301, INVALID_HANDLE = 400, NOT_FOUND = 500, LAUNCH_FAILED = 719, NOT_SUPPORTED = 801,
};
enum { DEFAULT_SHARED = 48 << 10, MAX_SHARED = 232448, DRIVER_VERSION = 13000 };
static const size_t memory_size = (size_t)16 << 30;

typedef uint64_t devptr;
typedef int (*launcher)(const char *, const unsigned[3], const unsigned[3], size_t, void **, char *, size_t);

typedef struct allocation { struct allocation *next; char *data; size_t bytes; } allocation;
typedef struct module {
  void *library;
  launcher launch;
  const char *(*parameters)(const char *);
} module;
typedef struct function { struct function *next; module *owner; char *name; size_t max_dynamic; } function;
typedef struct event { struct timespec at; int recorded; } event;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all of the below */
static allocation *allocations;
static function *functions;
static size_t allocated;
static int fault; /* what every call answers after a kernel's error */
static uint64_t launched; /* threads */
static __thread void *current;
static int context_handle, stream_handle;

#define CHECK_FAULT() do { if (fault) return fault; } while (0)
#define CHECK_CONTEXT() do { if (!current) return INVALID_CONTEXT; CHECK_FAULT(); } while (0)

/* ---- devices and contexts ---- */

API int cuInit(unsigned flags) { return flags ? INVALID_VALUE : SUCCESS; }
API int cuDriverGetVersion(int *v) { return v ? (*v = DRIVER_VERSION, SUCCESS) : INVALID_VALUE; }
API int cuDeviceGetCount(int *n) { return n ? (*n = 1, SUCCESS) : INVALID_VALUE; }
API int cuDeviceGet(int *d, int ordinal) { return ordinal ? INVALID_DEVICE : (*d = 0, SUCCESS); }
API int cuDeviceGetName(char *name, int size, int d) { return d ? INVALID_DEVICE : (snprintf(name, size, "tapc emulated GPU"), SUCCESS); }
API int cuDeviceTotalMem_v2(size_t *n, int d) { return d ? INVALID_DEVICE : (*n = memory_size, SUCCESS); }

API int cuDeviceGetAttribute(int *value, int attribute, int d) {
  static const struct { int attribute, value; } table[] = {
      {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 0x7fffffff}, {6, 65535}, {7, 65535}, {8, DEFAULT_SHARED}, {10, 32},
      {12, 65536}, {13, 1000000}, {16, 1}, {36, 1000000}, {37, 64}, {38, 1 << 20}, {39, 2048}, {41, 1}, {75, 9}, {76, 0},
      {81, 233472}, {82, 65536}, {97, MAX_SHARED}, {106, 32},
  };
  if (d) return INVALID_DEVICE;
  *value = 0;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (table[i].attribute == attribute) *value = table[i].value;
  }
  return SUCCESS;
}

API int cuCtxCreate_v2(void **c, unsigned flags, int d) { (void)flags; return d ? INVALID_DEVICE : (*c = current = &context_handle, SUCCESS); }
API int cuCtxCreate_v4(void **c, void *parameters, unsigned flags, int d) { (void)parameters; return cuCtxCreate_v2(c, flags, d); }
API int cuCtxDestroy_v2(void *c) { return c == &context_handle ? (current = NULL, SUCCESS) : INVALID_CONTEXT; }
API int cuCtxSetCurrent(void *c) { return c && c != &context_handle ? INVALID_CONTEXT : (current = c, SUCCESS); }
API int cuCtxGetCurrent(void **c) { return *c = current, SUCCESS; }
API int cuCtxPushCurrent_v2(void *c) { return cuCtxSetCurrent(c); }
API int cuCtxPopCurrent_v2(void **c) { return *c = current, current = NULL, SUCCESS; }
API int cuCtxGetDevice(int *d) { CHECK_CONTEXT(); return *d = 0, SUCCESS; }
API int cuCtxSynchronize(void) { CHECK_CONTEXT(); return SUCCESS; }
API int cuDevicePrimaryCtxRetain(void **c, int d) { return d ? INVALID_DEVICE : (*c = &context_handle, SUCCESS); }
API int cuDevicePrimaryCtxRelease_v2(int d) { return d ? INVALID_DEVICE : SUCCESS; }

API int cuGetErrorName(int code, const char **text) {
  static const struct { int code; const char *name; } table[] = {
      {0, "CUDA_SUCCESS"}, {1, "CUDA_ERROR_INVALID_VALUE"}, {2, "CUDA_ERROR_OUT_OF_MEMORY"}, {101, "CUDA_ERROR_INVALID_DEVICE"},
      {200, "CUDA_ERROR_INVALID_IMAGE"}, {201, "CUDA_ERROR_INVALID_CONTEXT"}, {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {301, "CUDA_ERROR_FILE_NOT_FOUND"}, {400, "CUDA_ERROR_INVALID_HANDLE"}, {500, "CUDA_ERROR_NOT_FOUND"},
      {719, "CUDA_ERROR_LAUNCH_FAILED"}, {801, "CUDA_ERROR_NOT_SUPPORTED"},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (table[i].code == code) return *text = table[i].name, SUCCESS;
  }
  return *text = NULL, INVALID_VALUE;
}
API int cuGetErrorString(int code, const char **text) { return cuGetErrorName(code, text); }

/* ---- memory ---- */

static allocation **find_allocation(devptr p) {
  allocation **at = &allocations;
  while (*at && (p < (devptr)(*at)->data || p >= (devptr)(*at)->data + (*at)->bytes)) at = &(*at)->next;
  return at;
}

/* The memory of [p, p+bytes), or null if it does not lie inside one allocation. */
static void *range(devptr p, size_t bytes) {
  pthread_mutex_lock(&lock);
  allocation *a = *find_allocation(p);
  pthread_mutex_unlock(&lock);
  return a && bytes <= a->bytes - (p - (devptr)a->data) ? (void *)p : NULL;
}

API int cuMemAlloc_v2(devptr *p, size_t bytes) {
  CHECK_CONTEXT();
  if (!p || !bytes) return INVALID_VALUE;
  allocation *a = calloc(1, sizeof *a);
  void *data = NULL;
  pthread_mutex_lock(&lock);
  if (a && bytes <= memory_size - allocated && !posix_memalign(&data, 256, bytes)) {
    memset(data, 0xff, bytes); /* a device's memory is not cleared either */
    *a = (allocation){allocations, data, bytes};
    allocations = a;
    allocated += bytes;
  }
  pthread_mutex_unlock(&lock);
  if (!data) return free(a), OUT_OF_MEMORY;
  return *p = (devptr)data, SUCCESS;
}

API int cuMemFree_v2(devptr p) {
  CHECK_CONTEXT();
  if (!p) return SUCCESS;
  pthread_mutex_lock(&lock);
  allocation **at = find_allocation(p), *a = *at;
  const int found = a && (devptr)a->data == p;
  if (found) *at = a->next, allocated -= a->bytes;
  pthread_mutex_unlock(&lock);
  if (found) free(a->data), free(a);
  return found ? SUCCESS : INVALID_VALUE;
}

API int cuMemAllocAsync(devptr *p, size_t bytes, void *s) { (void)s; return cuMemAlloc_v2(p, bytes); }
API int cuMemFreeAsync(devptr p, void *s) { (void)s; return cuMemFree_v2(p); }
API int cuMemGetInfo_v2(size_t *unused, size_t *total) { CHECK_CONTEXT(); return *unused = memory_size - allocated, *total = memory_size, SUCCESS; }
API int cuMemAllocHost_v2(void **p, size_t bytes) { CHECK_CONTEXT(); return (*p = malloc(bytes)) ? SUCCESS : OUT_OF_MEMORY; }
API int cuMemHostAlloc(void **p, size_t bytes, unsigned flags) { (void)flags; return cuMemAllocHost_v2(p, bytes); }
API int cuMemFreeHost(void *p) { CHECK_CONTEXT(); return free(p), SUCCESS; }

static int copy(void *to, const void *from, size_t bytes) {
  CHECK_CONTEXT();
  if (!bytes) return SUCCESS;
  return to && from ? (memmove(to, from, bytes), SUCCESS) : INVALID_VALUE;
}
API int cuMemcpyHtoD_v2(devptr to, const void *from, size_t n) { return copy(range(to, n), from, n); }
API int cuMemcpyDtoH_v2(void *to, devptr from, size_t n) { return copy(to, range(from, n), n); }
API int cuMemcpyDtoD_v2(devptr to, devptr from, size_t n) { return copy(range(to, n), range(from, n), n); }
API int cuMemcpyHtoDAsync_v2(devptr to, const void *from, size_t n, void *s) { (void)s; return cuMemcpyHtoD_v2(to, from, n); }
API int cuMemcpyDtoHAsync_v2(void *to, devptr from, size_t n, void *s) { (void)s; return cuMemcpyDtoH_v2(to, from, n); }
API int cuMemcpyDtoDAsync_v2(devptr to, devptr from, size_t n, void *s) { (void)s; return cuMemcpyDtoD_v2(to, from, n); }

static int fill(devptr p, const void *value, size_t size, size_t n) {
  CHECK_CONTEXT();
  if (!n) return SUCCESS;
  char *to = n <= SIZE_MAX / size ? range(p, n * size) : NULL;
  if (!to || p % size) return INVALID_VALUE;
  for (size_t i = 0; i < n; i++) memcpy(to + i * size, value, size);
  return SUCCESS;
}
API int cuMemsetD8_v2(devptr p, unsigned char v, size_t n) { return fill(p, &v, 1, n); }
API int cuMemsetD16_v2(devptr p, unsigned short v, size_t n) { return fill(p, &v, 2, n); }
API int cuMemsetD32_v2(devptr p, unsigned v, size_t n) { return fill(p, &v, 4, n); }
API int cuMemsetD8Async(devptr p, unsigned char v, size_t n, void *s) { (void)s; return fill(p, &v, 1, n); }
API int cuMemsetD16Async(devptr p, unsigned short v, size_t n, void *s) { (void)s; return fill(p, &v, 2, n); }
API int cuMemsetD32Async(devptr p, unsigned v, size_t n, void *s) { (void)s; return fill(p, &v, 4, n); }

/* ---- modules and launches ---- */

/* The size of a shared library in memory, from its own headers; 0 if it is none for this machine. */
static size_t library_size(const void *image) {
  const Elf64_Ehdr *h = image;
  Elf64_Ehdr self;
  if (memcmp(image, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_type != ET_DYN) return 0;
  FILE *f = fopen("/proc/self/exe", "rb");
  const int known = f && fread(&self, sizeof self, 1, f) == 1;
  if (f) fclose(f);
  if (!known || self.e_machine != h->e_machine) return 0;
  size_t end = h->e_shoff + (size_t)h->e_shentsize * h->e_shnum;
  const Elf64_Shdr *s = (const Elf64_Shdr *)((const char *)image + h->e_shoff);
  for (int i = 0; i < h->e_shnum; i++) {
    if (s[i].sh_type != SHT_NOBITS && s[i].sh_offset + s[i].sh_size > end) end = s[i].sh_offset + s[i].sh_size;
  }
  return end;
}

static int open_module(module **out, const char *path) {
  module *m = calloc(1, sizeof *m);
  if (!m) return OUT_OF_MEMORY;
  m->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (m->library) {
    *(void **)&m->launch = dlsym(m->library, "tapc_emu_launch");
    *(void **)&m->parameters = dlsym(m->library, "tapc_emu_parameters");
  }
  if (!m->launch || !m->parameters) {
    fprintf(stderr, "tapc fake driver: %s\n", m->library ? "the library holds no emulated kernels" : dlerror());
    if (m->library) dlclose(m->library);
    return free(m), INVALID_IMAGE;
  }
  void (*configure)(unsigned long long, int);
  *(void **)&configure = dlsym(m->library, "tapc_emu_configure");
  const char *seed = getenv("TAPC_EMU_SEED");
  if (configure && seed) configure(strtoull(seed, NULL, 10), 0);
  return *out = m, SUCCESS;
}

API int cuModuleLoadData(module **m, const void *image) {
  CHECK_CONTEXT();
  if (!image) return INVALID_VALUE;
  const size_t bytes = library_size(image);
  if (!bytes) {
    fprintf(stderr, "tapc fake driver: the module is not a shared library of emulated kernels\n");
    return NO_BINARY_FOR_GPU;
  }
  const int fd = memfd_create("module", 0);
  if (fd < 0) return OUT_OF_MEMORY;
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const int result = write(fd, image, bytes) == (ssize_t)bytes ? open_module(m, path) : OUT_OF_MEMORY;
  return close(fd), result;
}
API int cuModuleLoadDataEx(module **m, const void *image, unsigned n, int *options, void **values) {
  (void)n, (void)options, (void)values;
  return cuModuleLoadData(m, image);
}
API int cuModuleLoadFatBinary(module **m, const void *image) { return cuModuleLoadData(m, image); }
API int cuModuleLoad(module **m, const char *path) {
  CHECK_CONTEXT();
  return access(path, R_OK) ? FILE_NOT_FOUND : open_module(m, path);
}

API int cuModuleUnload(module *m) {
  CHECK_CONTEXT();
  if (!m) return INVALID_HANDLE;
  pthread_mutex_lock(&lock);
  for (function **at = &functions; *at;) {
    function *f = *at;
    if (f->owner != m) { at = &f->next; continue; }
    *at = f->next;
    free(f->name), free(f);
  }
  pthread_mutex_unlock(&lock);
  dlclose(m->library);
  return free(m), SUCCESS;
}

API int cuModuleGetFunction(function **out, module *m, const char *name) {
  CHECK_CONTEXT();
  if (!m || !name) return INVALID_HANDLE;
  if (!m->parameters(name)) return NOT_FOUND;
  function *f = calloc(1, sizeof *f);
  if (!f) return OUT_OF_MEMORY;
  pthread_mutex_lock(&lock);
  *f = (function){functions, m, strdup(name), DEFAULT_SHARED};
  functions = f;
  pthread_mutex_unlock(&lock);
  return *out = f, SUCCESS;
}

API int cuFuncSetAttribute(function *f, int attribute, int value) {
  CHECK_CONTEXT();
  if (!f) return INVALID_HANDLE;
  if (attribute == 9) return SUCCESS; /* how much of the cache to use as shared memory */
  if (attribute != 8 || value < 0 || value > MAX_SHARED) return INVALID_VALUE;
  return f->max_dynamic = value, SUCCESS;
}
API int cuFuncGetAttribute(int *value, int attribute, function *f) {
  CHECK_CONTEXT();
  if (!f) return INVALID_HANDLE;
  return *value = attribute == 0 ? 1024 : attribute == 8 ? (int)f->max_dynamic : 0, SUCCESS;
}
API int cuFuncSetCacheConfig(function *f, int config) { (void)config; return f ? SUCCESS : INVALID_HANDLE; }

API int cuLaunchKernel(function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                       void *stream, void **parameters, void **extra) {
  (void)stream;
  CHECK_CONTEXT();
  if (!f) return INVALID_HANDLE;
  if (extra || shared > f->max_dynamic || !bx || !by || !bz || (uint64_t)bx * by * bz > 1024) return INVALID_VALUE;
  const unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
  char message[1024];
  pthread_mutex_lock(&lock);
  const uint64_t threads = (uint64_t)gx * gy * gz * bx * by * bz;
  launched += threads < 128 ? 128 : threads;
  const int failed = f->owner->launch(f->name, grid, block, shared, parameters, message, sizeof message);
  if (failed) {
    fprintf(stderr, "tapc fake driver: %s\n", message);
    fault = LAUNCH_FAILED;
  }
  pthread_mutex_unlock(&lock);
  return failed ? LAUNCH_FAILED : SUCCESS;
}

/* ---- streams and events ---- */

API int cuStreamCreate(void **s, unsigned flags) { (void)flags; CHECK_CONTEXT(); return *s = &stream_handle, SUCCESS; }
API int cuStreamCreateWithPriority(void **s, unsigned flags, int priority) { (void)priority; return cuStreamCreate(s, flags); }
API int cuStreamDestroy_v2(void *s) { return s == &stream_handle ? SUCCESS : INVALID_HANDLE; }
API int cuStreamSynchronize(void *s) { (void)s; CHECK_CONTEXT(); return SUCCESS; }
API int cuStreamQuery(void *s) { return cuStreamSynchronize(s); }
API int cuStreamWaitEvent(void *s, event *e, unsigned flags) { (void)s, (void)flags; CHECK_CONTEXT(); return e ? SUCCESS : INVALID_HANDLE; }

API int cuEventCreate(event **e, unsigned flags) { (void)flags; CHECK_CONTEXT(); return (*e = calloc(1, sizeof **e)) ? SUCCESS : OUT_OF_MEMORY; }
API int cuEventDestroy_v2(event *e) { return e ? (free(e), SUCCESS) : INVALID_HANDLE; }
API int cuEventRecord(event *e, void *s) {
  (void)s;
  CHECK_CONTEXT();
  if (!e) return INVALID_HANDLE;
  e->recorded = 1;
  const char *clock = getenv("TAPC_EMU_CLOCK");
  if (clock && !strcmp(clock, "threads")) {
    pthread_mutex_lock(&lock);
    const uint64_t us = 10 * launched;
    pthread_mutex_unlock(&lock);
    e->at = (struct timespec){us / 1000000, us % 1000000 * 1000};
    return SUCCESS;
  }
  return clock_gettime(CLOCK_MONOTONIC, &e->at) ? INVALID_VALUE : SUCCESS;
}
API int cuEventQuery(event *e) { CHECK_CONTEXT(); return e ? SUCCESS : INVALID_HANDLE; }
API int cuEventSynchronize(event *e) { return cuEventQuery(e); }
API int cuEventElapsedTime_v2(float *ms, event *a, event *b) {
  CHECK_CONTEXT();
  if (!a || !b || !a->recorded || !b->recorded) return INVALID_HANDLE;
  *ms = (float)((double)(b->at.tv_sec - a->at.tv_sec) * 1e3 + (double)(b->at.tv_nsec - a->at.tv_nsec) / 1e6);
  return SUCCESS;
}
API int cuEventElapsedTime(float *ms, event *a, event *b) { return cuEventElapsedTime_v2(ms, a, b); }

/* ---- what programs link against and this library cannot do ---- */

#define NO(name) API int name(void) { return NOT_SUPPORTED; }
NO(cuArray3DCreate_v2) NO(cuArray3DGetDescriptor_v2) NO(cuArrayCreate_v2) NO(cuArrayDestroy) NO(cuArrayGetDescriptor_v2)
NO(cuCtxDisablePeerAccess) NO(cuCtxEnablePeerAccess) NO(cuCtxGetApiVersion) NO(cuCtxGetCacheConfig) NO(cuCtxGetFlags) NO(cuCtxGetLimit)
NO(cuCtxGetSharedMemConfig) NO(cuCtxGetStreamPriorityRange) NO(cuCtxResetPersistingL2Cache) NO(cuCtxSetCacheConfig) NO(cuCtxSetLimit)
NO(cuCtxSetSharedMemConfig) NO(cuDeviceCanAccessPeer) NO(cuDeviceGetP2PAttribute) NO(cuDeviceGetUuid) NO(cuDeviceGetUuid_v2)
NO(cuDevicePrimaryCtxGetState) NO(cuDevicePrimaryCtxReset_v2) NO(cuDevicePrimaryCtxSetFlags_v2) NO(cuFuncSetSharedMemConfig)
NO(cuGraphAddChildGraphNode) NO(cuGraphAddDependencies) NO(cuGraphAddEmptyNode) NO(cuGraphAddHostNode) NO(cuGraphAddKernelNode)
NO(cuGraphAddKernelNode_v2) NO(cuGraphAddMemcpyNode) NO(cuGraphAddMemsetNode) NO(cuGraphClone) NO(cuGraphCreate) NO(cuGraphDestroy)
NO(cuGraphDestroyNode) NO(cuGraphExecDestroy) NO(cuGraphGetEdges) NO(cuLinkAddData_v2) NO(cuLinkAddFile_v2) NO(cuLinkComplete)
NO(cuLinkCreate_v2) NO(cuLinkDestroy) NO(cuMemAdvise) NO(cuMemAllocManaged) NO(cuMemAllocPitch_v2) NO(cuMemGetAddressRange_v2)
NO(cuMemPrefetchAsync) NO(cuMemcpy) NO(cuMemcpy2DAsync_v2) NO(cuMemcpy2DUnaligned_v2) NO(cuMemcpy2D_v2) NO(cuMemcpy3DAsync_v2)
NO(cuMemcpy3DPeer) NO(cuMemcpy3DPeerAsync) NO(cuMemcpy3D_v2) NO(cuMemcpyAsync) NO(cuMemcpyAtoA_v2) NO(cuMemcpyAtoD_v2)
NO(cuMemcpyAtoHAsync_v2) NO(cuMemcpyAtoH_v2) NO(cuMemcpyDtoA_v2) NO(cuMemcpyHtoAAsync_v2) NO(cuMemcpyHtoA_v2) NO(cuMemcpyPeer)
NO(cuMemcpyPeerAsync) NO(cuMemsetD2D16Async) NO(cuMemsetD2D16_v2) NO(cuMemsetD2D32Async) NO(cuMemsetD2D32_v2) NO(cuMemsetD2D8Async)
NO(cuMemsetD2D8_v2) NO(cuModuleGetGlobal_v2) NO(cuModuleGetSurfRef) NO(cuModuleGetTexRef) NO(cuOccupancyMaxActiveBlocksPerMultiprocessor)
NO(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags) NO(cuPointerGetAttribute) NO(cuPointerSetAttribute) NO(cuStreamAttachMemAsync)
NO(cuStreamGetFlags) NO(cuStreamGetPriority) NO(cuStreamWaitValue32) NO(cuStreamWaitValue32_v2) NO(cuStreamWriteValue32)
NO(cuStreamWriteValue32_v2) NO(cuSurfRefGetArray) NO(cuSurfRefSetArray) NO(cuTexRefGetAddressMode) NO(cuTexRefGetAddress_v2)
NO(cuTexRefGetArray) NO(cuTexRefGetBorderColor) NO(cuTexRefGetFilterMode) NO(cuTexRefGetFlags) NO(cuTexRefGetFormat)
NO(cuTexRefGetMaxAnisotropy) NO(cuTexRefSetAddress2D_v3) NO(cuTexRefSetAddressMode) NO(cuTexRefSetAddress_v2) NO(cuTexRefSetArray)
NO(cuTexRefSetBorderColor) NO(cuTexRefSetFilterMode) NO(cuTexRefSetFlags) NO(cuTexRefSetFormat) NO(cuTexRefSetMaxAnisotropy)
NO(cuTexRefSetMipmapFilterMode) NO(cuTexRefSetMipmapLevelBias) NO(cuTexRefSetMipmapLevelClamp)

package fake

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"tensortapestry.org/tapc/backends/cuda/emu"
	"tensortapestry.org/tapc/internal/testkit"
)

const kernel = `
extern "C" __global__ void add(int* x, int n, int by) {
  extern __shared__ int s[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += by;
}
extern "C" __global__ void past(int* x) { if (threadIdx.x == 1) __trap(); }
`

// driver calls the library's functions by name; results are CUDA's status codes.
type driver struct {
	t       *testing.T
	library uintptr
}

func (d driver) call(name string, args ...uintptr) int {
	d.t.Helper()
	f, err := purego.Dlsym(d.library, name)
	if err != nil {
		d.t.Fatal(err)
	}
	r, _, _ := purego.SyscallN(f, args...)
	return int(int32(r))
}

func (d driver) want(status int, name string, args ...uintptr) {
	d.t.Helper()
	if got := d.call(name, args...); got != status {
		d.t.Fatalf("%s: status %d, expected %d", name, got, status)
	}
}

func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

func open(t *testing.T) driver {
	t.Helper()
	dir := t.TempDir()
	if err := Build(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"libcuda.so", "libcuda.so.1"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	library, err := purego.Dlopen(filepath.Join(dir, "libcuda.so.1"), purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	return driver{t, library}
}

func module(t *testing.T) []byte {
	t.Helper()
	p, err := emu.Compile(t.Context(), kernel, emu.Options{Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	image, err := os.ReadFile(p.Path)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// Memory that C sees must not move: it is allocated once and kept by the closure of the test.
type cells struct {
	context, module, function, event, other uintptr
	memory                                  uint64
	value                                   int32
	count, by                               int32
	ms                                      float32
	host                                    [8]int32
	params                                  [3]uintptr
}

func TestDriver(t *testing.T) {
	_, err := emu.HostCompiler()
	testkit.Need(t, testkit.Compilers, err)
	runtime.LockOSThread() // a context belongs to a thread
	defer runtime.UnlockOSThread()
	d, image, c := open(t), module(t), &cells{count: 5, by: 7, host: [8]int32{1, 2, 3, 4, 5, 6, 7, 8}}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(c)
	pin.Pin(&image[0])

	d.want(0, "cuInit", 0)
	d.want(1, "cuInit", 1)
	d.want(201, "cuMemAlloc_v2", address(&c.memory), 32)
	d.want(101, "cuDeviceGet", address(&c.value), 1)
	d.want(0, "cuDeviceGetAttribute", address(&c.value), 97, 0)
	if c.value != 232448 {
		t.Errorf("shared memory a block may have: %d", c.value)
	}
	d.want(0, "cuCtxCreate_v2", address(&c.context), 0, 0)

	d.want(1, "cuMemAlloc_v2", address(&c.memory), 0)
	d.want(2, "cuMemAlloc_v2", address(&c.memory), 1<<50)
	d.want(0, "cuMemAlloc_v2", address(&c.memory), 32)
	d.want(0, "cuMemcpyHtoD_v2", uintptr(c.memory), address(&c.host), 32)
	d.want(1, "cuMemcpyHtoD_v2", uintptr(c.memory), address(&c.host), 33)
	d.want(1, "cuMemcpyHtoD_v2", uintptr(c.memory)+4, address(&c.host), 32)
	d.want(1, "cuMemFree_v2", uintptr(c.memory)+4)
	d.want(1, "cuMemsetD32_v2", uintptr(c.memory)+2, 0, 1)
	d.want(0, "cuMemsetD32_v2", uintptr(c.memory)+28, 100, 1)

	d.want(209, "cuModuleLoadData", address(&c.module), address(&c.host))
	d.want(0, "cuModuleLoadData", address(&c.module), address(&image[0]))
	d.want(500, "cuModuleGetFunction", address(&c.function), c.module, address(&[]byte("sub\x00")[0]))
	d.want(0, "cuModuleGetFunction", address(&c.function), c.module, address(&[]byte("add\x00")[0]))

	c.params = [3]uintptr{address(&c.memory), address(&c.count), address(&c.by)}
	launch := func(status int, threads, shared uintptr) {
		t.Helper()
		d.want(status, "cuLaunchKernel", c.function, 2, 1, 1, threads, 1, 1, shared, 0, address(&c.params), 0)
	}
	launch(1, 2048, 0)
	launch(1, 4, 64<<10) // not asked for
	d.want(1, "cuFuncSetAttribute", c.function, 8, 1<<20)
	d.want(0, "cuFuncSetAttribute", c.function, 8, 64<<10)
	d.want(0, "cuEventCreate", address(&c.event), 0)
	d.want(0, "cuEventCreate", address(&c.other), 0)
	d.want(400, "cuEventElapsedTime", address(&c.ms), c.event, c.other)
	d.want(0, "cuEventRecord", c.event, 0)
	launch(0, 4, 64<<10)
	d.want(0, "cuEventRecord", c.other, 0)
	d.want(0, "cuEventElapsedTime_v2", address(&c.ms), c.event, c.other)
	if !(c.ms > 0) {
		t.Errorf("a launch took %v ms", c.ms)
	}
	d.want(0, "cuMemcpyDtoH_v2", address(&c.host), uintptr(c.memory), 32)
	if want := [8]int32{8, 9, 10, 11, 12, 6, 7, 100}; c.host != want {
		t.Errorf("memory %v, expected %v", c.host, want)
	}

	d.want(801, "cuGraphCreate", 0, 0)
	d.want(0, "cuModuleGetFunction", address(&c.function), c.module, address(&[]byte("past\x00")[0]))
	launch(719, 2, 0)
	d.want(719, "cuCtxSynchronize") // as after a fault of a device
	d.want(719, "cuMemFree_v2", uintptr(c.memory))
}

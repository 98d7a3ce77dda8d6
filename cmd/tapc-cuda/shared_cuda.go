//go:build cuda

package main

// #include <cuda.h>
//
// static CUresult tapc_allow_shared(CUfunction f, int bytes) {
//   return cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
// }
import "C"

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"
)

// sharedByDefault is the dynamic shared memory that a kernel may have without asking.
const sharedByDefault = 48 << 10

// A cu.Function is a struct of one handle, which cu does not give out; this fails to compile if that
// ever changes.
var _ [unsafe.Sizeof(cu.Function{})]byte = [unsafe.Sizeof(C.CUfunction(nil))]byte{}

// allowShared asks the driver for more dynamic shared memory than kernels have by default, which cu has
// no call for.
func allowShared(fn cu.Function, bytes int64) error {
	if bytes <= sharedByDefault {
		return nil
	}
	handle := *(*C.CUfunction)(unsafe.Pointer(&fn))
	if code := C.tapc_allow_shared(handle, C.int(bytes)); code != 0 {
		return fmt.Errorf("cuFuncSetAttribute for %d bytes of dynamic shared memory: error %d", bytes, int(code))
	}
	return nil
}

// Package ptx is the CUDA text that stands before kernels which use tensor cores or asynchronous copies: functions tapc_mma_...,
// tapc_ldmatrix_... and tapc_cp_async_... over inline PTX. It imports nothing. Read next: backends/cuda/print.go.
package ptx

import _ "embed"

// Text is the file tapc_device.cuh. Under the emulation it is empty, and the emulation's header has the functions, with the same meaning.
//
//go:embed tapc_device.cuh
var Text string

package emu

import (
	"context"
	"testing"

	"tensortapestry.org/tapc/internal/cudashim/launchlist"
	"tensortapestry.org/tapc/internal/testkit"
)

// benchmark reports what the launch itself took, without the process around it.
func benchmark(b *testing.B, source string, buffers []Buffer, l launchlist.Launch) {
	p, err := Compile(context.Background(), source, Options{})
	testkit.Need(b, testkit.Compilers, err)
	defer p.Close()
	total := 0.0
	for b.Loop() {
		r, err := p.Run(context.Background(), buffers, []launchlist.Launch{l}, Settings{})
		if err != nil {
			b.Fatal(err)
		}
		total += r.Milliseconds[0]
	}
	threads := float64(l.Grid[0] * l.Grid[1] * l.Block[0] * l.Block[1])
	b.ReportMetric(total/float64(b.N)*1e6/threads, "ns/thread")
}

// A thread that does next to nothing: the cost of a fiber.
func BenchmarkThread(b *testing.B) {
	const n = 1 << 18
	benchmark(b, `extern "C" __global__ void k(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f; }`,
		[]Buffer{{"x", make([]byte, 4*n)}}, launch("k", n/256, 256, 0, launchlist.At("x", 0)))
}

// 64 barriers a thread.
func BenchmarkBarriers(b *testing.B) {
	benchmark(b, `extern "C" __global__ void k(float* x) { for (int i = 0; i < 64; i++) __syncthreads(); }`,
		[]Buffer{{"x", make([]byte, 4)}}, launch("k", 64, 256, 0, launchlist.At("x", 0)))
}

// 64 shuffles a thread.
func BenchmarkShuffles(b *testing.B) {
	benchmark(b, `extern "C" __global__ void k(float* x) {
	float v = threadIdx.x;
	for (int i = 0; i < 64; i++) v += __shfl_xor_sync(0xffffffffu, v, 1);
	if (v == 1.0f) x[0] = v;
}`, []Buffer{{"x", make([]byte, 4)}}, launch("k", 64, 256, 0, launchlist.At("x", 0)))
}

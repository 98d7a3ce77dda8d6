package emu

import (
	"math"
	"strings"
	"testing"

	"github.com/x448/float16"

	"tensortapestry.org/tapc/backends/cuda/ptx"
	"tensortapestry.org/tapc/backends/cuda/toolchain"
	"tensortapestry.org/tapc/internal/cudashim/launchlist"
	"tensortapestry.org/tapc/internal/testkit"
)

// rounded returns random values of a 16-bit format, as its bits and as what they are worth.
func rounded(n int, seed uint64, bits func(float32) uint16, value func(uint16) float32) ([]uint16, []float32) {
	stored, worth := make([]uint16, n), make([]float32, n)
	for i, v := range random(n, seed) {
		stored[i] = bits(v)
		worth[i] = value(stored[i])
	}
	return stored, worth
}

func productInGo(x, w []float32, m, n, k int) []float32 {
	z := make([]float32, m*n)
	for i := range m {
		for j := range n {
			sum := 0.0
			for l := range k {
				sum += float64(x[i*k+l]) * float64(w[l*n+j])
			}
			z[i*n+j] = float32(sum)
		}
	}
	return z
}

func halfBits(v float32) uint16         { return float16.Fromfloat32(v).Bits() }
func halfValue(b uint16) float32        { return float16.Frombits(b).Float32() }
func dims(x, y, z int64) launchlist.Dim { return launchlist.Dim{x, y, z} }

// product16 runs a tensor core product of 16-bit values; it returns what came out and what must.
func product16(t *testing.T, p *Program, kernel string, seed uint64, bits func(float32) uint16, value func(uint16) float32) (got, want []float32, err error) {
	t.Helper()
	const m, n, k = 64, 32, 80
	x, xv := rounded(m*k, 8, bits, value)
	w, wv := rounded(k*n, 9, bits, value)
	buffers := []Buffer{{"x", Bytes(x)}, {"w", Bytes(w)}, {"z", make([]byte, 4*m*n)}}
	_, err = p.Run(t.Context(), buffers, []launchlist.Launch{{
		Kernel: kernel, Grid: dims(n/16, m/32, 1), Block: dims(128, 1, 1),
		Args: []launchlist.Arg{launchlist.At("x", 0), launchlist.At("w", 0), launchlist.At("z", 0), launchlist.I32(n), launchlist.I32(k)},
	}}, Settings{Seed: seed})
	return Values[float32](buffers[2].Data), productInGo(xv, wv, m, n, k), err
}

func TestTensorCores16(t *testing.T) {
	p := program(t, "tensor.cu", Options{})
	for _, seed := range seeds {
		got, want, err := product16(t, p, "product_bf16", seed, brain, brainValue)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "bfloat16", got, want, 1e-5)
		if got, want, err = product16(t, p, "product_f16", seed, halfBits, halfValue); err != nil {
			t.Fatal(err)
		}
		near(t, "half", got, want, 1e-5)
	}
}

// tf32 rounds to 10 bits of mantissa, ties away from zero.
func tf32(v float32) float32 {
	return math.Float32frombits((math.Float32bits(v) + 0x1000) &^ 0x1fff)
}

func TestTensorCoresTF32(t *testing.T) {
	p := program(t, "tensor.cu", Options{})
	const m, n, k = 32, 24, 40
	x, w := random(m*k, 10), random(k*n, 11)
	buffers := []Buffer{{"x", Bytes(x)}, {"w", Bytes(w)}, {"z", make([]byte, 4*m*n)}}
	run(t, p, 1, buffers, launchlist.Launch{
		Kernel: "product_tf32", Grid: dims(n/8, m/16, 1), Block: dims(32, 1, 1),
		Args: []launchlist.Arg{launchlist.At("x", 0), launchlist.At("w", 0), launchlist.At("z", 0), launchlist.I32(n), launchlist.I32(k)},
	})
	for i := range x {
		x[i] = tf32(x[i])
	}
	for i := range w {
		w[i] = tf32(w[i])
	}
	near(t, "TF32", Values[float32](buffers[2].Data), productInGo(x, w, m, n, k), 1e-5)
}

// A copy that is not waited for has not happened.
func TestForgottenWaitShowsUp(t *testing.T) {
	p := program(t, "tensor.cu", Options{Defines: []string{"FORGET_WAIT"}})
	got, want, err := product16(t, p, "product_bf16", 0, brain, brainValue)
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for i := range want {
		if !(math.Abs(float64(got[i]-want[i])) < 1e-3) {
			wrong++
		}
	}
	if wrong == 0 {
		t.Error("a product that does not wait for its copies was right, expected wrong values")
	}
}

func TestPartialCopy(t *testing.T) {
	p := program(t, "tensor.cu", Options{})
	x := make([]int32, 128)
	for i := range x {
		x[i] = int32(i + 1)
	}
	for _, seed := range seeds {
		buffers := []Buffer{{"x", Bytes(x)}, {"y", make([]byte, 512)}}
		run(t, p, seed, buffers, launch("partial_copy", 1, 32, 0, launchlist.At("x", 0), launchlist.At("y", 0), launchlist.I32(8)))
		for i, v := range Values[int32](buffers[1].Data) {
			want := x[i]
			if i%4 >= 2 {
				want = 0
			}
			if v != want {
				t.Fatalf("seed %d: element %d is %d, expected %d", seed, i, v, want)
			}
		}
	}
}

// The real compiler makes tensor core instructions and asynchronous copies of the same text.
func TestDeviceTextBecomesInstructions(t *testing.T) {
	tc := toolchain.ForTest(t)
	text := strings.ReplaceAll(source(t, "tensor.cu"), `#include "tapc_device.cuh"`, ptx.Text)
	cubin, info, err := tc.CompileCubin(t.Context(), text, "sm_90", toolchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if k, _ := info.Kernel("product_bf16"); k.SpillStores != 0 || k.StaticShared != 2*(32+16)*24*2 {
		t.Errorf("%+v, expected no spills and 4608 bytes of shared memory", k)
	}
	sass, err := tc.Disassemble(t.Context(), cubin)
	testkit.Need(t, testkit.CUDA, err)
	for _, instruction := range []string{"HMMA.16816.F32.BF16", "HMMA.16816.F32 ", "HMMA.1688.F32.TF32", "LDGSTS", "LDSM.16.M88.4", "LDSM.16.MT88.2"} {
		if !strings.Contains(sass, instruction) {
			t.Errorf("no %s among the instructions", instruction)
		}
	}
}

func TestChecksAcceptTensorCores(t *testing.T) {
	for _, check := range []Check{Address, Race} {
		got, want, err := product16(t, program(t, "tensor.cu", Options{Check: check}), "product_bf16", 1, brain, brainValue)
		if err != nil {
			t.Fatalf("%v: %v", check, err)
		}
		near(t, check.String(), got, want, 1e-5)
	}
}

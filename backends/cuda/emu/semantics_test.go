package emu

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"

	"tensortapestry.org/tapc/internal/cudashim/launchlist"
	"tensortapestry.org/tapc/internal/testkit"
)

func TestHandoff(t *testing.T) {
	p := program(t, right, Options{})
	for _, seed := range seeds {
		buffers := []Buffer{{"x", make([]byte, 4*100)}}
		run(t, p, seed, buffers, launch("handoff", 1, 100, 0, launchlist.At("x", 0)))
		for i, v := range Values[int32](buffers[0].Data) {
			if v != int32(i+1) {
				t.Fatalf("seed %d: element %d is %d, expected %d", seed, i, v, i+1)
			}
		}
	}
}

func TestVotes(t *testing.T) {
	p := program(t, right, Options{})
	for _, seed := range seeds {
		buffers := []Buffer{{"x", make([]byte, 4*64*12)}}
		run(t, p, seed, buffers, launch("votes", 1, 64, 0, launchlist.At("x", 0)))
		got := Values[uint32](buffers[0].Data)
		for i := range uint32(64) {
			if diff := cmp.Diff(wantVotes(i), got[i*12:i*12+12]); diff != "" {
				t.Fatalf("seed %d, thread %d (-want +got)\n%s", seed, i, diff)
			}
		}
	}
}

// wantVotes is what the kernel votes must find for thread i of 64, worked out from the guide's text.
func wantVotes(i uint32) []uint32 {
	lane, group := i%32, i/8*8
	match := uint32(0)
	for other := range uint32(32) {
		if other%3 == lane%3 {
			match |= 1 << other
		}
	}
	up, down := i, i
	if i-group >= 3 {
		up = i - 3
	}
	if i-group < 5 {
		down = i + 3
	}
	half := i/32*32 + 31 // the largest of the upper half
	if lane < 16 {
		half = 16*(i/32*32) + 120 // the sum of the lower half
	}
	return []uint32{match, 1, 0, 13, 1, 0, i ^ 31, up, down, group + 1, half, 0} // a full mask plus one
}

func TestParameterTypes(t *testing.T) {
	p := program(t, "types.cu", Options{})
	buffers := []Buffer{{"y", make([]byte, 32)}}
	l := launch("types", 1, 1, 0, launchlist.At("y", 0), launchlist.Bits8(1), launchlist.Bits8(200), launchlist.Bits16(0xfffe), launchlist.U32(3_000_000_000),
		launchlist.I64(-1<<40), launchlist.F64(0.1), launchlist.Bits16(float16.Fromfloat32(1.5).Bits()))
	run(t, p, 0, buffers, l)
	near(t, "types", Values[float32](buffers[0].Data), []float32{1, 200, -2, 3e9, -1 << 40, 0.1, 1.5, 1}, 1e-7)
}

// brain rounds to bfloat16 as the format's definition says: to nearest, ties to even.
func brain(v float32) uint16 {
	b := math.Float32bits(v)
	return uint16((uint64(b) + 0x7fff + uint64(b>>16&1)) >> 16)
}

func brainValue(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

func TestHalves(t *testing.T) {
	p := program(t, "types.cu", Options{})
	const n = 1 << 16 // every half there is, in pairs; every finite bfloat16
	x, w := make([]uint16, 2*n), make([]uint16, n)
	for i := range n {
		x[2*i], x[2*i+1], w[i] = uint16(i), uint16(i*7), uint16(i)
	}
	buffers := []Buffer{{"x", Bytes(x)}, {"w", Bytes(w)}, {"y", make([]byte, 4*n)}, {"z", make([]byte, 2*n)}}
	run(t, p, 0, buffers, launch("halves", n/256, 256, 0, launchlist.At("x", 0), launchlist.At("w", 0), launchlist.At("y", 0), launchlist.At("z", 0), launchlist.I32(n)))
	y, z := Values[uint16](buffers[2].Data), Values[uint16](buffers[3].Data)
	for i := range n {
		low, high := float16.Frombits(x[2*i]).Float32(), float16.Frombits(x[2*i+1]).Float32()
		checkHalf(t, i, y[2*i], low*0.5+low)
		checkHalf(t, i, y[2*i+1], high*0.5+1)
		v := brainValue(uint16(i))
		want := brainValue(brain(v*3)) + 0.125
		if got := brainValue(z[i]); got != brainValue(brain(want)) && !(got != got && want != want) {
			t.Fatalf("bfloat16 %04x: %v, expected %v", i, got, want)
		}
	}
}

// checkHalf: the exact value fits a float, so one rounding by another's library is the right answer.
func checkHalf(t *testing.T, i int, got uint16, exact float32) {
	t.Helper()
	want := float16.Fromfloat32(exact)
	if want.IsNaN() != float16.Frombits(got).IsNaN() || !want.IsNaN() && want.Bits() != got {
		t.Fatalf("half pair %d: %04x, expected %04x (%v)", i, got, want.Bits(), exact)
	}
}

func TestMathFunctions(t *testing.T) {
	p := program(t, "types.cu", Options{})
	x := []float32{1e-6, 0.01, 0.3, 0.5, 1, 1.5, 2.5, 3.5, 7, 20}
	buffers := []Buffer{{"x", Bytes(x)}, {"y", make([]byte, 4*12*len(x))}}
	run(t, p, 0, buffers, launch("math", 1, int64(len(x)), 0, launchlist.At("x", 0), launchlist.At("y", 0)))
	y := Values[float32](buffers[1].Data)
	for i, f := range x {
		v := float64(f)
		want := []float32{
			float32(1 / math.Sqrt(v)), float32(math.Exp(v)), float32(math.Tanh(v)), float32(math.Erf(v)), float32(math.Log(v)),
			float32(0.5 * math.Erfc(-v/math.Sqrt2)), float32(math.RoundToEven(v)), -f, max(f, 1), min(f, 0.5),
			min(f, 1), float32(math.Erfinv(float64(f / (1 + f)))),
		}
		near(t, "math", y[12*i:12*i+12], want, 3e-7)
	}
}

func TestCompileErrors(t *testing.T) {
	_, err := HostCompiler()
	testkit.Need(t, testkit.Compilers, err)
	cases := []struct{ source, want string }{
		{"extern \"C\" __global__ void k(float* x) {\n  x[0] = missing;\n}", "kernel.cu:2"},
		{"__global__ void k(int* x) {\n\n  asm volatile(\"mov.u32 %0, 1;\" : \"=r\"(*x));\n}", "inline_PTX_is_not_emulated_see_TAPC_CUDA_EMU"},
		{"#include <cuda_fp8.h>\n", "cuda_fp8.h"},
		{"__global__ void k(float* x) { atomicSub(x, 1.0f); }", "atomicSub has no form for this type"},
	}
	for _, c := range cases {
		p, err := Compile(t.Context(), c.source, Options{})
		if err == nil {
			p.Close()
		}
		var refused *CompileError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, expected %q in it", c.source, err, c.want)
		}
	}
	if _, err := Compile(t.Context(), "", Options{Compiler: "/nonexistent/c++"}); err == nil {
		t.Error("a compiler that is not there: expected an error")
	}
}

func TestLaunchBounds(t *testing.T) {
	p := program(t, right, Options{})
	buffers := []Buffer{{"x", make([]byte, 4)}}
	l := launch("saxpy", 1, 256, 0, launchlist.I32(1), launchlist.F32(1), launchlist.At("x", 0), launchlist.At("x", 0))
	_, err := p.Run(t.Context(), buffers, []launchlist.Launch{l}, Settings{})
	if err == nil || !strings.Contains(err.Error(), "256 threads a block, but its launch bounds allow 128") {
		t.Errorf("error %v, expected the launch bounds", err)
	}
}

// Machines without the hand-made switch use ucontext.
func TestPortableFibers(t *testing.T) {
	p := program(t, "handoff.cu", Options{Defines: []string{"TAPC_EMU_UCONTEXT"}})
	buffers := []Buffer{{"x", make([]byte, 4*64*12)}}
	run(t, p, 1, buffers, launch("votes", 1, 64, 0, launchlist.At("x", 0)))
	got := Values[uint32](buffers[0].Data)
	if diff := cmp.Diff(wantVotes(63), got[63*12:]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

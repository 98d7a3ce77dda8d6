package emu

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"tensortapestry.org/tapc/internal/cudashim/launchlist"
)

// runWrong runs one kernel of wrong.cu on a buffer x and returns the error and what x then holds.
func runWrong(t *testing.T, opts Options, s Settings, x []float32, l launchlist.Launch) (string, []float32) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	buffers := []Buffer{{"x", Bytes(x)}}
	_, err := program(t, "wrong.cu", opts).Run(ctx, buffers, []launchlist.Launch{l}, s)
	if err == nil {
		return "", Values[float32](buffers[0].Data)
	}
	var wrong *RunError
	if !errors.As(err, &wrong) {
		t.Fatalf("%s: error %v, expected a *RunError", l.Kernel, err)
	}
	return err.Error(), nil
}

func TestWrongKernels(t *testing.T) {
	x, nan := launchlist.At("x", 0), float32(math.NaN())
	cases := []struct {
		launch launchlist.Launch
		want   []string
	}{
		{launch("exits_early", 1, 64, 0, x, launchlist.I32(48)), []string{
			"kernel exits_early, block (0,0,0)", "48 of 64 threads", "wait at __syncthreads in line 6", "16 of 64 threads (first: thread (48,0,0)) have exited"}},
		{launch("two_barriers", 1, 64, 0, x), []string{"divergent barrier", "__syncthreads in line 11", "__syncthreads in line 14"}},
		{launch("lanes_disagree", 1, 32, 0, x), []string{"divergent warp operation", "in line 25", "in line 27"}},
		{launch("not_in_mask", 1, 32, 0, x), []string{"thread (16,0,0)", "mask 0x0000ffff does not name the calling lane 16"}},
		{launch("past_end", 1, 1, 0, x, launchlist.I32(64)), []string{"block (0,0,0), thread (0,0,0): invalid write at 0 bytes past the end of buffer x (256 bytes)"}},
		{launch("past_end", 1, 4, 0, x, launchlist.I32(63)), []string{"thread (1,0,0): invalid write"}},
		{launch("before_begin", 1, 1, 0, x), []string{"wrote before the begin of buffer x"}},
		{launch("misaligned", 1, 1, 0, x), []string{"kernel misaligned", "a vector access is not aligned"}},
		{launch("trapped", 1, 64, 0, x), []string{"kernel trapped, block (0,0,0), thread (5,0,0): __trap()"}},
		{launch("recursion", 1, 1, 0, x), []string{"kernel recursion", "stack is full"}},
		{launch("nothing", 1, 1, 0), []string{"no kernel nothing"}},
		{launch("past_end", 1, 1, 0, x), []string{"kernel past_end takes 2 arguments, 1 given"}},
		{launch("past_end", 1, 1, 0, x, launchlist.F32(1)), []string{"parameter 1", "kind f", "expected kind i and 4 bytes"}},
		{launch("past_end", 1, 1, 0, x, launchlist.I64(1)), []string{"parameter 1", "8 bytes given, expected kind i and 4 bytes"}},
		{launch("past_end", 1, 1, 0, launchlist.U64(1), launchlist.I32(1)), []string{"parameter 0", "expected kind p"}},
		{launch("past_end", 1, 1, 0, x, x), []string{"parameter 1: a buffer given"}},
		{launch("past_end", 1, 1, 1<<20, x, launchlist.I32(0)), []string{"1048576 bytes of dynamic shared memory: expected at most 232448"}},
	}
	for _, c := range cases {
		data := make([]float32, 64)
		data[5] = nan
		got, _ := runWrong(t, Options{}, Settings{}, data, c.launch)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: error %q, expected %q in it", c.launch.Kernel, got, want)
			}
		}
	}
}

// What real devices let pass can be let pass here too.
func TestExitedPassBarriers(t *testing.T) {
	data := make([]float32, 64)
	for i := range data {
		data[i] = float32(i)
	}
	for _, seed := range seeds {
		problem, got := runWrong(t, Options{}, Settings{ExitedPassBarriers: true, Seed: seed}, data, launch("exits_early", 1, 64, 0, launchlist.At("x", 0), launchlist.I32(48)))
		if problem != "" || got[0] != 47 || got[47] != 0 || got[50] != 50 {
			t.Errorf("seed %d: error %q, x = %v, expected the first 48 reversed", seed, problem, got)
		}
	}
}

func TestUninitialisedSharedIsPoison(t *testing.T) {
	_, got := runWrong(t, Options{}, Settings{}, make([]float32, 64), launch("uninitialised", 1, 64, 256, launchlist.At("x", 0)))
	for i, v := range got {
		if math.Float32bits(v) != 0xffffffff {
			t.Fatalf("element %d read from shared memory that nobody wrote is %v, expected the poison pattern", i, v)
		}
	}
}

func TestEndlessKernelIsStopped(t *testing.T) {
	p := program(t, "wrong.cu", Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := p.Run(ctx, []Buffer{{"x", make([]byte, 4)}}, []launchlist.Launch{launch("spins_for_ever", 1, 1, 0, launchlist.At("x", 0))}, Settings{})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "kernel spins_for_ever, block (0,0,0)") {
		t.Errorf("error %v, expected the deadline and the thread", err)
	}
}

func TestAddressCheck(t *testing.T) {
	opts := Options{Check: Address}
	got, _ := runWrong(t, opts, Settings{}, make([]float32, 32), launch("shared_overflow", 1, 32, 0, launchlist.At("x", 0)))
	if !strings.Contains(got, "global-buffer-overflow") || !strings.Contains(got, "thread (31,0,0)") || !strings.Contains(got, "kernel.cu:36") {
		t.Errorf("overflow of a shared array: %q, expected the thread and line 36", got)
	}
	got, _ = runWrong(t, opts, Settings{}, make([]float32, 5), launch("past_end", 1, 1, 0, launchlist.At("x", 0), launchlist.I32(5)))
	if !strings.Contains(got, "heap-buffer-overflow") || !strings.Contains(got, "kernel past_end") {
		t.Errorf("a write past a buffer: %q", got)
	}
	got, _ = runWrong(t, opts, Settings{}, make([]float32, 64), launch("uninitialised", 1, 64, 252, launchlist.At("x", 0)))
	if got != "" {
		t.Errorf("dynamic shared memory inside its size: %q, expected no error", got)
	}
	got, _ = runWrong(t, opts, Settings{}, make([]float32, 64), launch("uninitialised", 1, 64, 240, launchlist.At("x", 0)))
	if !strings.Contains(got, "use-after-poison") || !strings.Contains(got, "thread (60,0,0)") {
		t.Errorf("dynamic shared memory past its size: %q", got)
	}
}

func TestRaceCheck(t *testing.T) {
	opts := Options{Check: Race}
	got, _ := runWrong(t, opts, Settings{}, make([]float32, 256), launch("no_barrier", 1, 256, 0, launchlist.At("x", 0)))
	if !strings.Contains(got, "data race") || !strings.Contains(got, "kernel.cu:21") {
		t.Errorf("a missing barrier: %q, expected a data race", got)
	}
	got, _ = runWrong(t, opts, Settings{}, make([]float32, 64), launch("blocks_collide", 2, 64, 0, launchlist.At("x", 0)))
	if !strings.Contains(got, "data race") || !strings.Contains(got, "block (1,0,0) thread (0,0,0)") {
		t.Errorf("two blocks that write one place: %q, expected a data race", got)
	}
}

func TestPrinting(t *testing.T) {
	p := program(t, "wrong.cu", Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	r, err := p.Run(ctx, []Buffer{{"x", make([]byte, 4)}}, []launchlist.Launch{launch("prints", 1, 2, 0, launchlist.At("x", 0), launchlist.I32(3))}, Settings{})
	if want := "thread 0: 0\nthread 0: 1\nthread 0: 2\nthread 1: 0\nthread 1: 1\nthread 1: 2\n"; err != nil || r.Stdout != want {
		t.Errorf("printed %q (error %v), expected %q", r.Stdout, err, want)
	}
	r, err = p.Run(ctx, []Buffer{{"x", make([]byte, 4)}}, []launchlist.Launch{launch("prints", 1, 1, 0, launchlist.At("x", 0), launchlist.I32(math.MaxInt32))}, Settings{})
	if len(r.Stdout) != maxPrinted || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a kernel that prints without end: %d bytes kept, error %v", len(r.Stdout), err)
	}
}

// The checks stay silent on kernels that are right.
func TestChecksAcceptRightKernels(t *testing.T) {
	for _, check := range []Check{Address, Undefined, Race} {
		p := program(t, right, Options{Check: check})
		got, want := matmul(t, p, 3, 17, 33, 20)
		near(t, check.String(), got, want, 1e-5)

		buffers := []Buffer{{"x", Bytes(random(1000, 1))}, {"sum", make([]byte, 4)}, {"above", make([]byte, 4)}}
		run(t, p, 1, buffers, launch("reduce", 2, 256, 0, launchlist.At("x", 0), launchlist.At("sum", 0), launchlist.At("above", 0), launchlist.I64(1000), launchlist.F32(0)))

		buffers = []Buffer{{"x", Bytes(random(200, 1))}, {"y", make([]byte, 800)}}
		run(t, p, 1, buffers, launch("softmax", 2, 96, 400, launchlist.At("x", 0), launchlist.At("y", 0), launchlist.I32(100)))
	}
}

func TestRacesAreFoundWhereBarrierIsForgotten(t *testing.T) {
	if compiler, err := HostCompiler(); err == nil && isClang(compiler) {
		t.Skip("clang's runtime forgets accesses that gcc's remembers")
	}
	p := program(t, "matmul.cu", Options{Check: Race, Defines: []string{"FORGET_BARRIER"}})
	x := make([]byte, 4*64*64)
	_, err := p.Run(t.Context(), []Buffer{{"x", x}, {"w", x}, {"z", make([]byte, len(x))}}, []launchlist.Launch{{
		Kernel: "matmul", Grid: launchlist.Dim{2, 2, 1}, Block: launchlist.Dim{16, 16, 1},
		Args: []launchlist.Arg{launchlist.At("x", 0), launchlist.At("w", 0), launchlist.At("z", 0), launchlist.I32(32), launchlist.I32(32), launchlist.I32(64)},
	}}, Settings{})
	if err == nil || !strings.Contains(err.Error(), "data race") {
		t.Errorf("error %v, expected a data race", err)
	}
}

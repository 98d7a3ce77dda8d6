package cuda

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/cuda/gpu"
	"tensortapestry.org/tapc/backends/cuda/toolchain"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/cudashim/launchlist"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/tile"
)

// Codes of machines that kernels of a GPU cannot be measured on.
const (
	codeCompiler = "TAP0253" // there is no CUDA compiler
	codeOld      = "TAP0254" // the GPU cannot run what is written for the target
)

// lab measures on the GPU of this machine, by what the CUDA compiler makes for it.
type lab struct {
	runner *gpu.Runner
	nvcc   *toolchain.Toolchain
	arch   string // that is compiled for
	dir    string
	number int // of programs
}

// newLab finds the GPU and the compiler.
func newLab(ctx context.Context, r backends.LabRequest) (backends.Lab, error) {
	if r.Threads != 0 {
		return nil, diag.Usage("kernels of a GPU run on all of it: expected no number of threads, found %d", r.Threads)
	}
	runner, err := gpu.Find(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backends.ErrNoMeasure, err)
	}
	l := &lab{runner: runner, dir: r.Dir}
	major, minor, err := runner.Device.Capability()
	if err != nil {
		return nil, err
	}
	l.arch = fmt.Sprintf("sm_%d%d", major, minor)
	if lowest, _ := strconv.Atoi(strings.TrimPrefix(Target, "sm_")); 10*major+minor < lowest {
		return nil, fmt.Errorf("%w: %w", backends.ErrNoMeasure, diag.Errorf(codeOld, "cuda", diag.Location{}, "kernels are written for GPUs from %s on", Target).
			Want(fmt.Sprintf("compute capability %d.%d or more", lowest/10, lowest%10), runner.Device.ComputeCapability+" of "+runner.Device.Name))
	}
	if l.nvcc, err = toolchain.Find(); err != nil {
		return nil, fmt.Errorf("%w: %w", backends.ErrNoMeasure, diag.Errorf(codeCompiler, "cuda", diag.Location{}, "%v", err))
	}
	return l, nil
}

// Chooser is that of the back end.
func (*lab) Chooser() tile.Chooser { return Chooser{} }

// On gives the name of the GPU.
func (l *lab) On() string { return l.runner.Device.Name }

// Holds gives the GPU, the driver, and the compiler. Kernels use no library: all that they are is in their text.
func (l *lab) Holds() ([]string, error) {
	d := l.runner.Device
	return []string{fmt.Sprintf("gpu %s of %d multiprocessors", d.Name, d.Multiprocessors), "capability " + d.ComputeCapability, "driver " + strconv.Itoa(d.Driver),
		"compiler nvcc " + l.nvcc.Version}, nil
}

// Code digests the CUDA text of a graph, without its remarks, and how it is launched.
func (l *lab) Code(g *ir.Graph) (string, error) {
	src, err := Emit(g, "kernel", "")
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for line := range strings.Lines(src.CUDA) {
		if !strings.HasPrefix(line, "//") {
			h.Write([]byte(line))
		}
	}
	for _, s := range src.Steps {
		fmt.Fprintln(h, s.Kernel, s.Grid, s.Block, s.Shared)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Build compiles a graph. What it reads is numbers at random, and what it does not write are bytes of ones.
func (l *lab) Build(ctx context.Context, g *ir.Graph) (backends.KernelProgram, error) {
	src, err := Emit(g, "kernel", "")
	if err != nil {
		return nil, err
	}
	module, _, err := l.nvcc.CompileCubin(ctx, src.CUDA, l.arch, toolchain.Options{})
	if err != nil {
		return nil, err
	}
	l.number++
	p := &program{lab: l, name: fmt.Sprint("kernel", l.number)}
	list := &launchlist.List{Version: launchlist.Version, Module: p.file("cubin")}
	for n := range g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok {
			if err := p.buffer(list, n.ID, b); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range src.Steps {
		if s.Kernel == "" {
			return nil, errors.New("it is no kernel by itself: something is copied")
		}
		if s.Grid == 0 {
			continue // there is nothing to compute
		}
		x := launchlist.Launch{Kernel: s.Kernel, Grid: launchlist.Dim{s.Grid, 1, 1}, Block: launchlist.Dim{s.Block, 1, 1}, Shared: s.Shared}
		for _, id := range s.Buffers {
			x.Args = append(x.Args, launchlist.At(bufferName(id), 0))
		}
		list.Launches = append(list.Launches, x)
	}
	err = errors.Join(launchlist.WriteFile(l.path(list.Module), module), list.Write(l.path(p.file("json"))))
	return p, err
}

func (l *lab) path(name string) string { return filepath.Join(l.dir, name) }

func bufferName(id ir.NodeID) string { return fmt.Sprint("b", id) }

// random gives a file of numbers of a buffer's type, which is the same for all programs.
func (l *lab) random(b *schedule.Buffer) (string, error) {
	t := &tensorops.Tensor{DType: b.DType, Range: zspace.MustShape(b.Bytes / int64(b.Type().Size()))}
	name := fmt.Sprintf("%s-%d", b.DType, b.Bytes)
	if _, err := os.Stat(l.path(name)); err == nil {
		return name, nil
	}
	x, err := constants.Random(t)
	if err != nil {
		return "", err
	}
	return name, launchlist.WriteFile(l.path(name), x.Data)
}

// program is a launch list of one kernel.
type program struct {
	lab     *lab
	name    string
	outputs []output
	session *gpu.Session // nil until it runs
	passes  int          // of one measurement, 0 until they are known
}

// output is a buffer that a kernel writes, and the file that it goes to.
type output struct {
	name, file string
	tensor     tensorfile.Tensor // without its data
}

// file names a file of the program.
func (p *program) file(suffix string) string { return p.name + "." + suffix }

// buffer adds a buffer to a list.
func (p *program) buffer(list *launchlist.List, id ir.NodeID, b *schedule.Buffer) (err error) {
	ones := uint8(0xff)
	x := launchlist.Buffer{Name: bufferName(id), Bytes: max(1, b.Bytes)}
	switch {
	case b.Space == schedule.Output:
		x.Byte = &ones
		o := output{name: x.Name, file: p.file(x.Name), tensor: tensorfile.Tensor{DType: b.Type(), Shape: []int64{b.Bytes / int64(b.Type().Size())}}}
		p.outputs = append(p.outputs, o)
		list.Outputs = append(list.Outputs, launchlist.Output{Buffer: o.name, File: o.file})
	case b.Bytes == 0:
		x.Byte = &ones
	default:
		x.File, err = p.lab.random(b)
	}
	list.Buffers = append(list.Buffers, x)
	return err
}

// start runs the kernel once.
func (p *program) start(ctx context.Context) (err error) {
	if p.session == nil {
		p.session, err = p.lab.runner.Start(ctx, p.lab.path(p.file("json")))
	}
	return err
}

// Values gives what the first run wrote.
func (p *program) Values(ctx context.Context) (map[string]tensorfile.Tensor, error) {
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	values := map[string]tensorfile.Tensor{}
	for _, o := range p.outputs {
		data, err := os.ReadFile(p.lab.path(o.file))
		if err != nil {
			return nil, err
		}
		o.tensor.Data = data
		values[o.name] = o.tensor
	}
	return values, nil
}

// How a kernel is timed: by batches of launches between two events, of which the least time counts, as what disturbs one makes it longer.
const (
	batches    = 5
	perBatch   = 0.003 // seconds that a batch takes at least
	mostPasses = 100_000
)

// Time gives the seconds of a launch in the shortest of some batches.
func (p *program) Time(ctx context.Context) (float64, error) {
	if err := p.start(ctx); err != nil {
		return 0, p.unmeasured(ctx, err)
	}
	if p.passes == 0 {
		first, err := p.session.Time(1)
		if err != nil {
			return 0, p.unmeasured(ctx, err)
		}
		p.passes = max(1, int(min(perBatch/max(first, 1e-9), mostPasses)))
	}
	var times []float64
	for range batches {
		t, err := p.session.Time(p.passes)
		if err != nil {
			return 0, p.unmeasured(ctx, err)
		}
		times = append(times, t/float64(p.passes))
	}
	return max(slices.Min(times), 1e-12), nil
}

// unmeasured is the error of a kernel that ran and now cannot be timed.
func (*program) unmeasured(ctx context.Context, err error) error {
	if ended := context.Cause(ctx); ended != nil {
		return ended
	}
	return fmt.Errorf("%w: %w", backends.ErrNoMeasure, err)
}

// Remove ends the process and removes its files.
func (p *program) Remove() {
	if p.session != nil {
		p.session.Close()
	}
	for _, name := range []string{p.file("cubin"), p.file("json")} {
		os.Remove(p.lab.path(name))
	}
	for _, o := range p.outputs {
		os.Remove(p.lab.path(o.file))
	}
}

package tune

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/configs"
	"tensortapestry.org/tapc/backends/cpu/isa"
	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/cost/calibrate"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Bench is what kernels are measured on: this machine, and the programs that a compiler makes for it.
type Bench struct {
	Compiler *toolchain.Compiler
	CPU      string     // as --cpu names the processor
	Target   isa.Target // that it is
	Threads  int        // that programs run on
	Dir      string     // a folder for them
	number   int
}

// NewBench finds out about the processor that programs are for. They have to be for one.
func NewBench(ctx context.Context, cc *toolchain.Compiler, processor string, threads int) (*Bench, error) {
	targets, err := cc.Targets(ctx, processor)
	if err == nil && len(targets) != 1 {
		err = ErrSeveral
	}
	if err != nil {
		return nil, err
	}
	return &Bench{Compiler: cc, CPU: processor, Target: targets[0], Threads: threads}, nil
}

// ErrSeveral is the error of a program of versions for several processors.
var ErrSeveral = errors.New("what is measured is for one processor: expected --cpu=native, or the name of one that this machine can run")

// Chooser is what offers and checks configs for the processor.
func (b *Bench) Chooser() configs.Chooser { return configs.Chooser{For: b.Target} }

// key is what figures of a kernel hold for: processor and caches, compiler and flags, the run-time library and the C of the kernel by its default, which
// change with the back end's templates, threads, and the kernel as text, with the layouts of its buffers and what it may do to numbers.
func (b *Bench) key(k *Kernel, def *schedule.Config) ([]string, error) {
	processor, known := toolchain.Processor()
	caches, err := calibrate.Caches()
	if !known || err != nil {
		return nil, fmt.Errorf("%w: the system does not say what processor and caches it has: %v", ErrNoMeasure, err)
	}
	compiler, lasts := b.Compiler.Digest(b.Target.Flags)
	if !lasts {
		return nil, fmt.Errorf("%w: the compiler's flags name files, which may change", ErrNoMeasure)
	}
	text, err := k.Text(def)
	if err != nil {
		return nil, err
	}
	code, err := b.Code(k, def)
	return []string{"processor " + digest(processor), "caches " + caches, "compiler " + compiler, "library " + rt.Digest(), "code " + code,
		"threads " + strconv.Itoa(b.Threads), "kernel " + digest(text)}, err
}

// Code digests the C of a kernel by a config.
func (b *Bench) Code(k *Kernel, c *schedule.Config) (string, error) {
	src, err := cpu.EmitFor(k.With(c), "kernel", "", b.Target)
	if err != nil {
		return "", err
	}
	return digest(src.C), nil
}

// Build makes the program of a kernel by a config. Constants are numbers at random.
func (b *Bench) Build(ctx context.Context, k *Kernel, c *schedule.Config) (Program, error) {
	g := k.With(c)
	src, err := cpu.Prepare(g, "kernel", "")
	if err != nil {
		return nil, err
	}
	b.number++
	p := &program{path: filepath.Join(b.Dir, fmt.Sprint("kernel", b.number)), threads: b.Threads}
	return p, cpu.Build(ctx, b.Compiler, src, func(x tensorops.Const) (tensorfile.Tensor, error) { return constant(tensorops.TensorOf(g, x.Tensor)) }, p.path, cpu.Options{CPU: b.CPU})
}

package cpu

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/cpu/configs"
	"tensortapestry.org/tapc/backends/cpu/isa"
	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/backends/cpu/trial"
	"tensortapestry.org/tapc/cost/calibrate"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/tile"
)

// Lab measures on this machine, by the programs that a compiler makes for it.
type Lab struct {
	Compiler *toolchain.Compiler
	CPU      string     // as the option names the processor
	Target   isa.Target // that it is
	Threads  int        // that programs run on
	Dir      string     // a folder for them
	number   int
}

// Chooser is that of the processor.
func (l *Lab) Chooser() tile.Chooser { return configs.Chooser{For: l.Target} }

// On gives the threads.
func (l *Lab) On() string {
	if l.Threads == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", l.Threads)
}

// Holds gives the processor and its caches, the compiler and its flags, the run-time library, and threads.
func (l *Lab) Holds() ([]string, error) {
	processor, known := toolchain.Processor()
	caches, err := calibrate.Caches()
	if !known || err != nil {
		return nil, fmt.Errorf("%w: the system does not say what processor and caches it has: %v", backends.ErrNoMeasure, err)
	}
	compiler, lasts := l.Compiler.Digest(l.Target.Flags)
	if !lasts {
		return nil, fmt.Errorf("%w: the compiler's flags name files, which may change", backends.ErrNoMeasure)
	}
	return []string{"processor " + digest(processor), "caches " + caches, "compiler " + compiler, "library " + rt.Digest(), "threads " + strconv.Itoa(l.Threads)}, nil
}

// Code digests the C of a graph.
func (l *Lab) Code(g *ir.Graph) (string, error) {
	src, err := EmitFor(g, "kernel", "", l.Target)
	if err != nil {
		return "", err
	}
	return digest(src.C), nil
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Build compiles a graph. Constants are numbers at random.
func (l *Lab) Build(ctx context.Context, g *ir.Graph) (backends.KernelProgram, error) {
	src, err := Prepare(g, "kernel", "")
	if err != nil {
		return nil, err
	}
	l.number++
	p := &trial.Program{Path: filepath.Join(l.Dir, fmt.Sprint("kernel", l.number)), Threads: l.Threads}
	return p, Build(ctx, l.Compiler, src, func(x tensorops.Const) (tensorfile.Tensor, error) {
		return constants.Random(tensorops.TensorOf(g, x.Tensor))
	}, p.Path, Options{CPU: l.CPU})
}

// Package emu runs CUDA C++ kernels on a CPU, for tests and for machines without a GPU.
//
// The text of a .cu file is compiled as it is by the host's C++ compiler behind a header that gives
// it CUDA's meaning (include/tapc_emu_cuda.h, embedded here), and its kernels run in a process of
// their own. Every CUDA thread is a fiber, so barriers, shuffles and votes work in divergent code, and
// what a GPU would hang on or silently get wrong is an error: a barrier that some threads do not
// reach, warp operations that disagree, an access outside a buffer, a misaligned vector access. A seed
// permutes the order of threads and blocks, which makes a missing barrier show up as a wrong value;
// the Race check reports it outright.
//
// It is exact about order and memory and approximate about arithmetic: the fast intrinsics are
// computed exactly, and a*b+c is not contracted unless Options.FMA asks for it. Inline PTX cannot run;
// a text keeps it behind #ifndef TAPC_CUDA_EMU.
//
// The package must not import gorgonia.org/cu. Read next: include/tapc_emu/block.h for the scheduler,
// source.go for the few changes made to the text, internal/cudashim/launchlist for launches.
package emu

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tensortapestry.org/tapc/backends/cuda/ptx"
	"tensortapestry.org/tapc/internal/childproc"
)

//go:embed include
var headers embed.FS

// Check is a tool of the compiler that watches the kernels while they run. Programs with one are
// several times slower.
type Check int

// The checks.
const (
	None      Check = iota
	Address         // accesses outside any buffer, shared array or local array, exact to the byte
	Undefined       // what C++ leaves undefined: overflow, shifts, misalignment, null
	Race            // two threads that touch the same bytes, one writing, with no barrier between; gcc finds more than clang
)

// String gives the check's name.
func (c Check) String() string {
	return [...]string{"none", "address", "undefined", "race"}[c]
}

// Options are the choices of a compilation. The zero value compiles with the host's compiler at -O1.
type Options struct {
	Compiler string // a C++17 compiler; by default $CXX, else g++, else clang++
	Check    Check
	FMA      bool     // contract a*b+c, as nvcc does by default
	Shared   bool     // a shared library with tapc_emu_launch, in place of a program to Run
	Optimize string   // -O1 by default
	Defines  []string // NAME or NAME=VALUE
}

// CompileError is the host compiler's refusal of a text.
type CompileError struct {
	Compiler string
	Output   string // what it printed; the text is called kernel.cu in it
}

// Error gives the compiler and what it printed.
func (e *CompileError) Error() string {
	return e.Compiler + ": " + strings.TrimSpace(e.Output)
}

// Program is a compiled text. Its methods may be called concurrently.
type Program struct {
	Path    string   // the executable, or the shared library
	Kernels []string // in the order of the text

	dir   string
	check Check
}

// Close removes the program's files.
func (p *Program) Close() error { return os.RemoveAll(p.dir) }

// HostCompiler returns the C++ compiler that Compile uses by default, or an error that says what to
// install.
func HostCompiler() (string, error) {
	names := []string{"g++", "clang++"}
	if cxx := os.Getenv("CXX"); cxx != "" {
		names = []string{cxx}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no C++ compiler found (%s): install g++ or clang++, or set CXX to one", strings.Join(names, ", "))
}

// Compile compiles a CUDA text for the CPU. Its kernels are the __global__ functions at file scope
// that are not templates. A refused text is a *CompileError or a *SourceError.
func Compile(ctx context.Context, source string, opts Options) (*Program, error) {
	unit, kernels, err := translate(source)
	if err != nil {
		return nil, err
	}
	compiler := opts.Compiler
	if compiler == "" {
		if compiler, err = HostCompiler(); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp("", "tapc-emu-")
	if err != nil {
		return nil, err
	}
	p := &Program{Path: filepath.Join(dir, "kernels"), dir: dir, check: opts.Check}
	for _, k := range kernels {
		p.Kernels = append(p.Kernels, k.name)
	}
	if err := p.build(ctx, compiler, unit, opts); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Program) build(ctx context.Context, compiler, unit string, opts Options) error {
	if err := writeHeaders(p.dir); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(p.dir, "unit.cpp"), []byte(unit), 0o666); err != nil {
		return err
	}
	cmd := childproc.Command(ctx, compiler, opts.arguments(compiler)...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TMPDIR="+p.dir)
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	err := childproc.Run(ctx, cmd)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", compiler, ctx.Err())
	case printed.Len() == 0:
		return fmt.Errorf("%s: %w", compiler, err)
	}
	return &CompileError{Compiler: compiler, Output: printed.String()}
}

// arguments: strict aliasing is off because kernels read floats as float4; wrapping is defined because
// the device's is; alignment traps because the device faults.
func (o Options) arguments(compiler string) []string {
	optimize := o.Optimize
	if optimize == "" {
		optimize = "-O1"
	}
	args := []string{
		"-std=c++17", optimize, "-g1", "-w", "-fno-strict-aliasing", "-fno-omit-frame-pointer",
		"-Iinclude", "-o", "kernels", "unit.cpp",
	}
	if o.FMA {
		args = append(args, "-ffp-contract=fast", "-march=native")
	} else {
		args = append(args, "-ffp-contract=off")
	}
	if o.Shared {
		// Hidden, because the linker would let all loaded libraries share one state.
		args = append(args, "-shared", "-fPIC", "-fvisibility=hidden", "-DTAPC_EMU_SHARED")
	}
	switch o.Check {
	case Address:
		args = append(args, "-fwrapv", "-fsanitize=address")
	case Undefined:
		args = append(args, "-fsanitize=undefined", "-fno-sanitize-recover=all")
	case Race:
		args = append(args, "-fwrapv", "-fsanitize=thread")
	default:
		trap := "-fsanitize-undefined-trap-on-error"
		if isClang(compiler) {
			trap = "-fsanitize-trap=alignment"
		}
		args = append(args, "-fwrapv", "-fsanitize=alignment", trap)
	}
	for _, d := range o.Defines {
		args = append(args, "-D"+d)
	}
	return args
}

func isClang(compiler string) bool { return strings.Contains(filepath.Base(compiler), "clang") }

// writeHeaders puts the emulation's headers, and Device, into dir/include.
func writeHeaders(dir string) error {
	if err := os.Mkdir(filepath.Join(dir, "include"), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "include", "tapc_device.cuh"), []byte(ptx.Text), 0o666); err != nil {
		return err
	}
	return fs.WalkDir(headers, "include", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(dir, path), 0o777)
		}
		text, err := headers.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, path), text, 0o666)
	})
}

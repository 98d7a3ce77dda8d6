package toolchain

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/internal/childproc"
)

// Cubin is a module of machine code for one GPU architecture.
type Cubin []byte

// Options are the choices that change the code that is made. The zero value is nvcc's defaults with
// C++17 and position in errors.
type Options struct {
	FastMath     bool     // flush denormals, approximate division, square root and elementary functions
	NoFMA        bool     // do not contract a*b+c
	MaxRegisters int      // registers a thread at most; 0 for no limit
	LineInfo     bool     // keep source lines for profilers
	Defines      []string // NAME or NAME=VALUE
	IncludeDirs  []string
}

// CompileError is the compiler's refusal of a source text.
type CompileError struct {
	Target string // the architecture asked for
	Output string // what the compiler printed; the text is called kernel.cu in it
}

// Error gives the architecture and what the compiler printed.
func (e *CompileError) Error() string {
	return fmt.Sprintf("nvcc for %s: %s", e.Target, strings.TrimSpace(e.Output))
}

const sourceName = "kernel.cu"

// CompileCubin compiles CUDA C++ text to machine code for arch, such as "sm_90", and returns with it
// what ptxas says of every kernel. The same text and options give the same bytes.
// A refused text is a *CompileError.
func (t *Toolchain) CompileCubin(ctx context.Context, src, arch string, opts Options) (Cubin, Info, error) {
	if !realArch.MatchString(arch) {
		return nil, Info{}, fmt.Errorf("architecture %q: expected sm_NN, such as sm_90", arch)
	}
	args := append(opts.arguments(), "-arch="+arch, "--ptxas-options=-v", "-cubin")
	out, log, err := t.run(ctx, src, arch, args)
	if err != nil {
		return nil, Info{}, err
	}
	info, err := ParseInfo(log)
	return out, info, err
}

// CompilePTX compiles CUDA C++ text to PTX for arch, such as "sm_90" or "compute_90"; a driver turns
// it into machine code when it loads it. A refused text is a *CompileError.
func (t *Toolchain) CompilePTX(ctx context.Context, src, arch string, opts Options) (string, error) {
	if !anyArch.MatchString(arch) {
		return "", fmt.Errorf("architecture %q: expected sm_NN or compute_NN", arch)
	}
	virtual := "compute_" + arch[strings.IndexByte(arch, '_')+1:]
	out, _, err := t.run(ctx, src, virtual, append(opts.arguments(), "-arch="+virtual, "-ptx"))
	return string(out), err
}

// CompileFatbin compiles CUDA C++ text to one module that holds machine code for each sm_NN and PTX
// for each compute_NN of archs. A refused text is a *CompileError.
func (t *Toolchain) CompileFatbin(ctx context.Context, src string, archs []string, opts Options) ([]byte, error) {
	if len(archs) == 0 {
		return nil, fmt.Errorf("no architecture given: expected sm_NN or compute_NN")
	}
	args := opts.arguments()
	for _, arch := range archs {
		if !anyArch.MatchString(arch) {
			return nil, fmt.Errorf("architecture %q: expected sm_NN or compute_NN", arch)
		}
		number := arch[strings.IndexByte(arch, '_')+1:]
		args = append(args, fmt.Sprintf("-gencode=arch=compute_%s,code=%s", number, arch))
	}
	out, _, err := t.run(ctx, src, strings.Join(archs, ","), append(args, "-fatbin"))
	return out, err
}

var (
	realArch = regexp.MustCompile(`^sm_\d+[af]?$`)
	anyArch  = regexp.MustCompile(`^(sm|compute)_\d+[af]?$`)
)

func (o Options) arguments() []string {
	args := []string{"-std=c++17"}
	if o.FastMath {
		args = append(args, "-use_fast_math")
	}
	if o.NoFMA {
		args = append(args, "--fmad=false")
	}
	if o.MaxRegisters > 0 {
		args = append(args, "-maxrregcount="+strconv.Itoa(o.MaxRegisters))
	}
	if o.LineInfo {
		args = append(args, "-lineinfo")
	}
	for _, d := range o.Defines {
		args = append(args, "-D"+d)
	}
	for _, dir := range o.IncludeDirs {
		args = append(args, "-I"+dir)
	}
	return args
}

// run compiles src in a folder of its own, where nothing but relative names reaches the output, and
// returns the product and what was printed.
func (t *Toolchain) run(ctx context.Context, src, target string, args []string) (product []byte, log string, err error) {
	dir, err := os.MkdirTemp("", "tapc-cuda-")
	if err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, sourceName), []byte(src), 0o666); err != nil {
		return nil, "", err
	}
	cmd := childproc.Command(ctx, t.NVCC, append(args, "-o", "kernel.out", sourceName)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "LC_ALL=C")
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := childproc.Run(ctx, cmd); err != nil {
		if ctx.Err() != nil {
			return nil, "", fmt.Errorf("nvcc for %s: %w", target, ctx.Err())
		}
		return nil, "", &CompileError{Target: target, Output: printed.String()}
	}
	product, err = os.ReadFile(filepath.Join(dir, "kernel.out"))
	return product, printed.String(), err
}

// Package toolchain finds a CUDA compiler and compiles CUDA C++ text with it.
//
// No GPU and no driver are needed: compiling ahead of time is plain text in, machine code out, with
// ptxas's own account of registers, spills and shared memory beside it. A compiler can be had
// without root by tools/cuda/install.sh. The package must not import gorgonia.org/cu or anything
// that loads the driver; it knows nothing of tapc's graphs. Read next: backends/cuda/emu, which runs
// the same text on a CPU.
package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"tensortapestry.org/tapc/internal/childproc"
	"tensortapestry.org/tapc/internal/filecache"
)

// HomeVariable names the environment variable that overrides where a CUDA toolkit is looked for.
const HomeVariable = "TAPC_CUDA_HOME"

const installHint = "run tools/cuda/install.sh (needs python3 with pip, no root), or put nvcc on PATH, " +
	"or set " + HomeVariable + " to a CUDA 12 or 13 toolkit"

// Toolchain is one usable CUDA toolkit. Its methods may be called concurrently.
type Toolchain struct {
	Root    string // the toolkit's folder: the parent of bin
	NVCC    string // the compiler driver's path
	Version string // such as "13.0.88"
}

// NotFoundError says that no CUDA compiler was found, where it was looked for, and what to install.
type NotFoundError struct {
	Tried []string // one line a place, in the order tried
}

// Error gives the places and what to install.
func (e *NotFoundError) Error() string {
	return "no CUDA compiler found (" + strings.Join(e.Tried, "; ") + "): " + installHint
}

// Find returns the first usable toolkit of: $TAPC_CUDA_HOME (if set, only this), nvcc on PATH,
// /usr/local/cuda, and the folder that tools/cuda/install.sh fills. When there is none the error is
// a *NotFoundError; when one is there and does not run, the error says why.
func Find() (*Toolchain, error) {
	if home := os.Getenv(HomeVariable); home != "" {
		nvcc := filepath.Join(home, "bin", "nvcc")
		if err := executable(nvcc); err != nil {
			return nil, &NotFoundError{Tried: []string{HomeVariable + ": " + err.Error()}}
		}
		return open(nvcc)
	}
	missing := &NotFoundError{}
	for _, p := range places() {
		err := p.usable()
		if err == nil {
			return open(p.nvcc)
		}
		missing.Tried = append(missing.Tried, err.Error())
	}
	return nil, missing
}

// CacheDir is the folder that tools/cuda/install.sh fills by default: $XDG_CACHE_HOME/tapc/cuda, or
// .cache/tapc/cuda in the home folder; empty if neither is known or the name is relative.
func CacheDir() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "tapc", "cuda")
}

// places lists where to look, with the folders of each that nobody else may write.
func places() []place {
	list := []place{{nvcc: "nvcc"}, {nvcc: "/usr/local/cuda/bin/nvcc"}}
	if dir := CacheDir(); dir != "" {
		bin := filepath.Join(dir, "bin")
		list = append(list, place{filepath.Join(bin, "nvcc"), []string{dir, bin}})
	}
	return list
}

// place is where a compiler may be.
type place struct {
	nvcc    string
	private []string
}

// usable returns nil if the compiler is there and, in a cache, nobody else could have put it there.
func (p place) usable() error {
	if err := executable(p.nvcc); err != nil || p.private == nil {
		return err
	}
	for _, path := range append(p.private, p.nvcc) {
		info, err := os.Stat(path)
		if err == nil {
			err = filecache.Private(info)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// executable returns nil if path (or, without a slash, a name on PATH) can be run.
func executable(path string) error {
	_, err := exec.LookPath(path)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%s is not on PATH", path)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no %s", path)
	}
	return err
}

var releaseLine = regexp.MustCompile(`release (\d+\.\d+)(?:, V(\d+(?:\.\d+)*))?`)

func open(nvcc string) (*Toolchain, error) {
	path, err := exec.LookPath(nvcc)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if err := hostCompiler(); err != nil {
		return nil, err
	}
	out, err := exec.Command(path, "--version").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s --version: %w: %s", path, err, firstLine(string(out)))
	}
	found := releaseLine.FindStringSubmatch(string(out))
	if found == nil {
		return nil, fmt.Errorf("%s --version names no release: %s", path, firstLine(string(out)))
	}
	version := found[2]
	if version == "" {
		version = found[1]
	}
	return &Toolchain{Root: filepath.Dir(filepath.Dir(path)), NVCC: path, Version: version}, nil
}

// hostCompiler checks for the C++ compiler that nvcc preprocesses with.
func hostCompiler() error {
	if os.Getenv("NVCC_CCBIN") != "" {
		return nil
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		return errors.New("nvcc needs a host compiler: install g++, or set NVCC_CCBIN to one")
	}
	return nil
}

// IncludeDir returns the folder that holds cuda.h, for building programs against the driver API.
func (t *Toolchain) IncludeDir() (string, error) {
	target := map[string]string{"amd64": "x86_64-linux", "arm64": "sbsa-linux"}[runtime.GOARCH]
	dirs := []string{
		filepath.Join(t.Root, "include"),
		filepath.Join(t.Root, "targets", target, "include"),
		"/usr/include",
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "cuda.h")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("cuda.h is in none of %s: %s", strings.Join(dirs, ", "), installHint)
}

// tool returns the path of one of the toolkit's other programs.
func (t *Toolchain) tool(name string) (string, error) {
	path := filepath.Join(t.Root, "bin", name)
	if executable(path) == nil {
		return path, nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("%s is not in %s or on PATH: run tools/cuda/install.sh without --minimal", name, filepath.Join(t.Root, "bin"))
}

// Disassemble returns the machine code of a cubin as text (cuobjdump --dump-sass).
func (t *Toolchain) Disassemble(ctx context.Context, cubin Cubin) (string, error) {
	path, err := t.tool("cuobjdump")
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "tapc-cuda-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "kernel.cubin"), cubin, 0o666); err != nil {
		return "", err
	}
	cmd := childproc.Command(ctx, path, "--dump-sass", "kernel.cubin")
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := childproc.Run(ctx, cmd); err != nil {
		return "", fmt.Errorf("cuobjdump: %w: %s", err, firstLine(out.String()))
	}
	return out.String(), nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// Package fake builds a CUDA driver library that needs no GPU: libcuda.so.1 whose device memory is
// host memory and whose modules are shared libraries of emulated kernels.
//
// A program that uses the driver, through gorgonia.org/cu or by its own dlopen, runs on it as it is.
// It is also what such programs are linked against where no driver is installed; on a machine with a
// driver, the loader then finds the real one. The package must not import gorgonia.org/cu. Read next:
// src/libcuda.c, and backends/cuda/emu for the modules (Options.Shared).
package fake

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed src/libcuda.c
var source []byte

// Build compiles the library with the host's C compiler ($CC, else cc) into dir, as libcuda.so.1 and,
// for linkers, libcuda.so.
func Build(ctx context.Context, dir string) error {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		return fmt.Errorf("no C compiler: install gcc or clang, or set CC to one: %w", err)
	}
	text := filepath.Join(dir, "libcuda.c")
	if err := os.WriteFile(text, source, 0o666); err != nil {
		return err
	}
	defer os.Remove(text)
	cmd := exec.CommandContext(ctx, cc, "-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden",
		"-Wl,-soname,libcuda.so.1", "-o", "libcuda.so.1", "libcuda.c", "-ldl", "-lpthread")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cc, err, out)
	}
	link := filepath.Join(dir, "libcuda.so")
	if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Symlink("libcuda.so.1", link)
}

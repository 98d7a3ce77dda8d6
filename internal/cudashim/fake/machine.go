package fake

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// BuildMachine puts into a folder what a machine with a GPU has, without one: lib/libcuda.so.1, bin/nvcc, which compiles for it (backends/cuda/emu/nvcc), and
// bin/tapc-cuda. It needs the go command within this module, gcc, and CUDA's headers.
func BuildMachine(ctx context.Context, dir string) error {
	lib, bin := filepath.Join(dir, "lib"), filepath.Join(dir, "bin")
	for _, d := range []string{lib, bin} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			return err
		}
	}
	if err := Build(ctx, lib); err != nil {
		return err
	}
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	at := strings.TrimSpace(string(root))
	for _, words := range [][]string{{"go", "build", "-o", filepath.Join(bin, "nvcc"), "./backends/cuda/emu/nvcc"},
		{filepath.Join(at, "tools", "cuda", "build.sh"), filepath.Join(bin, "tapc-cuda")}} {
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Dir = at
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", words, err, out)
		}
	}
	return nil
}

// Environment gives the variables by which programs find what BuildMachine put into a folder.
func Environment(dir string) map[string]string {
	return map[string]string{"LD_LIBRARY_PATH": filepath.Join(dir, "lib"), "TAPC_CUDA_HOME": dir,
		"PATH": filepath.Join(dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH")}
}

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// findTapc gives the tapc to run, built from the tree this program is run in if none is named.
func (s *settings) findTapc(ctx context.Context, dir string) (string, error) {
	if s.tapc != "" {
		return filepath.Abs(s.tapc)
	}
	path := filepath.Join(dir, "tapc")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "tensortapestry.org/tapc/cmd/tapc").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building tapc: %w\n%s", err, out)
	}
	return path, nil
}

// debianPackages are what mlir-opt needs that a Debian with a C++ compiler does not have.
var debianPackages = []string{"mlir-19-tools", "libllvm19", "libz3-4"}

// findMLIR gives an mlir-opt and the environment that it needs.
func findMLIR(ctx context.Context, path, dir string) (string, []string, error) {
	if path != "" {
		return path, nil, works(ctx, path, nil)
	}
	for _, name := range []string{"mlir-opt-19", "mlir-opt"} {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil, works(ctx, found, nil)
		}
	}
	return fetchMLIR(ctx, filepath.Join(dir, "mlir"))
}

// works asks a program for its version.
func works(ctx context.Context, path string, env []string) error {
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s --version: %w: %s", path, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// fetchMLIR unpacks Debian's packages into a directory without installing them.
func fetchMLIR(ctx context.Context, dir string) (string, []string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, err
	}
	fetch := exec.CommandContext(ctx, "apt-get", append([]string{"download"}, debianPackages...)...)
	fetch.Dir = dir
	if out, err := fetch.CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("apt-get download: %w: %s", err, strings.TrimSpace(string(out)))
	}
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return "", nil, err
	}
	for _, deb := range debs {
		if out, err := exec.CommandContext(ctx, "dpkg-deb", "-x", deb, dir).CombinedOutput(); err != nil {
			return "", nil, fmt.Errorf("dpkg-deb -x %s: %w: %s", deb, err, out)
		}
		os.Remove(deb)
	}
	return mlirIn(ctx, dir)
}

// mlirIn finds mlir-opt and the directories of shared libraries in an unpacked tree.
func mlirIn(ctx context.Context, dir string) (string, []string, error) {
	program := ""
	var libs []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == "mlir-opt" && d.Type().IsRegular():
			program = path
		case strings.HasPrefix(d.Name(), "libLLVM") || strings.HasPrefix(d.Name(), "libz3"):
			libs = append(libs, filepath.Dir(path))
		}
		return nil
	})
	if err != nil {
		return "", nil, err
	}
	if program == "" {
		return "", nil, fmt.Errorf("the packages %v hold no mlir-opt", debianPackages)
	}
	env := []string{"LD_LIBRARY_PATH=" + strings.Join(libs, ":")}
	return program, env, works(ctx, program, env)
}

package cpu

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/ir/diag"
)

// ErrNoCompiler says that the machine has no C compiler.
var ErrNoCompiler = errors.New("no C compiler found")

// Compiler is a C compiler of this machine.
type Compiler struct {
	Path    string
	Version string // first line of --version
}

// FindCompiler looks for a C compiler: the one that CC names, else cc, gcc or clang on the PATH. ErrNoCompiler is in the
// error's chain if there is none.
func FindCompiler() (*Compiler, error) {
	candidates := []string{"cc", "gcc", "clang"}
	if cc := os.Getenv("CC"); cc != "" {
		candidates = []string{cc}
	}
	for _, c := range candidates {
		path, err := exec.LookPath(c)
		if err != nil {
			continue
		}
		out, err := exec.Command(path, "--version").Output()
		if err != nil {
			continue
		}
		line, _, _ := strings.Cut(string(out), "\n")
		return &Compiler{Path: path, Version: line}, nil
	}
	return nil, &diag.StatusError{Status: diag.ExitInternal, Err: fmt.Errorf("%w (looked for %s): install one, "+
		"such as \"apt-get install gcc libc6-dev\", \"dnf install gcc\" or \"apk add gcc musl-dev\", or name it in CC",
		ErrNoCompiler, strings.Join(candidates, ", "))}
}

// Flags with which generated programs are compiled. Contraction to fused multiply-add and the absence of errno and traps
// change no result beyond the last bit of a product that is added; nothing here reorders sums.
func Flags(cpu string) []string {
	flags := []string{"-std=c11", "-O3", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-pthread"}
	if cpu != "" && cpu != "baseline" {
		flags = append(flags, "-march="+cpu)
		if runtime.GOARCH == "amd64" && (cpu == "native" || cpu == "x86-64-v4") {
			flags = append(flags, "-mprefer-vector-width=512")
		}
	}
	return flags
}

// run calls the compiler; what it printed is in the error.
func (c *Compiler) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, c.Path, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return diag.Fault("%s: %v\n%s", c.Path, err, strings.TrimSpace(firstLines(out.String(), 20)))
	}
	return nil
}

func firstLines(s string, n int) string {
	lines := strings.SplitN(s, "\n", n+1)
	if len(lines) > n {
		lines[n] = "…"
	}
	return strings.Join(lines, "\n")
}

// library gives the folder with the compiled run-time library, from the cache or made now. The folder's name is a digest of
// the sources, the compiler and its flags, so a cache is never stale.
func (c *Compiler) library(ctx context.Context, version string) (string, error) {
	flags := []string{"-std=c11", "-O2", "-pthread", fmt.Sprintf("-DTAPC_VERSION=%q", version)}
	h := sha256.Sum256([]byte(rt.Digest() + c.Path + c.Version + strings.Join(flags, " ")))
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	dir := filepath.Join(base, "tapc", "runtime-"+hex.EncodeToString(h[:12]))
	if _, err := os.Stat(filepath.Join(dir, rt.Header)); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", diag.Fault("the cache of compiled objects: %v", err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "new-")
	if err != nil {
		return "", diag.Fault("the cache of compiled objects: %v", err)
	}
	defer os.RemoveAll(tmp)
	if err := c.compileLibrary(ctx, tmp, flags); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, raced := os.Stat(filepath.Join(dir, rt.Header)); raced != nil {
			return "", diag.Fault("the cache of compiled objects: %v", err)
		}
	}
	return dir, nil
}

// compileLibrary writes the library's sources into a folder and compiles each.
func (c *Compiler) compileLibrary(ctx context.Context, dir string, flags []string) error {
	for name, text := range rt.Files() {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return diag.Fault("the cache of compiled objects: %v", err)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, name := range rt.Sources(true) {
		group.Go(func() error {
			args := append([]string{}, flags...)
			return c.run(ctx, append(args, "-c", filepath.Join(dir, name), "-o", filepath.Join(dir, object(name)))...)
		})
	}
	return group.Wait()
}

func object(name string) string { return strings.TrimSuffix(name, ".c") + ".o" }

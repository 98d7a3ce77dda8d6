package cpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"tensortapestry.org/tapc/ir/diag"
)

// ErrNoCompiler says that the machine has no C compiler.
var ErrNoCompiler = errors.New("no C compiler found")

// Compiler is a C compiler of this machine.
type Compiler struct {
	Path    string
	Version string // first line of --version
	says    string // all of --version
	gnu     bool   // it is GCC
}

// FindCompiler looks for a C compiler: the one that CC names, else cc, gcc or clang on the PATH. ErrNoCompiler is in the
// error's chain if there is none.
func FindCompiler() (*Compiler, error) {
	if cc := os.Getenv("CC"); cc != "" {
		return findCompiler(cc)
	}
	return findCompiler("cc", "gcc", "clang")
}

// findCompiler gives the first of some compilers that is there.
func findCompiler(candidates ...string) (*Compiler, error) {
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
		return &Compiler{Path: path, Version: line, says: string(out), gnu: strings.Contains(string(out), "Free Software Foundation")}, nil
	}
	return nil, &diag.StatusError{Status: diag.ExitInternal, Err: fmt.Errorf("%w (looked for %s): install one, "+
		"such as \"apt-get install gcc libc6-dev\", \"dnf install gcc\" or \"apk add gcc musl-dev\", or name it in CC",
		ErrNoCompiler, strings.Join(candidates, ", "))}
}

// usualFlags are those with which generated programs are compiled. Contraction to fused multiply-add and the absence of errno and traps
// change no result beyond the last bit of a product that is added; nothing here reorders sums.
func usualFlags() []string {
	return []string{"-std=c11", "-O3", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi"}
}

// stackFlags make GCC align the stack where a function needs it. Up to version 14 it does not see accesses through a pointer to a
// local array when it looks for what a function without calls needs (GCC bugs 109780 and 109093), and then its vectors fault on
// a stack that is aligned to 8 bytes; told that no more can be relied on, it aligns for the arrays themselves.
func (c *Compiler) stackFlags() []string {
	if !c.gnu || runtime.GOARCH != "amd64" {
		return nil
	}
	return []string{"-mincoming-stack-boundary=3"}
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

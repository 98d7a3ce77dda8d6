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

	"tensortapestry.org/tapc/internal/childproc"
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
func FindCompiler(ctx context.Context) (*Compiler, error) {
	if cc := os.Getenv("CC"); cc != "" {
		return findCompiler(ctx, cc)
	}
	return findCompiler(ctx, "cc", "gcc", "clang")
}

// findCompiler gives the first of some compilers that is there.
func findCompiler(ctx context.Context, candidates ...string) (*Compiler, error) {
	for _, c := range candidates {
		path, err := exec.LookPath(c)
		if err != nil {
			continue
		}
		var says strings.Builder
		cmd := childproc.Command(ctx, path, "--version")
		cmd.Stdout = &says
		err = childproc.Run(ctx, cmd)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			continue
		}
		line, _, _ := strings.Cut(says.String(), "\n")
		return &Compiler{Path: path, Version: line, says: says.String(), gnu: strings.Contains(says.String(), "Free Software Foundation")}, nil
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

// run calls the compiler, whose temporary files go to the folder of the build; what it printed is in the error.
func (c *Compiler) run(ctx context.Context, dir string, args ...string) error {
	out, err := c.output(ctx, dir, args...)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return diag.Fault("%s: %v\n%s", c.Path, err, strings.TrimSpace(firstLines(out, 20)))
}

// output gives what the compiler prints.
func (c *Compiler) output(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := childproc.Command(ctx, c.Path, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "TMP="+dir, "TEMP="+dir) // by the names that systems have for it
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := childproc.Run(ctx, cmd)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out.String(), err
}

func firstLines(s string, n int) string {
	lines := strings.SplitN(s, "\n", n+1)
	if len(lines) > n {
		lines[n] = "…"
	}
	return strings.Join(lines, "\n")
}

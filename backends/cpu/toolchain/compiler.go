// Package toolchain finds C compilers, asks them what they compile for, and compiles files with them; objects are kept in a cache. It knows
// nothing of graphs or kernels; it must not import backends/cpu. Read next: compiler.go, versions.go, cache.go.
package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/internal/childproc"
	"tensortapestry.org/tapc/ir/diag"
)

// ErrNoCompiler says that the machine has no C compiler.
var ErrNoCompiler error = &backends.Missing{What: "C compiler"}

// Compiler is a C compiler of this machine, for this machine or another.
type Compiler struct {
	Path    string
	Version string      // first line of --version
	Args    []string    // that come before all others
	says    string      // all of --version
	gnu     bool        // it is GCC
	Machine isa.Machine // what it compiles for
}

// Triple says what the compiler compiles for, as it calls that itself; "" if it does not say.
func (c *Compiler) Triple() string { return c.Machine.Triple }

// FindCompiler looks for a C compiler: the one that CC names, else cc, gcc or clang on the PATH. ErrNoCompiler is in the
// error's chain if there is none.
func FindCompiler(ctx context.Context) (*Compiler, error) {
	if cc := os.Getenv("CC"); cc != "" {
		return Find(ctx, cc)
	}
	return Find(ctx, "cc", "gcc", "clang")
}

// NamedCompiler is the compiler of a name or path, behind which there may be arguments, as in "clang --target=aarch64-linux-gnu".
func NamedCompiler(ctx context.Context, name string) (*Compiler, error) {
	cc, err := Find(ctx, name)
	if errors.Is(err, ErrNoCompiler) {
		return nil, diag.Usage("--cc=%s: no compiler of this name answers --version", name)
	}
	return cc, err
}

// Find gives the first of some compilers that is there.
func Find(ctx context.Context, candidates ...string) (*Compiler, error) {
	for _, name := range candidates {
		path, args, err := command(name)
		if err != nil {
			continue
		}
		says, err := answer(ctx, path, append(slices.Clone(args), "--version")...)
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			continue
		}
		triple, err := answer(ctx, path, append(slices.Clone(args), "-dumpmachine")...)
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		line, _, _ := strings.Cut(says, "\n")
		return &Compiler{Path: path, Version: line, Args: args, says: says, gnu: strings.Contains(says, "Free Software Foundation"),
			Machine: isa.MachineOf(strings.TrimSpace(triple))}, nil
	}
	return nil, &diag.StatusError{Status: diag.ExitInternal, Err: fmt.Errorf("%w (looked for %s): install one, "+
		"such as \"apt-get install gcc libc6-dev\", \"dnf install gcc\" or \"apk add gcc musl-dev\", or name it in CC",
		ErrNoCompiler, strings.Join(candidates, ", "))}
}

// command finds the program that a text names, alone or with arguments behind it.
func command(text string) (path string, args []string, err error) {
	if path, err = exec.LookPath(text); err == nil {
		return path, nil, nil
	}
	words := strings.Fields(text)
	if len(words) < 2 {
		return "", nil, err
	}
	path, err = exec.LookPath(words[0])
	return path, words[1:], err
}

// answer gives what a program prints on standard output.
func answer(ctx context.Context, path string, args ...string) (string, error) {
	var says strings.Builder
	cmd := childproc.Command(ctx, path, args...)
	cmd.Stdout = &says
	err := childproc.Run(ctx, cmd)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return says.String(), err
}

// UsualFlags are those with which generated programs are compiled. None of them changes a result: the compiler contracts nothing, as the text
// says where products and sums are fused (vector.Printer.MultiplyAdd), and nobody asks for errno and traps. Loops begin lines of the cache: one of
// few instructions that lies in two takes up to twice as long on Zen 3 (docs/performance.md, "Loops that lie in two lines").
func UsualFlags() []string {
	return []string{"-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-falign-loops=64", "-Wno-psabi"}
}

// StackFlags are those that GCC needs to align vectors on the stack.
func (c *Compiler) StackFlags() []string {
	if !c.gnu {
		return nil
	}
	return c.Machine.Stack
}

// Run calls the compiler, whose temporary files go to the folder of the build; what it printed is in the error.
func (c *Compiler) Run(ctx context.Context, dir string, args ...string) error {
	out, err := c.output(ctx, dir, args...)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return diag.Fault("%s: %v\n%s", c.Path, err, strings.TrimSpace(firstLines(out, 20)))
}

// output gives what the compiler prints.
func (c *Compiler) output(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := childproc.Command(ctx, c.Path, append(slices.Clone(c.Args), args...)...)
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

package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"tensortapestry.org/tapc/tools/lit/shell"
)

// inherited are the variables that tests see of the environment.
var inherited = []string{
	"PATH", "HOME", "USER", "TMPDIR", "TMP", "TEMP", "LD_LIBRARY_PATH", "LANG", "SYSTEMROOT", "FILECHECK_OPTS",
	"GOCOVERDIR", "GOCACHE", "GOROOT", "GOPATH", "CC", "CXX", "NVCC", "CUDA_HOME", "CUDA_VISIBLE_DEVICES",
}

// Run executes a test.
func Run(ctx context.Context, t Test) Result {
	start := time.Now()
	r := (&execution{test: t, ctx: ctx}).result()
	r.Elapsed = time.Since(start)
	return r
}

// execution is one test being run.
type execution struct {
	test     Test
	ctx      context.Context
	script   *script
	features map[string]bool
	out      strings.Builder
	captured map[string]blessing // while blessing: what filecheck was given, by prefix
}

func (e *execution) result() Result {
	text, err := os.ReadFile(e.test.Path)
	if err == nil {
		e.script, err = parseScript(string(text))
	}
	if err != nil {
		return Result{Code: Unresolved, Output: err.Error()}
	}
	e.features = e.test.features()
	reason, err := e.unsupported()
	if err != nil {
		return Result{Code: Unresolved, Output: err.Error()}
	}
	if reason != "" {
		return Result{Code: Unsupported, Output: reason}
	}
	expected, err := e.anyTrue(e.script.xfail)
	if err != nil {
		return Result{Code: Unresolved, Output: err.Error()}
	}
	if e.test.cfg.Rewrite && len(e.script.bless) > 0 {
		if r, done := e.bless(string(text)); done {
			return r
		}
	}
	code := e.attempts()
	expected = expected || slices.Contains(e.test.cfg.XFail, e.test.Name)
	return Result{Code: withExpectation(code, expected), Output: e.out.String()}
}

// withExpectation turns the outcome of a test that is expected to fail.
func withExpectation(code Code, failure bool) Code {
	switch {
	case failure && (code == Pass || code == FlakyPass):
		return XPass
	case failure && (code == Fail || code == Timeout):
		return XFail
	}
	return code
}

// features returns all that is true for a test.
func (t Test) features() map[string]bool {
	out := map[string]bool{
		runtime.GOOS: true, runtime.GOARCH: true, "system-" + runtime.GOOS: true,
		"target=" + runtime.GOARCH + "-" + runtime.GOOS: true,
	}
	for _, f := range t.cfg.Features {
		out[f] = true
	}
	return out
}

// unsupported returns why the test cannot be run here, or "".
func (e *execution) unsupported() (string, error) {
	if e.test.dir.Unsupported {
		return "the directory's configuration says that its tests are unsupported", nil
	}
	var missing []string
	for _, expr := range slices.Concat(e.script.requires, e.test.dir.Requires) {
		ok, err := evaluate(expr, e.features)
		if err != nil {
			return "", fmt.Errorf("REQUIRES: %w", err)
		}
		if !ok {
			missing = append(missing, expr)
		}
	}
	if missing != nil {
		return "test requires features that are not available: " + strings.Join(missing, ", "), nil
	}
	for _, expr := range e.script.unsupported {
		on, err := e.anyTrue([]string{expr})
		if err != nil {
			return "", fmt.Errorf("UNSUPPORTED: %w", err)
		}
		if on {
			return "test does not support the feature: " + expr, nil
		}
	}
	return "", nil
}

// anyTrue tells whether one of the expressions is true; "*" always is.
func (e *execution) anyTrue(exprs []string) (bool, error) {
	for _, expr := range exprs {
		if expr == "*" {
			return true, nil
		}
		if on, err := evaluate(expr, e.features); on || err != nil {
			return on, err
		}
	}
	return false, nil
}

// attempts runs the script until it passes or its retries are used up.
func (e *execution) attempts() Code {
	retries := 0
	if e.script.retries != nil {
		retries = *e.script.retries
	}
	for try := 0; ; try++ {
		code := e.attempt()
		switch {
		case code == Pass && try > 0:
			fmt.Fprintf(&e.out, "passed at attempt %d\n", try+1)
			return FlakyPass
		case code != Fail || try == retries:
			return code
		}
		fmt.Fprintf(&e.out, "attempt %d failed, trying again\n", try+1)
	}
}

// paths returns where the test's temporary files go and where it runs.
func (t Test) paths() (tmp, dir string) {
	dir = filepath.Join(t.cfg.OutDir, filepath.FromSlash(filepath.Dir(t.Name)))
	return filepath.Join(dir, "Output", filepath.Base(t.Path)+".tmp"), dir
}

// attempt runs the script once.
func (e *execution) attempt() Code {
	tmp, dir := e.test.paths()
	if err := os.MkdirAll(filepath.Dir(tmp), 0o777); err != nil {
		fmt.Fprintln(&e.out, err)
		return Unresolved
	}
	cfg := e.test.cfg
	subs := &substitutions{
		list:     slices.Concat(cfg.Substitutions, standard(e.test.Path, tmp)),
		features: e.features, passes: cfg.Passes,
	}
	ctx := e.ctx
	if cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cfg.Timeout)
		defer cancel()
	}
	session := shell.New(dir, e.environment(), e.tools())
	for _, l := range e.script.lines {
		if l.keyword != "RUN:" {
			if err := subs.define(l); err != nil {
				fmt.Fprintln(&e.out, err)
				return Unresolved
			}
			continue
		}
		line, err := subs.apply(l.text)
		if err != nil {
			fmt.Fprintf(&e.out, "line %d: %s\n", l.line, err)
			return Unresolved
		}
		if line == "" {
			continue // all of it was a condition that does not hold
		}
		if code := e.command(ctx, session, l.line, line); code != Pass {
			return code
		}
	}
	return Pass
}

func (e *execution) environment() []string {
	var env []string
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, e.test.cfg.Env...)
}

// command runs one RUN line and reports it.
func (e *execution) command(ctx context.Context, s *shell.Session, number int, line string) Code {
	first := len(s.Steps)
	status, err := s.Run(ctx, line)
	e.describe(number, line, s.Steps[first:])
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		fmt.Fprintf(&e.out, "error: timeout after %s\n", e.test.cfg.Timeout)
		return Timeout
	case ctx.Err() != nil:
		fmt.Fprintf(&e.out, "error: %s\n", ctx.Err())
		return Skipped
	case err != nil:
		fmt.Fprintf(&e.out, "error: %s\n", err)
		return Fail
	case status != 0:
		fmt.Fprintf(&e.out, "error: RUN line failed with exit status %d\n", status)
		return Fail
	}
	return Pass
}

// describe writes what a RUN line did.
func (e *execution) describe(number int, line string, steps []shell.Step) {
	fmt.Fprintf(&e.out, "RUN: at line %d: %s\n", number, line)
	for _, s := range steps {
		fmt.Fprintf(&e.out, "$ %s\n", s.Command)
		excerpt(&e.out, "stdout", s.Stdout)
		excerpt(&e.out, "stderr", s.Stderr)
		switch {
		case s.Crashed:
			fmt.Fprintf(&e.out, "# crashed (status %d)\n", s.Status)
		case s.Status != 0:
			fmt.Fprintf(&e.out, "# exit status %d\n", s.Status)
		}
	}
}

// maxExcerpt bounds how much of an output is shown.
const maxExcerpt = 64 << 10

func excerpt(out *strings.Builder, name, text string) {
	if text == "" {
		return
	}
	if n := len(text) - maxExcerpt; n > 0 {
		text = fmt.Sprintf("%s\n... %d bytes left out ...\n%s", text[:maxExcerpt/2], n, text[len(text)-maxExcerpt/2:])
	}
	fmt.Fprintf(out, "# %s:\n%s", name, text)
	if !strings.HasSuffix(text, "\n") {
		out.WriteString("\n")
	}
}

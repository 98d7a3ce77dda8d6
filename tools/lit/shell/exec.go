package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"
)

// stage is a command of a pipeline, ready to run.
type stage struct {
	args  []string // without the prefixes "env" and "not"
	env   map[string]string
	dir   string
	nots  int  // number of "not"s
	crash bool // "not --crash"
	tool  Tool
	shell builtin // a built-in that changes the session, or nil
	io    streams
	step  Step
	fault error
}

// streams are a stage's descriptors, what captures its output, and what is to be closed when it ends.
type streams struct {
	in       io.Reader
	out      [3]io.Writer // by descriptor; [0] is unused
	captured [3]*capture
	closers  []io.Closer
	piped    *os.File // the read end of the pipe before it, or nil
}

// capture collects output, up to a limit.
type capture struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	dropped int
}

// maxCapture bounds what is kept of the output of one command; redirect to a file for more.
const maxCapture = 16 << 20

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keep := min(len(p), maxCapture-c.buf.Len())
	c.buf.Write(p[:keep])
	c.dropped += len(p) - keep
	return len(p), nil
}

func (c *capture) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dropped == 0 {
		return c.buf.String()
	}
	return fmt.Sprintf("%s\n(%d more bytes)\n", c.buf.String(), c.dropped)
}

// pipeline runs commands connected by pipes. The status is that of the last command that failed.
func (s *Session) pipeline(ctx context.Context, commands []command) (int, error) {
	stages, err := s.connect(len(commands))
	for i, st := range stages {
		if err == nil {
			err = s.prepare(st, commands[i], len(commands) > 1)
		}
	}
	if err != nil {
		for _, st := range stages {
			st.release(false)
		}
		return 127, err
	}
	var done sync.WaitGroup
	for _, st := range stages {
		done.Go(func() {
			st.run(ctx, s)
			st.release(ctx.Err() == nil)
		})
	}
	done.Wait()
	return s.record(stages)
}

func (s *Session) record(stages []*stage) (status int, err error) {
	for _, st := range stages {
		st.step.Command = quote(st.args)
		st.step.Stdout, st.step.Stderr = st.io.captured[1].String(), st.io.captured[2].String()
		s.Steps = append(s.Steps, st.step)
		err = errors.Join(err, st.fault)
		if code := st.result(); code != 0 {
			status = code
		}
	}
	return status, err
}

// connect makes n stages with pipes between them.
func (s *Session) connect(n int) ([]*stage, error) {
	stages := make([]*stage, n)
	for i := range stages {
		out, errs := &capture{}, &capture{}
		stages[i] = &stage{env: s.env, dir: s.dir}
		stages[i].io = streams{in: eof{}, out: [3]io.Writer{1: out, 2: errs}, captured: [3]*capture{1: out, 2: errs}}
	}
	for i := range n - 1 {
		r, w, err := os.Pipe()
		if err != nil {
			return stages, err
		}
		stages[i].io.out[1] = w
		stages[i].io.closers = append(stages[i].io.closers, w)
		stages[i+1].io.in, stages[i+1].io.piped = r, r
	}
	return stages, nil
}

// eof is an empty input.
type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// release closes what the stage holds. With drain it first reads what is left in its pipe, so that the command before
// it does not fail only because nobody listened.
func (st *stage) release(drain bool) {
	if st.io.piped != nil {
		if drain {
			io.Copy(io.Discard, st.io.piped)
		}
		st.io.piped.Close()
	}
	for _, c := range st.io.closers {
		c.Close()
	}
	st.io.closers, st.io.piped = nil, nil
}

// prepare expands a command's words, takes off its prefixes, finds its tool and opens its files.
func (s *Session) prepare(st *stage, c command, inPipe bool) error {
	var words []string
	for _, w := range c.words {
		words = append(words, s.expand(w)...)
	}
	if err := st.prefixes(words); err != nil {
		return err
	}
	name := st.args[0]
	if tool, ok := s.tools[name]; ok {
		st.tool = tool
	} else if b, ok := sessionBuiltins[name]; ok {
		if inPipe {
			return fmt.Errorf("%s cannot be part of a pipeline", name)
		}
		st.shell = b
	} else if run, ok := builtins[name]; ok {
		st.tool.Run = run
	} else if st.tool.Path = st.lookPath(name); st.tool.Path == "" {
		return notFound(name)
	}
	return st.redirect(c.redirects)
}

// expand replaces a glob by the names that match it, sorted; one that matches none stays as it is.
func (s *Session) expand(w word) []string {
	if w.glob == "" {
		return []string{w.text}
	}
	pattern := w.glob
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(s.dir, pattern)
	}
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		return []string{w.text}
	}
	if !filepath.IsAbs(w.glob) {
		for i, name := range names {
			if rel, err := filepath.Rel(s.dir, name); err == nil {
				names[i] = rel
			}
		}
	}
	return names
}

// redirect opens the files of redirections, from left to right.
func (st *stage) redirect(redirects []redirect) error {
	for _, r := range redirects {
		if r.op == ">&" {
			st.io.out[r.fd] = st.io.out[r.target.text[0]-'0']
			continue
		}
		flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
		switch r.op {
		case "<":
			flags = os.O_RDONLY
		case ">>":
			flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
		}
		f, err := os.OpenFile(within(st.dir, r.target.text), flags, 0o666)
		if err != nil {
			return err
		}
		st.io.closers = append(st.io.closers, f)
		if r.op == "<" {
			st.io.in = f
			continue
		}
		st.io.out[r.fd] = f
		if r.op == "&>" {
			st.io.out[1], st.io.out[2] = f, f
		}
	}
	return nil
}

func (st *stage) process() *Process {
	return &Process{
		Name: st.args[0], Args: st.args[1:], Dir: st.dir, Env: environ(st.env),
		Stdin: st.io.in, Stdout: st.io.out[1], Stderr: st.io.out[2],
	}
}

func (st *stage) run(ctx context.Context, s *Session) {
	switch {
	case st.shell != nil:
		st.step.Status = st.shell(s, st.process())
	case st.tool.Run != nil:
		st.runInside(ctx)
	default:
		st.runProgram(ctx)
	}
}

// grace is how long a tool inside of this process may go on after its context has ended before it is abandoned.
const grace = 2 * time.Second

func (st *stage) runInside(ctx context.Context) {
	p := st.process()
	type outcome struct {
		status  int
		crashed bool
	}
	done := make(chan outcome, 1)
	go func() {
		status, crashed := protect(ctx, st.tool.Run, p)
		done <- outcome{status, crashed}
	}()
	select {
	case o := <-done:
		st.step.Status, st.step.Crashed = o.status, o.crashed
		return
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		st.step.Status, st.step.Crashed = o.status, o.crashed
	case <-time.After(grace):
		st.step.Status = 124
		st.io.piped = nil // still in use
	}
}

// protect calls run and turns a panic into a crash.
func protect(ctx context.Context, run func(context.Context, *Process) int, p *Process) (status int, crashed bool) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(p.Stderr, "panic: %v\n%s", r, debug.Stack())
			status, crashed = 134, true
		}
	}()
	return run(ctx, p), false
}

func (st *stage) runProgram(ctx context.Context) {
	cmd := exec.CommandContext(ctx, st.tool.Path, st.args[1:]...)
	cmd.Args[0] = st.args[0]
	cmd.Dir, cmd.Env = st.dir, environ(st.env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = st.io.in, st.io.out[1], st.io.out[2]
	if _, empty := st.io.in.(eof); empty {
		cmd.Stdin = nil
	}
	cmd.WaitDelay = grace
	group(cmd)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit):
		if st.step.Status = exit.ExitCode(); st.step.Status < 0 {
			st.step.Status, st.step.Crashed = 128+signalOf(exit), true
		}
	case errors.Is(err, exec.ErrWaitDelay):
		st.step.Status = 1
	default:
		st.step.Status, st.fault = 127, err
	}
}

// result applies "not" to the status of the command.
func (st *stage) result() int {
	failed := st.step.Status != 0
	switch {
	case st.nots == 0 && failed:
		return st.step.Status
	case st.nots == 0:
		return 0
	case st.step.Crashed != st.crash:
		return 1 // a crash must be announced, and one that is announced must happen
	case st.nots%2 == 1 && !failed || st.nots%2 == 0 && failed:
		return 1
	}
	return 0
}

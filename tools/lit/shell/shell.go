// Package shell is the small shell that runs the RUN lines of tests, without any shell of the system.
//
// It knows pipelines (which fail where any part fails), ";", "&&" and "||", redirections, quotes, "*" and "?", and a
// set of built-in commands. It has no variables, loops or background jobs: a test that needs them should be a program.
// Programs run in the directory and environment of their Session; tools written in Go run inside of the process.
//
// The package may import filecheck's engine and the standard library. Read next: parse.go for the syntax, exec.go for
// pipelines, builtin.go for the built-in commands.
package shell

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Process is what a tool that runs inside of this process is given. Args excludes the tool's name; relative paths are
// relative to Dir.
type Process struct {
	Name   string
	Args   []string
	Dir    string
	Env    []string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// Getenv returns a variable of the process's environment, or "".
func (p *Process) Getenv(name string) string {
	for i := len(p.Env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(p.Env[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// Tool is a command that a session adds to the built-in ones: a program's path, or a function that returns an exit
// status. A function that panics counts as a crash.
type Tool struct {
	Path string
	Run  func(ctx context.Context, p *Process) int
}

// Step records one command that was run.
type Step struct {
	Command string
	Status  int
	Crashed bool // killed by a signal, or a panic
	Stdout  string
	Stderr  string
}

// Session runs lines one after the other. "cd" and "export" in one line hold for the next. A Session is not safe for
// concurrent use.
type Session struct {
	Steps []Step // what has been run so far
	dir   string
	env   map[string]string
	tools map[string]Tool
	stack []string // of pushd
}

// New returns a session in a directory with an environment of NAME=VALUE strings.
func New(dir string, env []string, tools map[string]Tool) *Session {
	s := &Session{dir: dir, env: map[string]string{}, tools: tools}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		s.env[name] = value
	}
	return s
}

// Run executes a line and returns its exit status. An error is a fault in the line itself: its syntax, a command that
// does not exist, a redirection that cannot be opened. When ctx ends, running programs are killed.
func (s *Session) Run(ctx context.Context, line string) (status int, err error) {
	list, err := parse(line)
	if err != nil {
		return 2, err
	}
	for _, item := range list {
		if item.op == "&&" && status != 0 || item.op == "||" && status == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return 1, err
		}
		if status, err = s.pipeline(ctx, item.commands); err != nil {
			return 127, err
		}
	}
	return status, nil
}

func environ(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}

// quote writes words so that a shell would read them back.
func quote(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\|&;<>*?$(){}[]#`") {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// notFound is the error for a command that does not exist.
func notFound(name string) error { return fmt.Errorf("%s: command not found", name) }

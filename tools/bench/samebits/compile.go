package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// compiler makes programs of the C that a side emits, in one go, with a command in place of what tapc does: a compiler that does not optimize takes a
// fraction of the time, and the values do not depend on it where nothing is contracted.
type compiler struct {
	words   []string
	dir     string
	objects []string // of the run-time library
	tapc    string
}

// newCompiler compiles a run-time library in dir.
func newCompiler(ctx context.Context, command, tapc, dir string, library map[string]string) (*compiler, error) {
	if len(library) == 0 {
		return nil, errors.New("a binary that writes no folders of C has no run-time library to compile: name its commit")
	}
	c := &compiler{words: append(strings.Fields(command), "-std=c11", "-pthread", "-w", "-I", dir), dir: dir, tapc: tapc}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for name, text := range library {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	for name := range library {
		if filepath.Ext(name) != ".c" {
			continue
		}
		object := filepath.Join(dir, name+".o")
		args := append(slices.Clone(c.words[1:]), `-DTAPC_VERSION="samebits"`, "-c", filepath.Join(dir, name), "-o", object)
		if text, err := exec.CommandContext(ctx, c.words[0], args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", name, err, text)
		}
		c.objects = append(c.objects, object)
	}
	slices.Sort(c.objects)
	return c, os.WriteFile(filepath.Join(dir, "keep"), fmt.Appendf(nil, keep, c.words[0], c.objects[0]), 0o755)
}

// keep is a compiler that makes the same object of all C, and puts the object of a program's constants in place of the program.
const keep = `#!/bin/sh
case " $* " in *" -o "*) ;; *) exec '%[1]s' "$@" ;; esac
for arg; do
  case "$arg" in */constants.o) constants=$arg ;; esac
  [ "$before" = -o ] && out=$arg
  before=$arg
done
cp "${constants:-%[2]s}" "$out"
`

// build makes a program of the C of a case, in file, which code is the text of.
func (c *compiler) build(ctx context.Context, of testCase, file string, code []byte, program string) ([]byte, error) {
	objects := c.objects
	if bytes.Contains(code, []byte("tapc_constants[]")) {
		constants := program + "-constants.o"
		take := exec.CommandContext(ctx, c.tapc, append([]string{"build", of.file, "--cpu=native", "--no-verify", "-o", constants}, of.Build...)...)
		take.Env = append(os.Environ(), "CC="+filepath.Join(c.dir, "keep"), "XDG_CACHE_HOME="+filepath.Join(c.dir, "cache")) // of objects that are none
		if text, err := take.CombinedOutput(); err != nil {
			return text, err
		}
		objects = append(slices.Clone(objects), constants)
	}
	return exec.CommandContext(ctx, c.words[0], slices.Concat(c.words[1:], []string{file}, objects, []string{"-lm", "-o", program})...).CombinedOutput()
}

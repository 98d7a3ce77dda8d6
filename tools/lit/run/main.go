package run

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
)

// Main is the lit command. It returns the exit status: 0 if no test failed, 1 if one did, 2 for wrong usage.
func Main(args []string, stdout, stderr io.Writer) int {
	set, err := parseArgs(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		var status int
		if status, err = set.run(stdout); err == nil {
			return status
		}
	}
	fmt.Fprintf(stderr, "lit: %s\n", err)
	return 2
}

// run finds and runs the tests.
func (s *settings) run(out io.Writer) (int, error) {
	found, err := s.discover()
	if err != nil {
		return 2, err
	}
	if len(found) == 0 {
		return 2, errors.New("no tests found")
	}
	cleanup, err := s.outDir()
	if err != nil {
		return 2, err
	}
	defer cleanup()
	history := readHistory(s.config.OutDir)
	tests := s.pick.apply(found, history)
	if s.pick.list {
		for _, t := range tests {
			fmt.Fprintln(out, t.Name)
		}
		return 0, nil
	}
	results := s.execute(tests, out)
	summary := &summary{tests: tests, results: results, found: len(found), show: s.show}
	summary.write(out)
	if err := history.update(tests, results); err != nil {
		return 2, err
	}
	if s.json != "" {
		if err := summary.writeJSON(s.json); err != nil {
			return 2, err
		}
	}
	return summary.status(), nil
}

// discover finds the tests under all paths, without repeats.
func (s *settings) discover() ([]Test, error) {
	paths := make([]string, len(s.paths))
	for i, p := range s.paths {
		var err error
		if paths[i], err = filepath.Abs(p); err != nil {
			return nil, err
		}
	}
	root := s.root
	if root == "" {
		root = commonDir(paths)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []Test
	for _, path := range paths {
		tests, err := Discover(root, path, s.config)
		if err != nil {
			return nil, err
		}
		for _, t := range tests {
			if !seen[t.Name] {
				seen[t.Name] = true
				out = append(out, t)
			}
		}
	}
	return out, nil
}

// commonDir returns the innermost directory that holds all paths.
func commonDir(paths []string) string {
	dir := paths[0]
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	for _, p := range paths[1:] {
		for !filepath.IsLocal(relative(dir, p)) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
		}
	}
	return dir
}

func relative(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return ".."
	}
	return rel
}

// outDir makes the directory for temporary files and returns what removes it, if it is not the user's.
func (s *settings) outDir() (func(), error) {
	if s.config.OutDir != "" {
		dir, err := filepath.Abs(s.config.OutDir)
		s.config.OutDir = dir
		return func() {}, err
	}
	dir, err := os.MkdirTemp("", "lit-")
	s.config.OutDir = dir
	return func() { os.RemoveAll(dir) }, err
}

// execute runs the tests on several workers and prints each result when it is there.
func (s *settings) execute(tests []Test, out io.Writer) []Result {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if s.total > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.total, errMaxTime)
		defer cancel()
	}
	e := &executor{settings: s, tests: tests, results: make([]Result, len(tests)), out: out, ctx: ctx}
	var workers sync.WaitGroup
	for range min(s.workers, len(tests)) {
		workers.Go(e.work)
	}
	workers.Wait()
	return e.results
}

// errMaxTime says that -max-time is over.
var errMaxTime = errors.New("the time of the whole run is over")

// executor hands tests to workers.
type executor struct {
	*settings
	tests   []Test
	results []Result
	out     io.Writer
	ctx     context.Context

	mu     sync.Mutex
	next   int
	done   int
	failed int
}

func (e *executor) work() {
	for {
		e.mu.Lock()
		i := e.next
		e.next++
		over := e.failures > 0 && e.failed >= e.failures || e.ctx.Err() != nil
		e.mu.Unlock()
		if i >= len(e.tests) {
			return
		}
		e.tests[i].cfg = e.withOutDir(e.tests[i].cfg)
		r := Result{Code: Skipped}
		if !over {
			r = Run(e.ctx, e.tests[i])
		}
		e.finish(i, r)
	}
}

// withOutDir completes a configuration that was made before the directory was known.
func (e *executor) withOutDir(cfg *Config) *Config {
	out := *cfg
	out.OutDir = e.config.OutDir
	return &out
}

func (e *executor) finish(i int, r Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.results[i] = r
	e.done++
	if r.Code.Bad() {
		e.failed++
	}
	e.show.result(e.out, e.tests[i], r, e.done, len(e.tests))
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// testCase is a graph with what builds and runs it: case.json as tools/fuzzgraph writes it.
type testCase struct {
	name, dir string
	file      string            // of the graph
	Build     []string          `json:"build"`
	Inputs    map[string]string `json:"inputs"` // names of files; those of models are random
	Outputs   map[string]string `json:"outputs"`
	Kernels   []string          `json:"kernels"`
}

// binary gives the tapc of a commit, built in a tree in dir, or that at a path, which has no tree.
func binary(ctx context.Context, of, dir string) (tapc, tree string, err error) {
	if info, err := os.Stat(of); err == nil && info.Mode().IsRegular() {
		tapc, err = filepath.Abs(of)
		return tapc, "", err
	}
	tree, err = os.MkdirTemp(dir, "tree")
	if err != nil {
		return "", "", err
	}
	archive := filepath.Join(tree, "commit.tar")
	out := filepath.Join(tree, "bin-tapc")
	for _, command := range [][]string{
		{"git", "archive", "-o", archive, of},
		{"tar", "-C", tree, "-xf", archive},
		{"go", "build", "-C", tree, "-trimpath", "-buildvcs=false", "-o", out, "./cmd/tapc"},
	} {
		if text, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
			return "", "", fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, text)
		}
	}
	return out, tree, nil
}

// cases writes the declared cases and the random graphs of the present tree to dir, or copies a corpus there, and lists them and the models.
func (s *settings) cases(ctx context.Context, dir string) ([]testCase, error) {
	corpus := filepath.Join(dir, "corpus")
	if s.corpus != "" {
		if err := os.CopyFS(corpus, os.DirFS(s.corpus)); err != nil {
			return nil, err
		}
	} else {
		write := exec.CommandContext(ctx, "go", "run", "./tools/fuzzgraph", "-write", corpus, "-seed", fmt.Sprint(s.seed), "-count", fmt.Sprint(s.count))
		if text, err := write.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%v: %w\n%s", write, err, text)
		}
	}
	entries, err := os.ReadDir(corpus)
	if err != nil {
		return nil, err
	}
	var all []testCase
	for _, e := range entries {
		c := testCase{name: e.Name(), dir: filepath.Join(corpus, e.Name())}
		c.file = filepath.Join(c.dir, "graph.tap")
		says, err := os.ReadFile(filepath.Join(c.dir, "case.json"))
		if err == nil {
			err = json.Unmarshal(says, &c)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if s.models == "" {
		return all, nil
	}
	models, err := filepath.Glob(filepath.Join(s.models, "*.onnx"))
	if err != nil || len(models) == 0 {
		return nil, fmt.Errorf("no models (*.onnx) in %s", s.models)
	}
	for _, path := range models {
		work := filepath.Join(dir, "models", filepath.Base(path))
		if err := os.MkdirAll(work, 0o755); err != nil {
			return nil, err
		}
		full, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		all = append(all, testCase{name: filepath.Base(path), dir: work, file: full})
	}
	return all, nil
}

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// script writes an executable that notes its arguments and prints a version.
func script(t *testing.T, name, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTable(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	note := `for f; do case $f in */in*) wc -l < "$f";; esac; done >> ` + log + `; echo "$@" >> ` + log
	tapc, mlir := script(t, "tapc", note), script(t, "mlir-opt", note)
	var out, errs bytes.Buffer
	if err := run(context.Background(), []string{"-tapc", tapc, "-mlir-opt", mlir, "-ops", "10,2000", "-rounds", "2"}, &out, &errs); err != nil {
		t.Fatal(err, errs.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "10 ") || !strings.HasPrefix(lines[2], "2000 ") || strings.Contains(lines[2], "-") {
		t.Error(out.String())
	}
	calls, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--version", "opt --passes=simplify,cse", "--canonicalize --cse", "4005\n", "2010\n"} {
		if !strings.Contains(string(calls), want) {
			t.Errorf("no %q in\n%s", want, calls)
		}
	}
	// one of --version, then both programs in turn, twice for each size
	var order []string
	for _, l := range strings.Split(string(calls), "\n") {
		if strings.HasPrefix(l, "opt") || strings.HasPrefix(l, "--c") {
			order = append(order, strings.Fields(l)[0])
		}
	}
	if strings.Join(order, " ") != strings.TrimSpace(strings.Repeat("opt --canonicalize ", 4)) {
		t.Errorf("order %v", order)
	}
}

func TestWithoutMLIR(t *testing.T) {
	var out, errs bytes.Buffer
	args := []string{"-tapc", script(t, "tapc", ""), "-mlir-opt", "/nonexistent/mlir-opt", "-ops", "10", "-rounds", "1"}
	if err := run(context.Background(), args, &out, &errs); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(errs.String(), "without mlir-opt") || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("%s%s", errs.String(), out.String())
	}
}

func TestBuild(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	var out, errs bytes.Buffer
	args := []string{"-tapc", script(t, "tapc", "echo $@ >> "+log), "-build", "tree,split", "-ops", "10,20", "-rounds", "2"}
	if err := run(context.Background(), args, &out, &errs); err != nil {
		t.Fatal(err, errs.String())
	}
	calls, err := os.ReadFile(log)
	if err != nil || strings.Count(string(calls), "build --emit=c") != 8 || strings.Count(out.String(), "\n") != 5 {
		t.Errorf("%v: %s%s", err, calls, out.String())
	}
}

func TestFailures(t *testing.T) {
	for _, args := range [][]string{{"-ops", "x"}, {"-ops", "0"}, {"-rounds", "0"}, {"-build", "tree,ring"}, {"arg"}, {"-nonsense"},
		{"-tapc", script(t, "tapc", "echo broken; exit 3"), "-mlir-opt", "/nonexistent", "-ops", "5"},
		{"-tapc", script(t, "tapc", ""), "-mlir-opt", "/nonexistent", "-ops", "5", "-shape", "ring"}} {
		if err := run(context.Background(), args, &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}

func TestMedian(t *testing.T) {
	if m := median([]float64{5, 1, 3}); m != 3 {
		t.Error(m)
	}
	if m := median([]float64{4, 1, 3, 2}); m != 2 {
		t.Error(m)
	}
}

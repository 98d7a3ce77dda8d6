package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/standard"
	"tensortapestry.org/tapc/plugins/conformance"
	"tensortapestry.org/tapc/plugins/host"
	"tensortapestry.org/tapc/plugins/plugintest"
)

func TestMain(m *testing.M) { plugintest.Main(m) }

func TestSameBytes(t *testing.T) {
	program := plugintest.Build(t, ".")
	t.Run("conformance", func(t *testing.T) { plugintest.RunProgram(t, conformance.Subject{Path: program}) })
	p, err := host.Start(context.Background(), program, host.Options{Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, name := range []string{"linear-relu", "linear-relu-4", "matmul", "classifier/classifier"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			g := scheduled(t, "../../../examples/"+name+".loom.json")
			dir := t.TempDir()
			made, err := p.Emit(context.Background(), host.Request{Backend: "c", Program: "model", Dir: dir}, g)
			if err != nil {
				t.Fatal(err)
			}
			if len(made.Files) != 2 || len(made.Found) != 0 {
				t.Errorf("made %v, found %v", made.Files, made.Found)
			}
			want, err := cpu.Emit(g, "model", "1.2.3")
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(dir, "program.c"))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, []byte(want.C)) {
				t.Errorf("the program of the plugin (%d bytes) is not the one of the back end (%d bytes)", len(got), len(want.C))
			}
		})
	}
}

// scheduled takes a graph file to Scheduled Kernels.
func scheduled(t *testing.T, file string) *ir.Graph {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g, err := loomjson.Read(text, file, dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	if err := standard.Run(g, kernels.Builtin(), lower.Options{}, cpu.Choosers()...); err != nil {
		t.Fatal(err)
	}
	return g
}

package conformance

import (
	"context"
	"path/filepath"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
)

// TestLanguage and TestClassic hold operators of language models and of classical machine learning to what ONNX Runtime gave for them,
// on models that tools/onnx/languagetests.py and classictests.py wrote: as they are imported, after all passes and, by turns, as programs.
func TestLanguage(t *testing.T) { holds(t, "language") }

func TestClassic(t *testing.T) { holds(t, "classic") }

func holds(t *testing.T, suite string) {
	folders, err := Find(filepath.Join("testdata", suite))
	if err != nil || len(folders) < 20 {
		t.Fatalf("%d models: %v", len(folders), err)
	}
	cc, missing := toolchain.FindCompiler(t.Context())
	runs := testkit.Turns(t, 6)
	for _, d := range folders {
		t.Run(filepath.Base(d), func(t *testing.T) {
			for name, run := range map[string]Runner{"imported": nil, "after all passes": Scheduled(kernels.Builtin())} {
				if r := Test(context.Background(), d, Options{Run: run}); r.Status != Pass {
					t.Errorf("%s: %s: %s", name, r.Status, r.Reason)
				}
			}
			if !runs() {
				return
			}
			testkit.Need(t, testkit.Compilers, missing)
			if r := Test(context.Background(), d, Options{Run: Compiled(cc, kernels.Builtin(), []string{"-O1"})}); r.Status != Pass {
				t.Errorf("as a program: %s: %s", r.Status, r.Reason)
			}
		})
	}
}

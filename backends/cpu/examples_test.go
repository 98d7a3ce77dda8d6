package cpu

import (
	"os"
	"path/filepath"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/loomjson"
)

// TestExamples takes every example graph through the passes and runs it, with the reference evaluator's values throughout.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.loom.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("found %d examples: %v", len(files), err)
	}
	for _, f := range append(files, "../../examples/classifier/classifier.loom.json") {
		t.Run(filepath.Base(f), func(t *testing.T) {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			g, err := loomjson.Read(data, f, dialects.Registry())
			if err != nil {
				t.Fatal(err)
			}
			load := constants.Loader{Dir: filepath.Dir(f)}
			defer load.Close()
			conformance.Graph(t, g, schedule.CPU, load.Load, executeWith(load.Load))
		})
	}
}

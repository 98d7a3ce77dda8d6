package plugins_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/wire"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins/conformance"
	"tensortapestry.org/tapc/plugins/host"
	"tensortapestry.org/tapc/plugins/supervise"
)

func TestMain(m *testing.M) {
	supervise.Main()
	os.Exit(m.Run())
}

// The benchmarks of this file say what a process of its own costs a pass. The same pass without one is measured in
// examples/linear-relu.

// sizes are the numbers of nodes that the overhead of a process is measured at. Large graphs are made of chains, in which
// about a third of the operations can be merged.
var sizes = []int{1_000, 100_000, 1_000_000}

func example(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "linear-relu")
	if out, err := exec.Command("go", "build", "-o", path, "./examples/linear-relu").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return path
}

func started(b *testing.B, path string) *host.Plugin {
	b.Helper()
	p, err := host.Start(context.Background(), path, host.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// graph gives a graph of about n nodes.
func graph(n int) *ir.Graph { return conformance.Large(n / 2) }

func eachSize(b *testing.B, run func(b *testing.B, g *ir.Graph)) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			g := graph(n)
			b.ReportMetric(float64(g.Len()), "nodes")
			run(b, g)
		})
	}
}

// BenchmarkStart starts a plugin, runs a pass over an empty graph, and ends it.
func BenchmarkStart(b *testing.B) {
	path := example(b)
	for b.Loop() {
		p := started(b, path)
		if _, err := p.RunPass(context.Background(), "linear-relu", nil, ir.New()); err != nil {
			b.Fatal(err)
		}
		p.Close()
	}
}

// BenchmarkRoundTrip runs the pass in the plugin: encode, transfer, decode, the pass itself, the same way back, verification.
func BenchmarkRoundTrip(b *testing.B) {
	p := started(b, example(b))
	defer p.Close()
	eachSize(b, func(b *testing.B, g *ir.Graph) {
		for b.Loop() {
			if a, err := p.RunPass(context.Background(), "linear-relu", nil, g); err != nil || a.Unchanged {
				b.Fatal(a, err)
			}
		}
	})
}

// BenchmarkVerify is the part of a round trip that verifies the graph.
func BenchmarkVerify(b *testing.B) {
	eachSize(b, func(b *testing.B, g *ir.Graph) {
		env := pipeline.OperationExpression.Environment()
		for b.Loop() {
			if found := env.Verify(context.Background(), g); found.HasErrors() {
				b.Fatal(found)
			}
		}
	})
}

// BenchmarkWire is the encoding and decoding of a round trip, one way.
func BenchmarkWire(b *testing.B) {
	eachSize(b, func(b *testing.B, g *ir.Graph) {
		for b.Loop() {
			text, err := wire.Marshal(g)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			if _, err := wire.Unmarshal(text, dialects.Registry(), wire.Limits{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

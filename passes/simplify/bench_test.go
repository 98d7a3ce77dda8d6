package simplify_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/simplify"
	"tensortapestry.org/tapc/tools/gengraph/gen"
)

var sizes = []int{1000, 10000, 100000, 1000000}

// heap gives the bytes that are reachable.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func generated(b *testing.B, ops int) *ir.Graph {
	b.Helper()
	s := &gen.Graph{}
	if err := gen.Generate(gen.Options{Shape: gen.Wide, Ops: ops, Seed: 1}, s); err != nil {
		b.Fatal(err)
	}
	return s.Result
}

func document(b *testing.B, ops int) []byte {
	b.Helper()
	var text bytes.Buffer
	if err := gen.Generate(gen.Options{Shape: gen.Wide, Ops: ops, Seed: 1}, gen.NewLoom(&text)); err != nil {
		b.Fatal(err)
	}
	return text.Bytes()
}

// perOp reports the time of one operation and stops the ordinary metric from hiding it.
func perOp(b *testing.B, ops int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(ops), "ns/operation")
}

func BenchmarkParse(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			text := document(b, n)
			before := heap()
			var g *ir.Graph
			for b.Loop() {
				var err error
				if g, err = loomjson.Read(text, "x", dialects.Registry()); err != nil {
					b.Fatal(err)
				}
			}
			perOp(b, n)
			b.ReportMetric(float64(heap()-before)/float64(g.Len()), "bytes/node")
			runtime.KeepAlive(text)
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			g := generated(b, n)
			e := tensorops.Environment()
			for b.Loop() {
				if found := e.Verify(context.Background(), g); len(found) > 0 {
					b.Fatal(found)
				}
			}
			perOp(b, n)
		})
	}
}

func BenchmarkPasses(b *testing.B) {
	ctx := context.Background()
	for _, pass := range []struct {
		name string
		run  func(g *ir.Graph) (rewrite.Stats, error)
	}{
		{"simplify", func(g *ir.Graph) (rewrite.Stats, error) { return simplify.Run(ctx, g, nil, rewrite.Options{}) }},
		{"cse", func(g *ir.Graph) (rewrite.Stats, error) { return simplify.CSE(ctx, g, rewrite.Options{}) }},
		{"dce", func(g *ir.Graph) (rewrite.Stats, error) { return simplify.DCE(ctx, g, rewrite.Options{}) }},
	} {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%s/%d", pass.name, n), func(b *testing.B) {
				var applied int
				for range b.N {
					b.StopTimer()
					g := generated(b, n)
					runtime.GC()
					b.StartTimer()
					s, err := pass.run(g)
					if err != nil {
						b.Fatal(err)
					}
					applied = s.Applied
				}
				perOp(b, n)
				b.ReportMetric(float64(applied)/float64(n), "rewrites/operation")
			})
		}
	}
}

func BenchmarkPrint(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			g := generated(b, n)
			for b.Loop() {
				if err := loomjson.Write(io.Discard, g); err != nil {
					b.Fatal(err)
				}
			}
			perOp(b, n)
		})
	}
}

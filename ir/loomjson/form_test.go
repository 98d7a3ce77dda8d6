package loomjson_test

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/irtest"
	"tensortapestry.org/tapc/ir/loomjson"
)

func TestIdentity(t *testing.T) {
	for dialect, name := range []string{"operations", "applications", "schedule"} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				g := irtest.Random(t, irtest.Dialect(dialect))
				first := write(t, g)
				h, err := loomjson.Read(first, "x", dialects.Registry())
				if err != nil {
					t.Fatalf("%v\n%s", err, first)
				}
				if diff := irtest.Diff(g, h); diff != "" {
					t.Fatalf("%s\n%s", diff, first)
				}
				if second := write(t, h); !bytes.Equal(first, second) {
					t.Fatalf("written differently the second time:\n%s\n%s", first, second)
				}
			})
		})
	}
}

func write(t interface{ Fatal(...any) }, g *ir.Graph) []byte {
	var out bytes.Buffer
	if err := loomjson.Write(&out, g); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func FuzzRead(f *testing.F) {
	for _, c := range refused {
		if len(c.text) < 2000 {
			f.Add([]byte(c.text))
		}
	}
	for _, file := range documents(f) {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(write(f, irtest.Chain(3)))
	reg := dialects.Registry()
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := loomjson.Read(data, "fuzz", reg)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Fatal("an error without words")
			}
			return
		}
		first := write(t, g)
		h, err := loomjson.Read(first, "again", reg)
		if err != nil {
			t.Fatalf("%v in what was written:\n%s", err, first)
		}
		if second := write(t, h); !bytes.Equal(first, second) {
			t.Fatalf("%s\n%s", first, second)
		}
	})
}

func benchmarkRead(b *testing.B, ops int) {
	data := write(b, irtest.Chain(ops))
	reg := dialects.Registry()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var g *ir.Graph
	for b.Loop() {
		var err error
		if g, err = loomjson.Read(data, "b", reg); err != nil {
			b.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	nodes := g.Len()
	runtime.GC()
	runtime.ReadMemStats(&before)
	runtime.KeepAlive(g)
	g = nil
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(before.HeapAlloc-after.HeapAlloc)/float64(nodes), "B/node")
	b.ReportMetric(float64(ops)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mop/s")
}

func benchmarkWrite(b *testing.B, ops int) {
	g := irtest.Chain(ops)
	b.SetBytes(int64(len(write(b, g))))
	b.ReportAllocs()
	for b.Loop() {
		if err := loomjson.Write(io.Discard, g); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(ops)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mop/s")
}

func BenchmarkRead1k(b *testing.B)    { benchmarkRead(b, 1_000) }
func BenchmarkRead10k(b *testing.B)   { benchmarkRead(b, 10_000) }
func BenchmarkRead100k(b *testing.B)  { benchmarkRead(b, 100_000) }
func BenchmarkWrite1k(b *testing.B)   { benchmarkWrite(b, 1_000) }
func BenchmarkWrite10k(b *testing.B)  { benchmarkWrite(b, 10_000) }
func BenchmarkWrite100k(b *testing.B) { benchmarkWrite(b, 100_000) }

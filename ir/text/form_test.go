package text_test

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/irtest"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/ir/zspace"
)

var everything = text.Options{IDs: true, Positions: true, Provenance: true, GraphOrder: true}

type failer interface {
	Fatal(...any)
	Fatalf(string, ...any)
	Helper()
}

func write(t failer, g *ir.Graph, o text.Options) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := text.Write(&out, g, o); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func read(t failer, data []byte) *ir.Graph {
	t.Helper()
	g, err := text.Read(data, "x.tap", dialects.Registry())
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return g
}

var dialectNames = []string{"operations", "applications", "schedule"}

// giveIDs makes a graph whose every id is given, as the derived ids depend on numbers that gaps change.
func giveIDs(g *ir.Graph) {
	for n := range g.Nodes() {
		n.SetUUID(g.UUIDOf(n))
	}
	g.ID, g.HasID = g.GraphUUID(), true
}

func TestIdentity(t *testing.T) {
	for dialect, name := range dialectNames {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				g := irtest.Random(t, irtest.Dialect(dialect))
				giveIDs(g)
				first := write(t, g, everything)
				h := read(t, first)
				if diff := irtest.DiffAll(g, h); diff != "" {
					t.Fatalf("%s\n%s", diff, first)
				}
				if second := write(t, h, everything); !bytes.Equal(first, second) {
					t.Fatalf("written differently the second time:\n%s\n%s", first, second)
				}
			})
		})
	}
}

// Without the options the text says nothing of ids, and its order is the reading order, which reading keeps.
func TestIdentityUpToIDs(t *testing.T) {
	for dialect, name := range dialectNames {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				g := irtest.Random(t, irtest.Dialect(dialect))
				first := write(t, g, text.Options{})
				h := read(t, first)
				if second := write(t, h, text.Options{}); !bytes.Equal(first, second) {
					t.Fatalf("written differently the second time:\n%s\n%s", first, second)
				}
				if h.Len() != g.Len() {
					t.Fatalf("%d nodes of %d", h.Len(), g.Len())
				}
			})
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, c := range refused {
		if len(c.text) < 2000 {
			f.Add([]byte(c.text))
		}
	}
	f.Add(write(f, irtest.Chain(3), everything))
	f.Add([]byte(sample))
	reg := dialects.Registry()
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := text.Read(data, "fuzz", reg)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Fatal("an error without words")
			}
			return
		}
		first := write(t, g, everything)
		if second := write(t, read(t, first), everything); !bytes.Equal(first, second) {
			t.Fatalf("%s\n%s", first, second)
		}
		first = write(t, g, text.Options{})
		if second := write(t, read(t, first), text.Options{}); !bytes.Equal(first, second) {
			t.Fatalf("%s\n%s", first, second)
		}
	})
}

func benchmarkRead(b *testing.B, ops int) {
	data := write(b, irtest.Chain(ops), text.Options{})
	reg := dialects.Registry()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var g *ir.Graph
	for b.Loop() {
		var err error
		if g, err = text.Read(data, "b", reg); err != nil {
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
	b.SetBytes(int64(len(write(b, g, text.Options{}))))
	b.ReportAllocs()
	for b.Loop() {
		if err := text.Write(io.Discard, g, text.Options{}); err != nil {
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

// Many shards write one tensor and many read it: the time must be linear in their number.
func BenchmarkWriteShards(b *testing.B) {
	g, box := ir.New(), zspace.MustShape(4)
	x := g.Add(&tensorops.Tensor{DType: "int32", Range: box}, "x").ID
	one := ir.PortsOf([]ir.Port{{Name: "x", Sel: []ir.Selection{ir.Select(x, box)}}})
	for range 50_000 {
		g.Add(&application.Application{Operation: ir.NoNode, Inputs: one}, "")
		g.Add(&application.Application{Operation: ir.NoNode, Outputs: one}, "")
	}
	for b.Loop() {
		if err := text.Write(io.Discard, g, text.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

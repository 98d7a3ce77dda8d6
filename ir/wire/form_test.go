package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/irtest"
	"tensortapestry.org/tapc/ir/wire"
)

var dialectNames = []string{"operations", "applications", "schedule"}

type failer interface {
	Fatal(...any)
	Fatalf(string, ...any)
	Helper()
}

func marshal(t failer, g *ir.Graph) []byte {
	t.Helper()
	data, err := wire.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func unmarshal(t failer, data []byte) *ir.Graph {
	t.Helper()
	g, err := wire.Unmarshal(data, dialects.Registry(), wire.Limits{})
	if err != nil {
		t.Fatalf("%v\n%x", err, data)
	}
	return g
}

func numbers(g *ir.Graph) []ir.NodeID {
	var ids []ir.NodeID
	for n := range g.Nodes() {
		ids = append(ids, n.ID)
	}
	return ids
}

func TestIdentity(t *testing.T) {
	for dialect, name := range dialectNames {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				g := irtest.Random(t, irtest.Dialect(dialect))
				data := marshal(t, g)
				h := unmarshal(t, data)
				if diff := irtest.DiffAll(g, h); diff != "" {
					t.Fatal(diff)
				}
				if diff := cmp.Diff(numbers(g), numbers(h)); diff != "" {
					t.Fatalf("other node numbers: %s", diff)
				}
				if !bytes.Equal(data, marshal(t, h)) {
					t.Fatal("encoded differently the second time")
				}
			})
		})
	}
}

func chunks(t failer, g *ir.Graph) [][]byte {
	t.Helper()
	var all [][]byte
	for w := wire.NewWriter(g); ; {
		c, err := w.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(c) == 0 || len(c) > wire.MaxChunk {
			t.Fatalf("a chunk of %d bytes", len(c))
		}
		all = append(all, c)
	}
}

func TestChunks(t *testing.T) {
	g := irtest.Chain(8_000)
	g.Add(&tensorops.Note{Message: strings.Repeat("x", 3*wire.MaxChunk)}, "large")
	g.Add(&tensorops.Note{Message: "y"}, "small")
	all := chunks(t, g)
	if len(all) < 5 {
		t.Fatalf("only %d chunks", len(all))
	}
	r := wire.NewReader(dialects.Registry(), wire.Limits{})
	for _, c := range all {
		if err := r.Feed(c); err != nil {
			t.Fatal(err)
		}
	}
	h, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	whole := marshal(t, g)
	if !bytes.Equal(whole, bytes.Join(all, nil)) {
		t.Error("the chunks, joined, are not the whole graph")
	}
	if !bytes.Equal(whole, marshal(t, h)) {
		t.Error("the chunks give another graph")
	}
}

// A reader takes chunks that are cut anywhere.
func TestCutsAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := irtest.Random(t, irtest.Schedule)
		r := wire.NewReader(dialects.Registry(), wire.Limits{})
		for rest := marshal(t, g); len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), 300)).Draw(t, "cut")
			if err := r.Feed(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		h, err := r.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if diff := irtest.DiffAll(g, h); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestSchemaIsCurrent(t *testing.T) {
	have, err := os.ReadFile("tapc.proto")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), string(wire.Schema(dialects.Registry()))); diff != "" {
		t.Errorf("tapc.proto is out of date; run go generate ./ir/wire:\n%s", diff)
	}
}

// graphType compiles tapc.proto.
func graphType(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	c := protocompile.Compiler{Resolver: &protocompile.SourceResolver{}}
	files, err := c.Compile(context.Background(), "tapc.proto")
	if err != nil {
		t.Fatal(err)
	}
	return files[0].Messages().ByName("Graph")
}

// Whoever uses the schema with protobuf's own library reads every field of every graph, and what that library writes is read.
func TestSchemaDescribesTheBytes(t *testing.T) {
	graph := graphType(t)
	rapid.Check(t, func(t *rapid.T) {
		g := irtest.Random(t, irtest.Schedule)
		m := dynamicpb.NewMessage(graph)
		if err := proto.Unmarshal(marshal(t, g), m); err != nil {
			t.Fatal(err)
		}
		if err := noUnknown(m); err != nil {
			t.Fatal(err)
		}
		data, err := proto.Marshal(m) // in an order of its own
		if err != nil {
			t.Fatal(err)
		}
		if diff := irtest.DiffAll(g, unmarshal(t, data)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func noUnknown(m protoreflect.Message) (err error) {
	if len(m.GetUnknown()) > 0 {
		return errors.New(string(m.Descriptor().FullName()) + " has unknown fields")
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				err = errors.Join(err, noUnknown(v.List().Get(i).Message()))
			}
		default:
			err = noUnknown(v.Message())
		}
		return err == nil
	})
	return err
}

// Fields of a later version are skipped, wherever they stand.
func TestUnknownFieldsAreSkipped(t *testing.T) {
	g := irtest.Chain(2)
	data := marshal(t, g)
	extra := protowire.AppendTag(nil, 900, protowire.BytesType)
	extra = protowire.AppendBytes(extra, []byte("later"))
	for rest := data; len(rest) > 0; {
		num, typ, n := protowire.ConsumeField(rest)
		extra = append(extra, rest[:n]...)
		if num == 5 && typ == protowire.BytesType { // a node: once more with a field behind it
			_, _, k := protowire.ConsumeTag(rest)
			body, _ := protowire.ConsumeBytes(rest[k:])
			body = append(protowire.AppendVarint(protowire.AppendTag(nil, 300, protowire.VarintType), 7), body...)
			extra = extra[:len(extra)-n]
			extra = protowire.AppendBytes(protowire.AppendTag(extra, num, typ), body)
		}
		rest = rest[n:]
	}
	if diff := irtest.DiffAll(g, unmarshal(t, extra)); diff != "" {
		t.Error(diff)
	}
}

func TestRefused(t *testing.T) {
	field := func(num protowire.Number, b ...byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), b)
	}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	version := []byte{8, wire.Version}
	note := field(13)
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "no version"},
		{"later version", []byte{8, wire.Version + 1}, "version 2"},
		{"cut", append(version, 42, 5, 1), "in the middle of a field"},
		{"group", append(version, 11), "group"},
		{"field number 0", append(version, 0, 0), "malformed field"},
		{"short id", join(version, field(2, 1, 2)), "malformed"},
		{"file not UTF-8", join(version, field(3, 0xff)), "malformed"},
		{"node as a number", append(version, 40, 1), "malformed"},
		{"node without body", join(version, field(5)), "no body"},
		{"two bodies", join(version, field(5, join(note, note)...)), "two bodies"},
		{"tag twice", join(version, field(5, join(note, field(503), field(503))...)), "twice"},
		{"reference to no node", join(version, field(5, join(field(14, 8, 4))...)), "reference 2 is to no node"},
		{"reference to no id", join(version, field(5, join(field(14, 8, 1))...)), "reference -1 is to no node"},
		{"reference too large", join(version, field(5, field(14, append([]byte{8}, protowire.AppendVarint(nil, 1<<40)...)...)...)), "out of bounds"},
		{"reversed range", join(version, field(5, field(11, field(2, join(field(1, 4), field(2, 2))...)...)...)), "beyond end"},
		{"range of odd lengths", join(version, field(5, field(11, field(2, field(1, 4)...)...)...)), "expected 1 dimensions"},
		{"unknown word", join(version, field(5, field(15, field(1, 'x')...)...)), "expected one of"},
		{"label not UTF-8", join(version, field(5, join(field(3, 0xff), note)...)), "malformed label"},
		{"port twice", join(version, field(5, field(12, join(field(3), field(3))...)...)), "twice"},
		{"huge field", append(version, protowire.AppendVarint([]byte{42}, 1<<40)...), "larger than"},
		{"huge gap", join(version, field(5, join(protowire.AppendVarint([]byte{8}, 1<<40), note)...)), "numbers of nodes"},
		{"body cut", join(version, field(5, field(11, 10, 9)...)), "malformed message"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := wire.Unmarshal(c.data, dialects.Registry(), wire.Limits{})
			var e *wire.Error
			if g != nil || !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	data := marshal(t, irtest.Chain(100))
	for _, l := range []wire.Limits{{Nodes: 200}, {Bytes: int64(len(data) - 1)}, {Field: 50}} {
		if _, err := wire.Unmarshal(data, dialects.Registry(), l); err == nil {
			t.Errorf("limits %+v accept a graph beyond them", l)
		}
	}
	if _, err := wire.Unmarshal(data, dialects.Registry(), wire.Limits{Nodes: 201, Bytes: int64(len(data)), Field: 1 << 10}); err != nil {
		t.Errorf("limits that the graph keeps: %v", err)
	}
}

// Damaged bytes give a graph or an error, never a panic, and what is read can be written.
func TestDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	data := marshal(t, irtest.Chain(20))
	for range 3_000 {
		bad := bytes.Clone(data)
		for range 1 + rng.IntN(3) {
			bad[rng.IntN(len(bad))] = byte(rng.Uint32())
		}
		g, err := wire.Unmarshal(bad[:rng.IntN(len(bad)+1)], dialects.Registry(), wire.Limits{Nodes: 1000})
		if err == nil {
			marshal(t, g)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add(marshal(f, irtest.Chain(3)))
	f.Add([]byte{8, 1})
	reg := dialects.Registry()
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := wire.Unmarshal(data, reg, wire.Limits{Nodes: 1000})
		if err != nil {
			return
		}
		first := marshal(t, g)
		h := unmarshal(t, first)
		if diff := irtest.DiffAll(g, h); diff != "" {
			t.Fatal(diff)
		}
		if !bytes.Equal(first, marshal(t, h)) {
			t.Fatal("encoded differently the second time")
		}
	})
}

func benchmarkRead(b *testing.B, ops int) {
	data := marshal(b, irtest.Chain(ops))
	reg := dialects.Registry()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var g *ir.Graph
	for b.Loop() {
		var err error
		if g, err = wire.Unmarshal(data, reg, wire.Limits{}); err != nil {
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
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n = len(marshal(b, g))
	}
	b.SetBytes(int64(n))
	b.ReportMetric(float64(ops)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mop/s")
}

func BenchmarkRead1k(b *testing.B)    { benchmarkRead(b, 1_000) }
func BenchmarkRead10k(b *testing.B)   { benchmarkRead(b, 10_000) }
func BenchmarkRead100k(b *testing.B)  { benchmarkRead(b, 100_000) }
func BenchmarkWrite1k(b *testing.B)   { benchmarkWrite(b, 1_000) }
func BenchmarkWrite10k(b *testing.B)  { benchmarkWrite(b, 10_000) }
func BenchmarkWrite100k(b *testing.B) { benchmarkWrite(b, 100_000) }

package amanda

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/ir"
)

var anyText = rapid.OneOf(rapid.StringN(1, 6, -1), rapid.SampledFrom([]string{"true", "no", "~", "null", "1", "-1", "1e3", "0x1", ".5", ".inf", "a: b", "a #b", "- a", "'", "\"", "\\", "\t",
	"\n", "a\r\nb", " a", "a ", "\u0085", "\u2028", "\ufeff", "\x7f", "😀", "*a", "&a", "!a", "<<", "=", "y", "{}", "[", "a/b.c-d", "2001-01-01", "%x", "@", "`", "a:b->c", "^control"}))

func anyValue(depth int) *rapid.Generator[ir.AttrValue] {
	return rapid.Custom(func(t *rapid.T) ir.AttrValue {
		most := 6
		if depth == 0 {
			most = 4
		}
		switch rapid.IntRange(0, most).Draw(t, "kind") {
		case 0:
			return ir.AttrValue{}
		case 1:
			return ir.BoolAttr(rapid.Bool().Draw(t, "bool"))
		case 2:
			return ir.IntAttr(rapid.Int64().Draw(t, "int"))
		case 3:
			return ir.FloatAttr(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, 1, -1, 1e300, 5e-324, math.MaxFloat64, 100000000000000000000})).Draw(t, "float"))
		case 4:
			return ir.StringAttr(rapid.OneOf(anyText, rapid.Just("")).Draw(t, "string"))
		case 5:
			list := rapid.SliceOfN(anyValue(depth-1), 0, 3).Draw(t, "list")
			return ir.AttrValue{Kind: ir.AttrList, List: append([]ir.AttrValue{}, list...)}
		}
		return ir.AttrValue{Kind: ir.AttrMap, Map: anyAttrs(depth-1).Draw(t, "map")}
	})
}

func anyAttrs(depth int) *rapid.Generator[ir.Attrs] {
	return rapid.Custom(func(t *rapid.T) ir.Attrs {
		var out ir.Attrs
		for _, name := range rapid.SliceOfN(anyText, 0, 3).Draw(t, "keys") {
			if name != "name" && name != "type" && name != "namespace" {
				out = out.With(name, anyValue(depth).Draw(t, "value"))
			}
		}
		return out
	})
}

func anyPorts(t *rapid.T, what string) []Port {
	var out []Port
	for range rapid.IntRange(0, 3).Draw(t, what) {
		out = append(out, Port{Name: rapid.OneOf(anyText, rapid.Just("")).Draw(t, "port"), Attrs: anyAttrs(1).Draw(t, "attrs")})
	}
	return out
}

func anyRef(t *rapid.T, least int) Ref {
	if rapid.Bool().Draw(t, "by name") {
		return Ref{Name: anyText.Draw(t, "name")}
	}
	return Ref{Index: rapid.IntRange(least, 5).Draw(t, "index")}
}

func anyBody(t *rapid.T, depth int) (ops []*Op, edges []Edge) {
	for range rapid.IntRange(0, 3).Draw(t, "ops") {
		o := &Op{Name: rapid.OneOf(anyText, rapid.Just("")).Draw(t, "name"), Type: rapid.OneOf(anyText, rapid.Just("")).Draw(t, "type"),
			Inputs: anyPorts(t, "inputs"), Outputs: anyPorts(t, "outputs"), Attrs: anyAttrs(2).Draw(t, "attrs")}
		if depth > 0 && rapid.Bool().Draw(t, "sub") {
			o.Sub = true
			o.Ops, o.Edges = anyBody(t, depth-1)
		}
		ops = append(ops, o)
	}
	for range rapid.IntRange(0, 3).Draw(t, "edges") {
		edges = append(edges, Edge{From: End{anyRef(t, 0), anyRef(t, Control)}, To: End{anyRef(t, 0), anyRef(t, Control)}, Attrs: anyAttrs(1).Draw(t, "attrs")})
	}
	return ops, edges
}

// What is written is read as the same graph, whatever its names and values are; and written again it is the same text.
func TestWriteRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &Graph{Namespace: rapid.OneOf(anyText, rapid.Just("")).Draw(t, "namespace"), Attrs: anyAttrs(3).Draw(t, "attrs")}
		g.Ops, g.Edges = anyBody(t, 2)
		for _, write := range []func(*bytes.Buffer, *Graph) error{func(b *bytes.Buffer, g *Graph) error { return Write(b, g) },
			func(b *bytes.Buffer, g *Graph) error { return WriteJSON(b, g) }} {
			var b, again bytes.Buffer
			if err := write(&b, g); err != nil {
				t.Fatal(err)
			}
			h, err := Read(b.Bytes(), "")
			if err != nil {
				t.Fatalf("%v\n%s", err, &b)
			}
			if diff := cmp.Diff(g, h, noPlaces); diff != "" {
				t.Fatalf("%s\n%s", diff, &b)
			}
			if err := write(&again, h); err != nil || again.String() != b.String() {
				t.Fatalf("%v: written again it is\n%s\nand not\n%s", err, &again, &b)
			}
			Check(h) // must end, whatever the graph is
		}
	})
}

// Numbers that JSON does not have are refused there, and kept in YAML.
func TestInfinity(t *testing.T) {
	for _, f := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		g := &Graph{Attrs: ir.Attrs{}.With("a", ir.FloatAttr(f))}
		var b bytes.Buffer
		if err := WriteJSON(&b, g); err == nil || b.Len() > 0 {
			t.Errorf("%v: expected an error and nothing written, found %q", f, &b)
		}
		if err := Write(&b, g); err != nil {
			t.Fatal(err)
		}
		h, err := Read(b.Bytes(), "")
		if err != nil || !h.Attrs.Equal(g.Attrs) {
			t.Errorf("%v came back as %v, %v", f, h, err)
		}
	}
}

// FuzzRead reads anything without a panic; what is read and sound is written and read as the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte(head + edge("f, port: m", "g, port: z")))
	f.Add([]byte(`{"graph": {"ops": [{"name": "a", "attrs": {"b": [1, 2.5, null, true, "x"]}}], "edges": []}}`))
	f.Add([]byte("subgraph:\n  name: h\n  ops: []\n"))
	f.Add([]byte("op: {name: f, attrs: {a: *b}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := Read(data, "f")
		if err != nil {
			return
		}
		list := Check(g)
		var b bytes.Buffer
		if err := Write(&b, g); err != nil {
			t.Fatal(err)
		}
		h, err := Read(b.Bytes(), "f")
		if err != nil {
			t.Fatalf("%v\n%s", err, &b)
		}
		if diff := cmp.Diff(g, h, noPlaces); diff != "" {
			t.Fatal(diff)
		}
		if !list.HasErrors() && g.Namespace != "" {
			if _, err := Lower(g, "", namespace.All()); err != nil && fmt.Sprint(err) == "" {
				t.Fatal("an error without words")
			}
		}
	})
}

package irtest_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/irtest"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/ir/wire"
)

// form writes a graph and reads it back.
type form struct {
	name  string
	trip  func(g *ir.Graph) (*ir.Graph, error)
	whole bool // carries positions, provenance and the order of the nodes too
}

var forms = []form{
	{"loomjson", func(g *ir.Graph) (*ir.Graph, error) {
		var b bytes.Buffer
		if err := loomjson.Write(&b, g); err != nil {
			return nil, err
		}
		return loomjson.Read(b.Bytes(), "g.json", dialects.Registry())
	}, false},
	{"text", textTrip(text.Options{IDs: true}), false},
	{"text with everything", textTrip(text.Options{IDs: true, Positions: true, Provenance: true, GraphOrder: true}), true},
	{"wire", func(g *ir.Graph) (*ir.Graph, error) {
		data, err := wire.Marshal(g)
		if err != nil {
			return nil, err
		}
		return wire.Unmarshal(data, dialects.Registry(), wire.Limits{})
	}, true},
}

func textTrip(o text.Options) func(g *ir.Graph) (*ir.Graph, error) {
	return func(g *ir.Graph) (*ir.Graph, error) {
		var b bytes.Buffer
		if err := text.Write(&b, g, o); err != nil {
			return nil, err
		}
		return text.Read(b.Bytes(), "g.tap", dialects.Registry())
	}
}

// Any form to any form and back is the identity, however long the way.
func TestAnyFormToAnyForm(t *testing.T) {
	for dialect, name := range []string{"operations", "applications", "schedule"} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				g := irtest.Random(t, irtest.Dialect(dialect))
				for n := range g.Nodes() {
					n.SetUUID(g.UUIDOf(n))
				}
				g.ID, g.HasID = g.GraphUUID(), true
				h, whole := g, true
				for range 4 {
					f := rapid.SampledFrom(forms).Draw(t, "form")
					next, err := f.trip(h)
					if err != nil {
						t.Fatalf("%s: %v", f.name, err)
					}
					h, whole = next, whole && f.whole
				}
				diff := irtest.Diff(g, h)
				if whole {
					diff = irtest.DiffAll(g, h)
				}
				if diff != "" {
					t.Fatal(diff)
				}
			})
		})
	}
}

// What a comparison calls different: each of these changes, alone, is seen.
func TestDiffSees(t *testing.T) {
	for name, change := range map[string]func(g *ir.Graph, n *ir.Node){
		"label":  func(_ *ir.Graph, n *ir.Node) { n.Label += "x" },
		"id":     func(_ *ir.Graph, n *ir.Node) { n.SetUUID(ir.UUID{3}) },
		"tag":    func(_ *ir.Graph, n *ir.Node) { n.SetTags(nil) },
		"gone":   func(g *ir.Graph, n *ir.Node) { g.Remove(n.ID) },
		"graph":  func(g *ir.Graph, _ *ir.Node) { g.ID[0]++ },
		"tensor": func(_ *ir.Graph, n *ir.Node) { ir.EachReference(n.Body, func(r *ir.NodeID) { *r = 0 }) },
	} {
		a, b := irtest.Chain(3), irtest.Chain(3)
		if diff := irtest.Diff(a, b); diff != "" {
			t.Fatal(diff)
		}
		change(b, b.Node(2)) // an operation with tags
		if irtest.Diff(a, b) == "" {
			t.Errorf("%s: no difference", name)
		}
	}
}

package ir_test

import (
	"bytes"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/irtest"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/ir/wire"
	"tensortapestry.org/tapc/ir/zspace"
)

const tensors = `tapc 1
%a = tensor float32 [0:2, 0:3]
%b = tensor float32 [0:2, 0:3]
%c = tensor float64 [0:2, 0:3]
%d = tensor float32 [0:2, 1:3]
%e = tensor float32 [0:2]
%f = tensor float32 [0:2, 0:3]
`

// TestTensorsAreShared reads tensors through each form: those that say the same have one body, and a change of one that was
// made the node's own leaves the others, and the graph that was copied, alone.
func TestTensorsAreShared(t *testing.T) {
	g, err := text.Read([]byte(tensors), "t.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]func(*ir.Graph) (*ir.Graph, error){
		"text": func(g *ir.Graph) (*ir.Graph, error) { return g, nil },
		"json": func(g *ir.Graph) (*ir.Graph, error) {
			data, err := jsonOf(g)
			if err != nil {
				return nil, err
			}
			return loomjson.Read(data, "t.json", dialects.Registry())
		},
		"wire": func(g *ir.Graph) (*ir.Graph, error) {
			data, err := wire.Marshal(g)
			if err != nil {
				return nil, err
			}
			return wire.Unmarshal(data, dialects.Registry(), wire.Limits{})
		},
		"copy": func(g *ir.Graph) (*ir.Graph, error) { return g.Clone(), nil },
	}
	for name, form := range forms {
		h, err := form(g)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := irtest.Diff(g, h); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if body(h, "a") != body(h, "b") || body(h, "a") != body(h, "f") {
			t.Errorf("%s: equal tensors have bodies of their own", name)
		}
		for _, other := range []string{"c", "d", "e"} {
			if body(h, other) == body(h, "a") {
				t.Errorf("%s: tensor %s has the body of another", name, other)
			}
		}
		c := h.Clone()
		for n := range c.Nodes() {
			if n.Label == "b" {
				n.Own().(*tensorops.Tensor).Range = zspace.MustShape(7)
			}
		}
		for _, x := range []struct {
			g     *ir.Graph
			label string
			rank  int
		}{{c, "b", 1}, {c, "a", 2}, {c, "f", 2}, {h, "b", 2}, {g, "b", 2}} {
			if got := body(x.g, x.label).(*tensorops.Tensor).Range.Rank(); got != x.rank {
				t.Errorf("%s: %s has rank %d after one tensor was changed, expected %d", name, x.label, got, x.rank)
			}
		}
	}
}

func body(g *ir.Graph, label string) ir.Body {
	for n := range g.Nodes() {
		if n.Label == label {
			return n.Body
		}
	}
	return nil
}

func jsonOf(g *ir.Graph) ([]byte, error) {
	var b bytes.Buffer
	err := loomjson.Write(&b, g)
	return b.Bytes(), err
}

package own

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// anyOrder draws a graph of kernels in a row with sequence points between them, which all that each order goes forwards in.
func anyOrder(t *rapid.T) *ir.Graph {
	g := ir.New()
	r, _ := zspace.FromShape(2)
	tensor := func(name string) ir.Selection {
		return ir.Select(g.Add(&tensorops.Tensor{DType: "float32", Range: r}, name).ID, r)
	}
	x := tensor("x")
	tensorops.StateInputs(g, []tensorops.Named{{Name: "x", Tensor: x.Tensor}})
	values, nodes := []ir.Selection{x}, []ir.NodeID{}
	for i := range rapid.IntRange(2, 7).Draw(t, "nodes") {
		if len(nodes) > 0 && rapid.IntRange(0, 2).Draw(t, "point") == 0 {
			n := g.Add(&sequence.Point{After: some(t, nodes)}, rapid.SampledFrom([]string{"", fmt.Sprintf("mark%d", i)}).Draw(t, "label"))
			nodes = append(nodes, n.ID)
			continue
		}
		y := tensor(fmt.Sprintf("v%d", i))
		in := rapid.SampledFrom(values).Draw(t, "in")
		n := g.Add(&tensorops.Operation{Kernel: "op:neg", Inputs: ir.PortsOf([]ir.Port{{Name: "tensor", Sel: []ir.Selection{in}}}),
			Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{y}}})}, "")
		if before := some(t, nodes); len(before) > 0 {
			g.Add(&sequence.Point{After: before, Before: []ir.NodeID{n.ID}}, "")
		}
		for _, id := range some(t, nodes) {
			if p, ok := g.Node(id).Body.(*sequence.Point); ok {
				p.Before = append(p.Before, n.ID)
			}
		}
		values, nodes = append(values, y), append(nodes, n.ID)
	}
	last := values[len(values)-1]
	tensorops.StateOutputs(g, []tensorops.Named{{Name: g.Node(last.Tensor).Label, Tensor: last.Tensor}})
	return g
}

func some(t *rapid.T, list []ir.NodeID) (out []ir.NodeID) {
	for _, id := range list {
		if rapid.IntRange(0, 3).Draw(t, "take") == 0 {
			out = append(out, id)
		}
	}
	return out
}

// pointsOf writes each sequence point of a graph with what is right before and after it, operations by what they give, and points that have names by these.
func pointsOf(g *ir.Graph) []string {
	name := func(id ir.NodeID) string {
		if op := tensorops.OperationOf(g, id); op != nil && op.Outputs.Len() > 0 {
			return g.Node(op.Outputs.At(0).Sel[0].Tensor).Label
		}
		return "point " + g.Node(id).Label
	}
	before, after := map[ir.NodeID]map[ir.NodeID]bool{}, map[ir.NodeID]map[ir.NodeID]bool{}
	add := func(m map[ir.NodeID]map[ir.NodeID]bool, a, b ir.NodeID) {
		if m[a] == nil {
			m[a] = map[ir.NodeID]bool{}
		}
		m[a][b] = true
	}
	for n := range g.Nodes() {
		if p, ok := n.Body.(*sequence.Point); ok {
			for _, id := range p.After {
				add(before, n.ID, id)
				add(after, id, n.ID)
			}
			for _, id := range p.Before {
				add(after, n.ID, id)
				add(before, id, n.ID)
			}
		}
	}
	var out []string
	for n := range g.Nodes() {
		if n.Body.Kind() == sequence.Kind {
			var sides [2][]string
			for i, m := range []map[ir.NodeID]map[ir.NodeID]bool{before, after} {
				for id := range maps.Keys(m[n.ID]) {
					sides[i] = append(sides[i], name(id))
				}
				slices.Sort(sides[i])
			}
			out = append(out, fmt.Sprintf("%s: %s -> %s", name(n.ID), strings.Join(sides[0], " "), strings.Join(sides[1], " ")))
		}
	}
	slices.Sort(out)
	return out
}

// What sequence points order comes back from an Amanda graph as it was, and so it does the second time.
func TestOrderThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := anyOrder(t)
		if bad := tensorops.Environment().Verify(context.Background(), g); bad.HasErrors() {
			return // it has a cycle
		}
		h := g
		for range 2 {
			var b bytes.Buffer
			a, err := FromIR(h)
			if err != nil {
				t.Fatal(err)
			}
			if err := amanda.Write(&b, a); err != nil {
				t.Fatal(err)
			}
			c, err := amanda.Read(b.Bytes(), "")
			if err != nil || amanda.Check(c).HasErrors() {
				t.Fatal(err, amanda.Check(c))
			}
			if h, err = ToIR(c, kernels.Builtin(), false); err != nil {
				t.Fatalf("%v\n%s", err, &b)
			}
			if diff := cmp.Diff(pointsOf(g), pointsOf(h)); diff != "" {
				t.Fatalf("%s\n%s", diff, &b)
			}
		}
	})
}

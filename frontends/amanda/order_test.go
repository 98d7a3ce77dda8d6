package amanda

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/frontends/mapping/rules"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/ir"
)

// anyTimed draws a graph of TensorFlow with control edges, which all lead forwards: ops that become one kernel, several and none. Its data edges are in before, too.
func anyTimed(t *rapid.T) (g *Graph, before [][]int) {
	g = &Graph{Namespace: "tensorflow/1.13.1"}
	ports := func(names ...string) (list []Port) {
		for _, n := range names {
			list = append(list, Port{Name: n})
		}
		return list
	}
	attrs := ir.Attrs{}.With("dtype", ir.StringAttr("float32")).With("shape", ir.IntsAttr(2))
	g.Ops = []*Op{{Type: "Placeholder", Name: "x", Attrs: attrs, Outputs: ports("output")}}
	before = [][]int{nil}
	values := []int{0}
	for i := range rapid.IntRange(2, 8).Draw(t, "ops") {
		o := &Op{Name: fmt.Sprintf("op%d", i+1)}
		at := Ref{Name: o.Name}
		var earlier []int
		take := func(port string) {
			from := rapid.SampledFrom(values).Draw(t, port)
			earlier = append(earlier, from)
			g.Edges = append(g.Edges, Edge{From: End{Ref{Name: g.Ops[from].Name}, Ref{Index: 0}}, To: End{at, Ref{Name: port}}})
		}
		switch rapid.IntRange(0, 5).Draw(t, "type") {
		case 0:
			o.Type, o.Inputs, o.Outputs = "Neg", ports("x"), ports("y")
			take("x")
		case 1:
			o.Type, o.Inputs, o.Outputs = "Relu6", ports("features"), ports("activations")
			take("features")
		case 2:
			o.Type, o.Inputs, o.Outputs = "Identity", ports("input"), ports("output")
			take("input")
		case 3:
			o.Type = "NoOp"
		case 4:
			value := ir.Attrs{}.With("dtype", ir.StringAttr("float32")).With("shape", ir.IntsAttr(2)).With("value", ir.IntsAttr(1, 2))
			o.Type, o.Outputs = "Const", ports("output")
			o.Attrs = ir.Attrs{}.With("dtype", ir.StringAttr("float32")).With("value", ir.AttrValue{Kind: ir.AttrMap, Map: value})
		case 5:
			o.Type, o.Inputs, o.Outputs = "SquaredDifference", ports("x", "y"), ports("z")
			take("x")
			take("y")
		}
		for k := 1; k < len(g.Ops); k++ {
			if rapid.IntRange(0, 3).Draw(t, "control") == 0 {
				earlier = append(earlier, k)
				g.Edges = append(g.Edges, ControlEdge(g.Ops[k].Name, o.Name))
			}
		}
		g.Ops, before = append(g.Ops, o), append(before, earlier)
		if o.Outputs != nil {
			values = append(values, len(g.Ops)-1)
		}
	}
	return g, before
}

// precedes says for each pair of labels of results whether the operation that gives the first happens before that of the second, by values or by sequence points.
func precedes(g *ir.Graph) map[[2]string]bool {
	next := map[ir.NodeID][]ir.NodeID{}
	for n := range g.Nodes() {
		switch b := n.Body.(type) {
		case *tensorops.Operation:
			b.Inputs.All(func(_, _ int, s *ir.Selection) { next[s.Tensor] = append(next[s.Tensor], n.ID) })
			b.Outputs.All(func(_, _ int, s *ir.Selection) { next[n.ID] = append(next[n.ID], s.Tensor) })
		case *sequence.Point:
			for _, id := range b.After {
				next[id] = append(next[id], n.ID)
			}
			next[n.ID] = append(next[n.ID], b.Before...)
		}
	}
	maker := map[ir.NodeID]string{}
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && !op.IsSource() {
			op.Outputs.All(func(_, _ int, s *ir.Selection) { maker[n.ID] = g.Node(s.Tensor).Label })
		}
	}
	out := map[[2]string]bool{}
	for id, label := range maker {
		seen, stack := map[ir.NodeID]bool{}, []ir.NodeID{id}
		for len(stack) > 0 {
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, to := range next[at] {
				if !seen[to] {
					seen[to] = true
					stack = append(stack, to)
				}
			}
			if other := maker[at]; at != id && other != "" && label != "" {
				out[[2]string{label, other}] = true
			}
		}
	}
	return out
}

func mapTimed(t *rapid.T, g *Graph) *ir.Graph {
	if bad := Check(g); bad.HasErrors() {
		t.Fatal(bad)
	}
	fg, err := Lower(g, "", namespace.All())
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := mapping.Map(context.Background(), fg, mapping.Options{Tables: rules.For("tensorflow", nil), Natives: Natives()})
	if err != nil {
		t.Fatal(err)
	}
	if bad := tensorops.Environment().Verify(context.Background(), out); bad.HasErrors() {
		t.Fatal(bad)
	}
	return out
}

// Of what becomes of ops, those that happen before others still do, through ops of which nothing is left, too; and what is written back in the vocabulary is read with the same order.
func TestOrderIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ag, before := anyTimed(t)
		g := mapTimed(t, ag)
		order := precedes(g)
		made, own := map[string]bool{}, map[string]bool{} // a copy of a constant or an input is none of the op that gives that
		for n := range g.Nodes() {
			if op, ok := n.Body.(*tensorops.Operation); ok && !op.IsSource() {
				op.Outputs.All(func(_, _ int, s *ir.Selection) {
					made[g.Node(s.Tensor).Label], own[g.Node(s.Tensor).Label] = true, op.Kernel != "op:copy"
				})
			}
		}
		for i, o := range ag.Ops {
			for j := range reach(before, i) {
				if from := ag.Ops[j].Name; o.Type != "Identity" && ag.Ops[j].Type != "Identity" && made[o.Name] && own[from] && !order[[2]string{from, o.Name}] {
					t.Fatalf("%s does not happen before %s any more", from, o.Name)
				}
			}
		}
		fg, _, err := mapping.Back(context.Background(), g, mapping.BackOptions{Namespace: "tensorflow", Version: namespaceVersion(t), Tables: rules.For("tensorflow", nil), Constants: (&constants.Loader{}).Load})
		if err != nil {
			return // Relu6 has none of one kernel
		}
		fg.Versions = map[string]int64{"": namespaceVersion(t)}
		again, err := Lift(fg, namespace.All())
		if err != nil {
			t.Fatal(err)
		}
		back := precedes(mapTimed(t, again))
		for pair := range order {
			if !back[pair] {
				t.Fatalf("%s does not happen before %s when it was written and read again", pair[0], pair[1])
			}
		}
		for pair := range back {
			if made[pair[0]] && made[pair[1]] && !order[pair] {
				t.Fatalf("%s happens before %s when it was written and read again", pair[0], pair[1])
			}
		}
	})
}

func namespaceVersion(t *rapid.T) int64 {
	ns, err := namespace.All().Find("tensorflow/1.13.1")
	if err != nil {
		t.Fatal(err)
	}
	return ns.Version
}

// reach gives the ops that happen before one.
func reach(before [][]int, i int) map[int]bool {
	out := map[int]bool{}
	stack := slices.Clone(before[i])
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !out[at] {
			out[at] = true
			stack = append(stack, before[at]...)
		}
	}
	return out
}

// A control edge of a subgraph is one of all that is in it, nested subgraphs too; what waits for a constant or an input can not be.
func TestControlEdgesOfSubgraphs(t *testing.T) {
	const text = `graph:
  namespace: onnx/17
  ops:
    - {type: Relu, name: a, input_ports: [{name: X, attrs: {dtype: float32, shape: [2]}}], output_ports: [{name: "Y"}]}
    - type: S
      name: s
      ops:
        - {type: Exp, name: e, input_ports: [{name: input, attrs: {dtype: float32, shape: [2]}}], output_ports: [{name: output}]}
        - type: S
          name: inner
          ops:
            - {type: Neg, name: n, input_ports: [{name: X, attrs: {dtype: float32, shape: [2]}}], output_ports: [{name: "Y"}]}
            - {type: Abs, name: m, input_ports: [{name: X, attrs: {dtype: float32, shape: [2]}}], output_ports: [{name: "Y"}]}
          edges: [{output_port: {op: n, port: -1}, input_port: {op: m, port: -1}}]
    - {type: Sqrt, name: z, input_ports: [{name: X, attrs: {dtype: float32, shape: [2]}}], output_ports: [{name: "Y"}]}
  edges:
    - {output_port: {op: a, port: -1}, input_port: {op: s, port: -1}}
    - {output_port: {op: s, port: -1}, input_port: {op: z, port: -1}}
`
	fg, err := Lower(read(t, text), "", namespace.All())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, op := range fg.Ops {
		var names []string
		for _, x := range op.After {
			names = append(names, x.Type+" "+x.Name)
		}
		got = append(got, op.Type+" "+op.Name+" after "+strings.Join(names, ", "))
	}
	want := []string{"Relu a after ", "Exp s/e after Order s", "Neg s/inner/n after Order s", "Abs s/inner/m after Neg s/inner/n", "Sqrt z after Order s",
		"Order s after Relu a", "Order s after Exp s/e, Abs s/inner/m"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	_, err = Lower(read(t, strings.Replace(text, "{type: Sqrt, name: z, input_ports: [{name: X, attrs: {dtype: float32, shape: [2]}}], output_ports: [{name: \"Y\"}]}",
		"{type: Initializer, name: z, attrs: {dtype: float32, shape: [1], value: [1]}, output_ports: [{name: output}]}", 1)), "", namespace.All())
	if err == nil || !strings.Contains(err.Error(), CodeOrder) {
		t.Errorf("expected %s, found %v", CodeOrder, err)
	}
}

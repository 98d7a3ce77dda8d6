package expand_test

import (
	"fmt"
	"testing"
	"time"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/expand"
)

// egraph is what a graph with choices is as an e-graph: e-nodes are operations on classes of tensors, those of the branches of a choice are one class,
// and equal operations on equal classes are one e-node whose results are one class (congruence).
type egraph struct {
	g      *ir.Graph
	ops    []ir.NodeID
	parent map[ir.NodeID]ir.NodeID // of tensors, a union-find
	nodes  map[string]ir.NodeID    // an operation of each e-node
}

func (e *egraph) find(t ir.NodeID) ir.NodeID {
	for {
		p, ok := e.parent[t]
		if !ok || p == t {
			return t
		}
		t = p
	}
}

func (e *egraph) union(a, b ir.NodeID) bool {
	if a, b = e.find(a), e.find(b); a == b {
		return false
	}
	e.parent[max(a, b)] = min(a, b)
	return true
}

// key is an e-node: kernel, parameters, and the classes that it reads, each with the box, as the class has no other place.
func (e *egraph) key(op *tensorops.Operation) string {
	k := fmt.Sprint(op.Kernel, op.Params)
	op.Inputs.All(func(port, _ int, s *ir.Selection) {
		from, _ := s.Range().Start.Sub(tensorops.TensorOf(e.g, s.Tensor).Range.Start)
		k += fmt.Sprint(" ", op.Inputs.At(port).Name, e.find(s.Tensor), from, s.Range().Shape())
	})
	op.Outputs.All(func(_, _ int, s *ir.Selection) { k += fmt.Sprint(" -> ", s.Range().Shape()) })
	return k
}

// newEgraph unites branches, and then what is congruent until nothing is.
func newEgraph(g *ir.Graph) *egraph {
	e := &egraph{g: g, parent: map[ir.NodeID]ir.NodeID{}}
	for _, id := range ir.NewFlow(g, tensorops.OperationKind).Order(g) {
		c, bad := tensorops.ChoiceOf(g, id)
		if !tensorops.OperationOf(g, id).IsChoice() || bad != nil {
			e.ops = append(e.ops, id)
			continue
		}
		for _, b := range c.Branches {
			e.union(c.Result.Tensor, b.Tensor)
		}
	}
	for again := true; again; {
		again, e.nodes = false, map[string]ir.NodeID{}
		for _, id := range e.ops {
			op := tensorops.OperationOf(g, id)
			k := e.key(op)
			if same, ok := e.nodes[k]; ok {
				again = e.union(op.Outputs.At(0).Sel[0].Tensor, tensorops.OperationOf(g, same).Outputs.At(0).Sel[0].Tensor) || again
			}
			e.nodes[k] = id
		}
	}
	return e
}

func (e *egraph) classes() int {
	seen := map[ir.NodeID]bool{}
	for _, id := range e.nodes {
		seen[e.find(tensorops.OperationOf(e.g, id).Outputs.At(0).Sel[0].Tensor)] = true
	}
	return len(seen)
}

// example makes a graph with one operation of floats on inputs of these shapes.
func example(kernel string, params ir.Attrs, out string, result []int64, in map[string][]int64) *ir.Graph {
	g := ir.New()
	sel := func(label string, shape []int64) ir.Selection {
		box := zspace.MustShape(shape...)
		return ir.Select(g.Add(&tensorops.Tensor{DType: "float32", Range: box}, label).ID, box)
	}
	ports := map[string]ir.Selection{}
	for name, shape := range in {
		ports[name] = sel(name, shape)
	}
	g.Add(&tensorops.Operation{Kernel: "op:" + kernel, Params: params, Inputs: ir.NewPorts(ports), Outputs: ir.NewPorts(map[string]ir.Selection{out: sel("y", result)})}, "")
	return g
}

// TestBesideAnEgraph counts what the paper's examples take as choices and as an e-graph of the same rewrites; go test -v shows the table of
// docs/choices.md. An e-graph has no more e-nodes than there are operations beside choices, and all branches of a choice are one class.
func TestBesideAnEgraph(t *testing.T) {
	list := func(name string, n ...int64) ir.Attrs { return ir.Attrs{}.With(name, ir.IntsAttr(n...)) }
	for _, x := range []struct {
		name string
		g    func() *ir.Graph
	}{
		{"Linear", func() *ir.Graph {
			return example("linear", ir.Attrs{}.With("activation", ir.StringAttr("relu")), "result", []int64{64, 32}, map[string][]int64{"x": {64, 48}, "A": {48, 32}, "b": {32}})
		}},
		{"Matmul", func() *ir.Graph {
			return example("matmul", nil, "Z", []int64{64, 32}, map[string][]int64{"X": {64, 48}, "Y": {48, 32}})
		}},
		{"Convolution", func() *ir.Graph {
			return example("conv", list("strides", 2, 2), "Y", []int64{1, 8, 7, 7}, map[string][]int64{"X": {1, 4, 15, 15}, "W": {8, 4, 3, 3}})
		}},
		{"sparse Convolution", func() *ir.Graph {
			return example("conv", list("dilations", 2, 2), "Y", []int64{1, 8, 8, 8}, map[string][]int64{"X": {1, 4, 12, 12}, "W": {8, 4, 3, 3}})
		}},
		{"attention", func() *ir.Graph {
			return example("attention", nil, "Y", []int64{2, 4, 16, 8}, map[string][]int64{"Q": {2, 4, 16, 8}, "K": {2, 4, 16, 8}, "V": {2, 4, 16, 8}})
		}},
	} {
		for depth := 1; depth <= 4; depth++ {
			g, begun := x.g(), time.Now()
			n, err := expand.Run(t.Context(), g, expand.Rules(), expand.Settings{Depth: depth, Limit: 1000}, options)
			if err != nil || n == 0 {
				t.Fatalf("%s: %d choices, %v", x.name, n, err)
			}
			opened := time.Since(begun)
			begun = time.Now()
			e := newEgraph(g)
			united := time.Since(begun)
			t.Logf("| %s | %d | %d | %d | %v | %d | %d | %v |", x.name, depth, n, len(e.ops), opened.Round(10*time.Microsecond), len(e.nodes), e.classes(), united.Round(10*time.Microsecond))
			if len(e.nodes) > len(e.ops) || e.classes() > len(e.nodes) {
				t.Errorf("%s: %d operations, %d e-nodes in %d classes", x.name, len(e.ops), len(e.nodes), e.classes())
			}
			for _, c := range choicesOf(t, g) {
				for _, b := range c.Branches {
					if e.find(b.Tensor) != e.find(c.Result.Tensor) {
						t.Fatalf("%s: a branch is in another class than its choice", x.name)
					}
				}
			}
		}
	}
}

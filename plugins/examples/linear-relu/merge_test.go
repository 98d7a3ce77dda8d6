package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/irtest"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/plugins/conformance"
)

const example = "../../../examples/linear-relu.loom.json"

func load(t *testing.T) *ir.Graph {
	t.Helper()
	text, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	g, err := loomjson.Read(text, example, dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// find gives the node with a label.
func find(t *testing.T, g *ir.Graph, label string) *ir.Node {
	t.Helper()
	for n := range g.Nodes() {
		if n.Label == label {
			return n
		}
	}
	t.Fatalf("no node %q", label)
	return nil
}

func operation(t *testing.T, g *ir.Graph, label string) *tensorops.Operation {
	return tensorops.OperationOf(g, find(t, g, label).ID)
}

func TestMerges(t *testing.T) {
	g := load(t)
	before := find(t, g, "y").ID
	out, err := plugin().Passes[0].Call(context.Background(), g)
	if err != nil {
		t.Fatal(err)
	}
	if out.Unchanged || out.Counts["merged"] != 1 {
		t.Fatalf("outcome %+v", out)
	}
	op := operation(t, g, "linear")
	if v, _ := op.Params.Get("activation"); v.Str != "relu" {
		t.Errorf("activation is %q", v.Str)
	}
	if got := op.Outputs.At(0).Sel[0].Tensor; got != find(t, g, "z").ID {
		t.Errorf("the result is %s, not z", g.Name(got))
	}
	if g.Node(before) != nil || g.Len() != 5 {
		t.Errorf("y is still there, or %d nodes are left and not 5", g.Len())
	}
	if n := find(t, g, "linear"); n.Origin() == nil || len(n.Origin().From) != 2 {
		t.Errorf("provenance is %+v", n.Origin())
	}
	verify(t, g)
}

func verify(t *testing.T, g *ir.Graph) {
	t.Helper()
	if found := tensorops.Environment().Verify(context.Background(), g); found.HasErrors() {
		t.Error(found)
	}
	for n := range g.Nodes() {
		if _, ok := n.Body.(*tensorops.Operation); !ok {
			continue
		}
		if _, err := kernels.Builtin().BindOperation(g, n.ID); err != nil {
			t.Error(err)
		}
	}
}

// TestMovedResult puts relu's result elsewhere than its operand: only a signature that is derived anew fits then.
func TestMovedResult(t *testing.T) {
	g := load(t)
	z := find(t, g, "z").Own().(*tensorops.Tensor)
	var err error
	if z.Range, err = z.Range.Translate([]int64{7, -3}); err != nil {
		t.Fatal(err)
	}
	relu := find(t, g, "relu")
	relu.Body.(*tensorops.Operation).Outputs.At(0).Sel[0].SetRange(z.Range)
	call, err := kernels.Builtin().BindOperation(g, relu.ID)
	if err != nil {
		t.Fatal(err)
	}
	in, out, err := call.Signature()
	if err != nil {
		t.Fatal(err)
	}
	relu.SetTag(&tensorops.Signature{Inputs: in, Outputs: out})
	verify(t, g)
	if _, err := plugin().Passes[0].Call(context.Background(), g); err != nil {
		t.Fatal(err)
	}
	if g.Len() != 5 {
		t.Error("not merged")
	}
	verify(t, g)
}

func TestNearMisses(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, g *ir.Graph){
		"another reader": func(t *testing.T, g *ir.Graph) {
			y := find(t, g, "y")
			r := tensorops.TensorOf(g, y.ID).Range
			w := g.Add(&tensorops.Tensor{DType: "float32", Range: r}, "w")
			g.Add(&tensorops.Operation{Kernel: "op:neg", Inputs: ir.NewPorts(map[string]ir.Selection{"tensor": ir.Select(y.ID, r)}),
				Outputs: ir.NewPorts(map[string]ir.Selection{"result": ir.Select(w.ID, r)})}, "neg")
		},
		"exported": func(t *testing.T, g *ir.Graph) {
			y := find(t, g, "y")
			g.Add(&tensorops.Operation{Kernel: "op:export", Inputs: ir.NewPorts(map[string]ir.Selection{"tensor": ir.Select(y.ID, tensorops.TensorOf(g, y.ID).Range)})}, "export")
		},
		"observed": func(t *testing.T, g *ir.Graph) { find(t, g, "linear").SetTag(&tensorops.IOSequencePoint{}) },
		"relu is observed": func(t *testing.T, g *ir.Graph) {
			find(t, g, "relu").SetTag(&tensorops.IOSequencePoint{})
		},
		"a part is read": func(t *testing.T, g *ir.Graph) {
			relu := find(t, g, "relu")
			relu.DropTag(tensorops.SignatureKind)
			relu.DropTag(tensorops.IndexKind)
			op := relu.Body.(*tensorops.Operation)
			half := op.Inputs.At(0).Sel[0].Range().Clone()
			half.End[0] /= 2
			op.Inputs.At(0).Sel[0].SetRange(half)
			op.Outputs.At(0).Sel[0].SetRange(half)
			find(t, g, "z").Own().(*tensorops.Tensor).Range = half
		},
		"an activation already": func(t *testing.T, g *ir.Graph) {
			op := operation(t, g, "linear")
			op.Params = op.Params.With("activation", ir.StringAttr("relu"))
		},
		"another kernel before": func(t *testing.T, g *ir.Graph) { operation(t, g, "linear").Kernel = "mine:linear" },
		"another kernel behind": func(t *testing.T, g *ir.Graph) { operation(t, g, "relu").Kernel = "op:exp" },
	} {
		t.Run(name, func(t *testing.T) {
			g := load(t)
			change(t, g)
			before := g.Clone()
			out, err := plugin().Passes[0].Call(context.Background(), g)
			if err != nil {
				t.Fatal(err)
			}
			if diff := irtest.DiffAll(before, g); diff != "" || !out.Unchanged {
				t.Errorf("changed (-before +after):\n%s", diff)
			}
		})
	}
}

// BenchmarkInProcess is the pass without a process of its own, at the sizes of the benchmarks in package plugins.
func BenchmarkInProcess(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			g := conformance.Large(n / 2)
			for b.Loop() {
				b.StopTimer()
				copied := g.Clone() // the pass changes it
				b.StartTimer()
				if out, err := plugin().Passes[0].Call(context.Background(), copied); err != nil || out.Unchanged {
					b.Fatal(out, err)
				}
			}
		})
	}
}

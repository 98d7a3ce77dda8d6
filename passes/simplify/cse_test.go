package simplify_test

import (
	"context"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/simplify"
)

// twins is a graph of two operations that may be equal, and a consumer of both results.
type twins struct {
	g    *ir.Graph
	x    ir.Selection
	ops  [2]*ir.Node
	outs [2]ir.NodeID
}

func newTwins() *twins {
	w := &twins{g: ir.New()}
	w.x = ir.Select(w.g.Add(&tensorops.Tensor{DType: "float32", Range: zspace.MustShape(4)}, "x").ID, zspace.MustShape(4))
	sum := &tensorops.Operation{Kernel: "op:add", Inputs: ir.PortsOf([]ir.Port{{Name: "tensors"}})}
	for i := range w.ops {
		r, err := zspace.MustShape(4).Translate(zspace.Point{int64(10 * i)})
		if err != nil {
			panic(err)
		}
		w.outs[i] = w.g.Add(&tensorops.Tensor{DType: "float32", Range: r}, "").ID
		w.ops[i] = w.g.Add(&tensorops.Operation{Kernel: "op:exp", Inputs: ir.PortsOf([]ir.Port{{Name: "tensor", Sel: []ir.Selection{w.x}}}),
			Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{ir.Select(w.outs[i], r)}}})}, "")
		sum.Inputs.SetSel(0, append(sum.Inputs.At(0).Sel, ir.Select(w.outs[i], r))...)
	}
	y := w.g.Add(&tensorops.Tensor{DType: "float32", Range: zspace.MustShape(4)}, "y").ID
	sum.Outputs = ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{ir.Select(y, zspace.MustShape(4))}}})
	w.g.Add(sum, "")
	return w
}

func (w *twins) op(i int) *tensorops.Operation { return w.ops[i].Body.(*tensorops.Operation) }

func TestCSE(t *testing.T) {
	cases := []struct {
		name   string
		change func(*twins)
		merged int
	}{
		{"equal, results at different places", func(*twins) {}, 1},
		{"another kernel", func(w *twins) { w.op(1).Kernel = "op:relu" }, 0},
		{"another name of the kernel is not looked through", func(w *twins) { w.op(1).Kernel = "tapc:exp" }, 0},
		{"another parameter", func(w *twins) { w.op(1).Params = ir.Attrs{{Name: "a", Value: ir.IntAttr(1)}} }, 0},
		{"an effect", func(w *twins) { w.ops[1].SetTag(&tensorops.IOSequencePoint{}) }, 0},
		{"an effect that comes first", func(w *twins) { w.ops[0].SetTag(&tensorops.IOSequencePoint{}) }, 0},
		{"a kernel that tapc does not know", func(w *twins) { w.op(0).Kernel, w.op(1).Kernel = "x:noise", "x:noise" }, 0},
		{"another dtype of the result", func(w *twins) { tensorops.TensorOf(w.g, w.outs[1]).DType = "float64" }, 0},
		{"another part of the input", func(w *twins) {
			w.op(1).Inputs.At(0).Sel[0].SetRange(zspace.MustShape(3))
		}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newTwins()
			c.change(w)
			s, err := simplify.CSE(context.Background(), w.g, rewrite.Options{})
			if err != nil || s.Of("cse") != c.merged {
				t.Errorf("%+v %v\n%s", s, err, dump(w.g))
			}
			if gone := w.g.Node(w.outs[1]) == nil; gone != (c.merged > 0) {
				t.Errorf("the second result is gone: %v", gone)
			}
		})
	}
}

// TestCSEOfOutputs checks that equal outputs of a program stay two outputs.
func TestCSEOfOutputs(t *testing.T) {
	w := newTwins()
	for n := range w.g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && op.Kernel == "op:add" {
			w.g.Remove(n.ID)
		}
	}
	before := dump(w.g)
	if _, err := simplify.CSE(context.Background(), w.g, rewrite.Options{}); err != nil || dump(w.g) != before {
		t.Errorf("%v\n%s", err, dump(w.g))
	}
}

package recompute_test

import (
	"context"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/cost/recompute"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/standard"
)

// A tensor that is read at once and again at the end is held while three others are computed.
const held = `tapc 1
%x = tensor float32 [0:12, 0:20]
%w = tensor float32 [0:20, 0:20]
%h = tensor float32 [0:12, 0:20]
%a = tensor float32 [0:12, 0:20]
%b = tensor float32 [0:12, 0:20]
%c = tensor float32 [0:12, 0:20]
%d = tensor float32 [0:12, 0:20]
%y = tensor float32 [0:12, 0:20]
operation op:softmax (tensor: %x) -> (result: %h)
operation op:matmul (X: %h, Y: %w) -> (Z: %a)
operation op:layer_norm (X: %a) -> (Y: %b)
operation op:matmul (X: %b, Y: %w) -> (Z: %c)
operation op:layer_norm (X: %c) -> (Y: %d)
operation op:add (tensors: [%d, %h]) -> (result: %y)
`

func scheduled(t *testing.T, graph string) *ir.Graph {
	t.Helper()
	g, err := text.Read([]byte(graph), "test.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	if err := standard.Run(g, kernels.Builtin(), lower.Options{}, cpu.Choosers()...); err != nil {
		t.Fatal(err)
	}
	return g
}

func lives(t *testing.T, g *ir.Graph, label string) []*recompute.Life {
	t.Helper()
	for n := range g.Nodes() {
		if _, ok := n.Body.(*tensorops.Tensor); ok && n.Label == label {
			list, _, err := recompute.Lives(g, n.ID)
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
	}
	t.Fatalf("no tensor %s", label)
	return nil
}

// The schedule that computes it again holds to all constraints but that of one kernel for each application, gives the same values, and has a smaller arena. The graph that it is of stays as it was.
func TestAgain(t *testing.T) {
	g := scheduled(t, held)
	inputs := map[string]tensorfile.Tensor{}
	for name, shape := range map[string][]int64{"x": {12, 20}, "w": {20, 20}} {
		inputs[name] = tensorfile.Tensor{DType: scalar.Float32, Shape: shape, Data: rt.Random(scalar.Float32, 1, name, shape[0]*shape[1])}
	}
	evaluate := func(g *ir.Graph) map[string]tensorfile.Tensor {
		out, err := (&reference.Evaluator{Library: kernels.Builtin()}).Evaluate(context.Background(), g, inputs)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	want, arena := evaluate(g), func(g *ir.Graph) (n int64) {
		for _, h := range schedule.Held(g) {
			n += h.Arena
		}
		return n
	}
	before := arena(g)
	list := lives(t, g, "h")
	if len(list) != 1 || len(list[0].Readers) != 2 {
		t.Fatalf("buffers of h: %+v, expected one that two steps read", list)
	}
	c, kernel, why, err := recompute.Again(g, list[0])
	if err != nil || why != "" {
		t.Fatal(why, err)
	}
	for _, f := range pipeline.ScheduledKernels.Environment().Verify(context.Background(), c) {
		if f.Code != "TAP0333" { // a device carries an application out twice
			t.Error(f)
		}
	}
	if _, ok := c.Node(kernel).Body.(*schedule.Kernel); !ok || arena(g) != before || arena(c) >= before {
		t.Errorf("arenas: %d, then %d, and %d with it computed again", before, arena(g), arena(c))
	}
	if err := reference.CompareElements("y", want["y"], evaluate(c)["y"], 0); err != nil {
		t.Error(err)
	}
}

// What is held anyway, what one step reads, what several kernels write and what is computed from something that is written over are not computed again.
func TestNotAgain(t *testing.T) {
	g := scheduled(t, held)
	for label, want := range map[string]recompute.Why{"x": recompute.Kept, "y": recompute.Kept, "a": recompute.Once} {
		list := lives(t, g, label)
		if len(list) != 1 {
			t.Fatalf("%d buffers of %s", len(list), label)
		}
		if _, _, why, err := recompute.Again(g, list[0]); why != want || err != nil {
			t.Errorf("%s: %q, %v, expected %q", label, why, err, want)
		}
	}
	over := scheduled(t, strings.Replace(held, "operation op:matmul (X: %b", `%z = tensor float32 [0:12, 0:20]
operation op:relu (tensor: %b) -> (result: %z)
operation op:matmul (X: %b`, 1))
	schedule.BufferOf(over, lives(t, over, "z")[0].Buffer).Over = lives(t, over, "x")[0].Buffer
	parts := scheduled(t, held)
	h := lives(t, parts, "h")[0]
	h.Writers = append(h.Writers, h.Writers[0])
	for _, x := range []struct {
		g    *ir.Graph
		life *recompute.Life
		want recompute.Why
	}{{over, lives(t, over, "h")[0], recompute.Over}, {parts, h, recompute.Several}} {
		if _, _, why, err := recompute.Again(x.g, x.life); why != x.want || err != nil {
			t.Errorf("%q, %v, expected %q", why, err, x.want)
		}
	}
}

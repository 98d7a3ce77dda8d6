// Package conformance is the suite that every back end passes: graphs over all kernels, element types and awkward shapes,
// taken through the passes and run by the back end, with the reference evaluator's values after every step.
//
// It is for tests. Read next: graphs.go.
package conformance

import (
	"context"
	"testing"

	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/fuse"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/plan"
	"tensortapestry.org/tapc/passes/shard"
	"tensortapestry.org/tapc/passes/tile"
)

// Execute runs a scheduled graph on a back end and gives its outputs.
type Execute func(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor

// Each gives every case, scheduled for a type of device, to f.
func Each(t *testing.T, device schedule.DeviceType, f func(t *testing.T, g *ir.Graph)) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			schedules(t, c.graph, device, c.shards...)
			f(t, c.graph)
		})
	}
}

// Run runs every case on a back end that has devices of a type.
func Run(t *testing.T, device schedule.DeviceType, execute Execute) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in, want := schedules(t, c.graph, device, c.shards...)
			if n := kernelCount(c.graph); n != c.kernels {
				t.Errorf("%d kernels, want %d", n, c.kernels)
			}
			compareAll(t, "executed", want, execute(t, c.graph, in))
		})
	}
}

// inputs gives the random inputs of a program with seed 1.
func inputs(t *testing.T, g *ir.Graph) map[string]tensorfile.Tensor {
	t.Helper()
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]tensorfile.Tensor{}
	for _, x := range p.Inputs {
		body := tensorops.TensorOf(g, x.Tensor)
		n, _ := body.Range.Size()
		out[x.Name] = tensorfile.Tensor{DType: body.Type(), Shape: body.Range.Shape(), Data: rt.Random(body.Type(), 1, x.Name, n)}
	}
	return out
}

func evaluate(t *testing.T, what string, g *ir.Graph, in, want map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
	t.Helper()
	ev := reference.Evaluator{Library: kernels.Builtin()}
	got, err := ev.Evaluate(context.Background(), g, in)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	compareAll(t, what, want, got)
	return got
}

func compareAll(t *testing.T, what string, want, got map[string]tensorfile.Tensor) {
	t.Helper()
	for name, w := range want {
		if err := reference.Compare(name, w, got[name]); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// schedules takes a graph through the passes, comparing the values after each with the reference.
func schedules(t *testing.T, g *ir.Graph, device schedule.DeviceType, shards ...string) (in, want map[string]tensorfile.Tensor) {
	t.Helper()
	in = inputs(t, g)
	want = evaluate(t, "operations", g, in, nil)
	lib := kernels.Builtin()
	var requests []shard.Request
	for _, s := range shards {
		r, err := shard.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		requests = append(requests, r)
	}
	if _, err := shard.Run(g, lib, requests); err != nil {
		t.Fatal(err)
	}
	apply.Run(g)
	evaluate(t, "applications", g, in, want)
	if err := lower.Run(g, lib, lower.Options{Target: device}); err != nil {
		t.Fatal(err)
	}
	evaluate(t, "lower", g, in, want)
	if _, err := fuse.Run(g); err != nil {
		t.Fatal(err)
	}
	evaluate(t, "fuse", g, in, want)
	tile.Run(g)
	if _, err := plan.Run(g); err != nil {
		t.Fatal(err)
	}
	evaluate(t, "plan", g, in, want)
	return in, want
}

func kernelCount(g *ir.Graph) int {
	n := 0
	for x := range g.Nodes() {
		if _, ok := x.Body.(*schedule.Kernel); ok {
			n++
		}
	}
	return n
}

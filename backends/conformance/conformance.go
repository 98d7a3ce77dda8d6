// Package conformance is the suite that every back end passes: graphs over all kernels, element types and awkward shapes,
// taken through the passes and run by the back end, with the reference evaluator's values.
//
// It is for tests. Read next: graphs.go.
package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tensortapestry.org/tapc/backends/constants"
	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/feed"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/shard"
	"tensortapestry.org/tapc/passes/standard"
	"tensortapestry.org/tapc/passes/tile"
)

// Execute runs a scheduled graph on a back end and gives its outputs.
type Execute func(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor

// Device is what graphs are scheduled for, and what their kernels' configs are chosen by.
type Device struct {
	Type     schedule.DeviceType
	Choosers []tile.Chooser
	AnyZeros bool // what executes programs gives zeros other signs than a processor does, so they are not compared
}

// Passes takes every case and every kernel of the library through the passes for a type of device, with the reference evaluator's
// values after each pass. What runs on a back end is compared at the end only.
func Passes(t *testing.T, device Device) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			suite{T: t, g: c.graph, stepwise: true}.schedules(device, c.shards...)
		})
	}
	for i, b := range batches(t) {
		t.Run(fmt.Sprintf("declared/%02d", i), func(t *testing.T) {
			t.Parallel()
			s := b.suite(t, Device{})
			s.stepwise = true
			_, want := s.schedules(device, b.shards...)
			suite{T: t}.compare("the case in the declaration", b.want, want)
		})
	}
}

// Run runs every case on a back end that has devices of a type.
func Run(t *testing.T, device Device, execute Execute) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := suite{T: t, g: c.graph}
			in, want := s.schedules(device, c.shards...)
			if n := kernelCount(c.graph); n != c.kernels {
				t.Errorf("%d kernels, want %d", n, c.kernels)
			}
			s.executed("executed", in, want, execute(t, c.graph, in))
		})
	}
}

// Graph takes one graph through the passes, runs it on a back end, in each way that it is given, and compares all values with the
// reference evaluator's.
func Graph(t *testing.T, g *ir.Graph, device Device, constants reference.Constants, execute ...Execute) {
	t.Helper()
	s := suite{T: t, g: g, constants: constants}
	in, want := s.schedules(device)
	for i, run := range execute {
		s.executed(fmt.Sprintf("executed, way %d of %d", i+1, len(execute)), in, want, run(t, g, in))
	}
}

// Examples takes the example graphs of the project (root is its folder) through the passes, runs them on a back end and
// compares all values with the reference evaluator's.
func Examples(t *testing.T, root string, device Device, execute func(load reference.Constants) Execute) {
	files, err := filepath.Glob(filepath.Join(root, "examples", "*.loom.json"))
	if err != nil || len(files) < 5 {
		t.Fatalf("found %d examples: %v", len(files), err)
	}
	for _, f := range append(files, filepath.Join(root, "examples", "classifier", "classifier.loom.json")) {
		t.Run(filepath.Base(f), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			g, err := loomjson.Read(data, f, dialects.Registry())
			if err != nil {
				t.Fatal(err)
			}
			load := constants.Loader{Dir: filepath.Dir(f)}
			defer load.Close()
			Graph(t, g, device, load.Load, execute(load.Load))
		})
	}
}

// suite is one graph on its way.
type suite struct {
	*testing.T
	g         *ir.Graph
	constants reference.Constants
	given     map[string]tensorfile.Tensor // inputs that are not random
	rules     map[string]comparison        // of outputs; the others are compared by the tensor's greatest magnitude
	sums      map[string]tensorfile.Tensor // outputs for inputs without signs: how large what a cell adds up is
	stepwise  bool                         // values are compared after every pass
}

// inputs gives the inputs of the program: those that are given, and random ones with seed 1.
func (s suite) inputs() map[string]tensorfile.Tensor {
	s.Helper()
	if s.given != nil {
		return s.given
	}
	out, err := feed.Inputs(s.g, func(_ int, x tensorops.Named, d scalar.DType, n int64) []byte { return rt.Random(d, 1, x.Name, n) })
	s.check(err)
	return out
}

func (s suite) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s suite) evaluate(what string, in, want map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
	s.Helper()
	ev := reference.Evaluator{Library: kernels.Builtin(), Constants: s.constants}
	got, err := ev.Evaluate(context.Background(), s.g, in)
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
	s.compare(what, want, got)
	return got
}

func (s suite) verify(what string, e *check.Environment) {
	s.Helper()
	if list := e.Verify(context.Background(), s.g); list.HasErrors() {
		s.Fatalf("after %s the graph breaks constraints of %s:\n%v", what, e.Name, list)
	}
}

func (s suite) compare(what string, want, got map[string]tensorfile.Tensor) {
	s.Helper()
	for name, w := range want {
		if err := s.rules[name].compare(name, w, got[name], s.sums[name]); err != nil {
			s.Errorf("%s: %v", what, err)
		}
	}
}

// tolerance is the number of units in the last place by which values may differ. A kernel that sums and then goes on, such as
// a recurrent cell, can lose more than the unit or two of a sum of the result's own size; narrow floats are computed wider.
func tolerance(d scalar.DType) float64 {
	if d.Wide() == d {
		return 4 * reference.Ulps
	}
	return reference.Ulps
}

// executed compares what a back end gave. If that is wrong it says whether the scheduled graph is.
func (s suite) executed(what string, in, want, got map[string]tensorfile.Tensor) {
	s.Helper()
	failed := s.Failed()
	s.compare(what, want, got)
	if s.Failed() && !failed {
		s.evaluate("the scheduled graph", in, want)
	}
}

// schedules takes the graph through the passes and verifies it after each.
func (s suite) schedules(device Device, shards ...string) (in, want map[string]tensorfile.Tensor) {
	s.Helper()
	in = s.inputs()
	want = s.evaluate("operations", in, nil)
	lib := kernels.Builtin()
	var requests []shard.Request
	for _, text := range shards {
		r, err := planfile.ParseCut(text)
		s.check(err)
		requests = append(requests, r)
	}
	_, err := shard.Run(s.g, lib, requests)
	s.check(err)
	for _, step := range standard.Steps(lib, lower.Options{Target: device.Type}, device.Choosers...) {
		s.check(step.Run(s.g))
		if step.Gives > pipeline.OperationExpression { // what is cut has applications before, and the rest not yet
			s.verify(step.Name, step.Gives.Environment())
		}
		if s.stepwise {
			s.evaluate(step.Name, in, want)
		}
	}
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

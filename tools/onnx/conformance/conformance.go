// Package conformance runs ONNX's backend tests: folders of a model with inputs and the outputs that it must give.
//
// Each test is imported, evaluated by the reference evaluator (and, when asked, compiled and run), and compared within the
// suite's tolerances. A test passes, is refused by name and reason, or is wrong; nothing else may happen. Only tools and tests
// import it.
package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"sort"
	"strings"
	"time"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Status is how a test ended.
type Status string

// The ends of a test. Bound is a pass with inputs made constants because shapes depend on them. Drawn is one whose model draws at
// random, so that only types and shapes can be compared. Near is one with elements beyond the suite's tolerance that are within one
// unit in the last place of the output's greatest element: the stored value is noise of another order of summation. Wrong and
// Crash are faults.
const (
	Pass    Status = "pass"
	Bound   Status = "pass, inputs known"
	Drawn   Status = "pass, random"
	Near    Status = "pass, rounding"
	Refused Status = "refused"
	Wrong   Status = "wrong"
	Crash   Status = "crash"
	Slow    Status = "too slow"
)

// Result is what became of one test.
type Result struct {
	Name   string
	Status Status
	Reason string
	Op     string // that was refused
	Time   time.Duration
}

// Options say how tests are run.
type Options struct {
	Timeout time.Duration
	Library *kernels.Library // nil for the built-in kernels
	Run     Runner
}

// Runner computes a graph's outputs.
type Runner func(ctx context.Context, g *ir.Graph, loader *constants.Loader, in map[string]tensorfile.Tensor) (map[string]tensorfile.Tensor, error)

// Reference evaluates graphs with the reference evaluator.
func Reference(lib *kernels.Library) Runner {
	return func(ctx context.Context, g *ir.Graph, loader *constants.Loader, in map[string]tensorfile.Tensor) (map[string]tensorfile.Tensor, error) {
		ev := reference.Evaluator{Library: lib, Constants: loader.Load}
		return ev.Evaluate(ctx, g, in)
	}
}

// Find lists the folders below root that hold a model, sorted.
func Find(root string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Name() == "model.onnx" {
			out = append(out, filepath.Dir(path))
		}
		return err
	})
	sort.Strings(out)
	return out, err
}

// Test runs the test in a folder, or a light model.
func Test(ctx context.Context, dir string, o Options) (r Result) {
	r.Name = filepath.Base(dir)
	start := time.Now()
	if o.Library == nil {
		o.Library = kernels.Builtin()
	}
	if o.Run == nil {
		o.Run = Reference(o.Library)
	}
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	defer func() {
		r.Time = time.Since(start)
		if p := recover(); p != nil {
			r.Status, r.Reason = Crash, fmt.Sprintf("%v\n%s", p, debug.Stack())
		} else if r.Status == Wrong && ctx.Err() != nil {
			r.Status = Slow
		}
	}()
	if strings.HasSuffix(dir, ".onnx") {
		if err := r.lightTest(ctx, dir, o); err != nil {
			r.fail(err)
		}
		return r
	}
	file := filepath.Join(dir, "model.onnx")
	data, err := os.ReadFile(file)
	if err != nil {
		return r.fail(err)
	}
	m, err := onnx.Read(data, file)
	if err != nil {
		return r.refuse(err)
	}
	sets, _ := filepath.Glob(filepath.Join(dir, "test_data_set_*"))
	if len(sets) == 0 {
		return r.fail(errors.New("no data"))
	}
	for _, set := range sets {
		if err := r.set(ctx, m, dir, set, o); err != nil || !r.passed() {
			return r
		}
	}
	return r
}

func (r *Result) passed() bool { return strings.HasPrefix(string(r.Status), string(Pass)) }

func (r *Result) fail(err error) Result {
	r.Status, r.Reason = Wrong, err.Error()
	return *r
}

// refuse records the first diagnostic of an import.
func (r *Result) refuse(err error) Result {
	r.Status, r.Reason = Refused, err.Error()
	if d := diag.FromError(err); len(d) > 0 {
		r.Reason = d[0].Message
		if r.Op == "" {
			r.Op = strings.SplitN(d[0].Message, " ", 2)[0]
		}
	}
	return *r
}

// set runs one set of inputs and outputs. Where the import needs values of inputs, they become constants.
func (r *Result) set(ctx context.Context, m *onnx.Model, dir, set string, o Options) error {
	in, reason, err := tensors(set, "input", m.Graph.Inputs, m.Graph.Consts)
	if err != nil {
		r.fail(err)
		return err
	}
	want, outReason, err := tensors(set, "output", m.Graph.Outputs, nil)
	if err != nil {
		r.fail(err)
		return err
	}
	g, status, err := importWith(ctx, o.Library, m, in, reason != "")
	if err == nil && outReason != "" {
		err = errors.New(outReason)
	}
	if err != nil {
		r.refuse(err)
		return err
	}
	loader := &constants.Loader{Dir: dir}
	defer loader.Close()
	got, err := o.Run(ctx, g, loader, in)
	if err != nil {
		r.fail(err)
		return err
	}
	return r.judge(dir, m, status, want, got)
}

// judge compares the outputs with those that are expected.
func (r *Result) judge(dir string, m *onnx.Model, status Status, want, got map[string]tensorfile.Tensor) error {
	random := draws(m.Graph)
	near, err := compare(dir, want, got, random)
	switch {
	case err != nil:
		r.fail(err)
	case random:
		r.Status = Drawn
	case near:
		r.Status = Near
	default:
		r.Status = status
	}
	return nil
}

// draws says whether a model has an operation that draws at random.
func draws(g *foreign.Graph) bool {
	for _, op := range g.Ops {
		_, seeded := op.Attr("seed")
		switch op.Type {
		case "RandomUniform", "RandomUniformLike", "RandomNormal", "RandomNormalLike", "Bernoulli", "Multinomial":
			return true
		case "Dropout":
			if seeded || len(op.In) == 3 {
				return true
			}
		}
	}
	return false
}

// importWith imports a model: with free inputs if that can be, else with small inputs, and then with all inputs, as constants.
func importWith(ctx context.Context, lib *kernels.Library, m *onnx.Model, in map[string]tensorfile.Tensor, broken bool) (*ir.Graph, Status, error) {
	var last error
	for try, most := range []int{-1, 64, 1 << 30} {
		o := onnx.Options{Library: lib, Dims: map[string]int64{}, Bind: map[string]*foreign.Data{}}
		for name, t := range in {
			for i, n := range t.Shape {
				o.Dims[fmt.Sprintf("%s:%d", name, i)] = n
			}
			if n, err := t.Len(); err == nil && int(n) <= most && (t.DType.IsInt() || t.DType.IsBool() || most > 64) {
				o.Bind[name] = &foreign.Data{DType: t.DType, Shape: t.Shape, Bytes: t.Data}
			}
		}
		bindNames(m, in, o.Dims)
		g, _, err := onnx.Import(ctx, m, o)
		if err == nil {
			if try > 0 {
				return g, Bound, nil
			}
			return g, Pass, nil
		}
		last = err
		if broken || try == 0 && !needsValues(err) {
			break
		}
	}
	return nil, Refused, last
}

// needsValues says whether an import that fails may succeed when it knows the values of inputs.
func needsValues(err error) bool {
	text := err.Error()
	return strings.Contains(text, "known when compiling") || strings.Contains(text, "depends on data")
}

// bindNames binds named sizes to those that the inputs have.
func bindNames(m *onnx.Model, in map[string]tensorfile.Tensor, dims map[string]int64) {
	for _, p := range m.Graph.Inputs {
		t, ok := in[p.Name]
		for i, s := range p.Shape {
			if ok && s.Name != "" && i < len(t.Shape) {
				dims[s.Name] = t.Shape[i]
			}
		}
	}
}

// tensors reads the files of one side. A file that is no tensor of tapc gives a reason; the import must refuse too.
func tensors(set, side string, ports []foreign.Port, skip map[string]*foreign.Data) (map[string]tensorfile.Tensor, string, error) {
	out := map[string]tensorfile.Tensor{}
	reason := ""
	i := 0
	for _, p := range ports {
		data, err := os.ReadFile(filepath.Join(set, fmt.Sprintf("%s_%d.pb", side, i)))
		i++
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		if p.Reason != "" {
			reason = fmt.Sprintf("%s %q %s", side, p.Name, p.Reason)
			continue
		}
		_, t, err := onnx.ReadTensor(data)
		if err != nil {
			reason = fmt.Sprintf("%s %q: %v", side, p.Name, err)
			continue
		}
		if skip[p.Name] == nil {
			out[p.Name] = t
		}
	}
	return out, reason, nil
}

// tolerance is what a test allows, as numpy.testing.assert_allclose reads it.
type tolerance struct{ Rtol, Atol float64 }

// compare finds outputs that are not as expected; near says that the suite's tolerance was not enough for one. With random, only
// types and shapes count.
func compare(dir string, want, got map[string]tensorfile.Tensor, random bool) (near bool, err error) {
	tol := tolerance{1e-3, 1e-7}
	if text, err := os.ReadFile(filepath.Join(dir, "tolerance.json")); err == nil {
		if err := json.Unmarshal(text, &tol); err != nil {
			return false, err
		}
	}
	names := make([]string, 0, len(want))
	for name := range want {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		g, ok := got[outside(name)]
		if !ok {
			return false, fmt.Errorf("output %q is missing", name)
		}
		if random {
			tol.Atol = math.Inf(1)
		}
		err := Close(want[name], g, tol.Rtol, tol.Atol)
		if err != nil && Close(want[name], g, tol.Rtol, max(tol.Atol, unit(want[name]))) == nil {
			near, err = true, nil
		}
		if err != nil {
			return near, fmt.Errorf("output %q: %w", name, err)
		}
	}
	return near, nil
}

// outside gives the name that a program has for an output, as tensorops.ProgramOf makes it.
func outside(name string) string {
	return strings.NewReplacer("/", "_", "=", "_", " ", "_").Replace(name)
}

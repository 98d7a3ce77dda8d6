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
	"os"
	"path/filepath"
	"runtime/debug"
	"sort"
	"strings"
	"time"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Status is how a test ended.
type Status string

// The ends of a test. Bound is a pass with inputs made constants because shapes depend on them; Wrong and Crash are faults.
const (
	Pass    Status = "pass"
	Bound   Status = "pass, inputs known"
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
		if err := r.set(ctx, m, dir, set, o); err != nil || r.Status != Pass && r.Status != Bound {
			return r
		}
	}
	return r
}

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
	r.Status = status
	if err := compare(dir, want, got); err != nil {
		r.fail(err)
	}
	return nil
}

// importWith imports a model: with free inputs if that can be, else with small inputs, and then with all inputs, as constants.
func importWith(ctx context.Context, lib *kernels.Library, m *onnx.Model, in map[string]tensorfile.Tensor, broken bool) (*ir.Graph, Status, error) {
	var last error
	for try, most := range []int{-1, 64, 1 << 30} {
		o := onnx.Options{Library: lib, Dims: map[string]int64{}, Bind: map[string]*mapping.Data{}}
		for name, t := range in {
			for i, n := range t.Shape {
				o.Dims[fmt.Sprintf("%s:%d", name, i)] = n
			}
			if n, err := t.Len(); err == nil && int(n) <= most && (t.DType.IsInt() || t.DType.IsBool() || most > 64) {
				o.Bind[name] = &mapping.Data{DType: t.DType, Shape: t.Shape, Bytes: t.Data}
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
func tensors(set, side string, ports []mapping.Port, skip map[string]*mapping.Data) (map[string]tensorfile.Tensor, string, error) {
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

func compare(dir string, want, got map[string]tensorfile.Tensor) error {
	tol := tolerance{1e-3, 1e-7}
	if text, err := os.ReadFile(filepath.Join(dir, "tolerance.json")); err == nil {
		if err := json.Unmarshal(text, &tol); err != nil {
			return err
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
			return fmt.Errorf("output %q is missing", name)
		}
		if err := Close(want[name], g, tol.Rtol, tol.Atol); err != nil {
			return fmt.Errorf("output %q: %w", name, err)
		}
	}
	return nil
}

// outside gives the name that a program has for an output, as tensorops.ProgramOf makes it.
func outside(name string) string {
	return strings.NewReplacer("/", "_", "=", "_", " ", "_").Replace(name)
}

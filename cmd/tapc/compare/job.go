package compare

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tensortapestry.org/tapc/cmd/tapc/progress"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// What a program is compared with, beside the names of programs.
const (
	Peer      = "onnxruntime"
	Reference = "reference"
)

// MostRounds bounds how often both sides are timed.
const MostRounds = 1000

// Job is one comparison.
type Job struct {
	Model, Against string
	Size           string // of a program for several; else ""
	Python, Title  string // that of ONNX Runtime, if it is named; and tapc with its version
	Dir            string // a folder for files
	Threads        int
	Rounds         int
	Within         Bound
	Inside         string                   // auto, always or never
	Foreign        *foreign.Graph           // of an ONNX model; else nil
	Known          map[string]*foreign.Data // inputs of an ONNX model that are constants of the program
	// Build builds the program in a new folder, with the tensors inside as outputs whose names are wanted; none if wanted is nil.
	Build func(ctx context.Context, folder string, wanted func(name string) bool) (*Built, error)
	// Meter makes a meter of the comparison's own steps, for those who wait; Build has its own.
	Meter  func() *progress.Meter
	python found
}

// found is what FindPython gave.
type found struct{ path, version string }

// Built is a program that was built of the model.
type Built struct {
	Path      string
	Inputs    []Named
	Outputs   []string          // as the program has them, those inside behind the others
	Inside    []string          // the names that these have in the model
	Makers    map[string]Tensor // of graphs of tapc's own kernels
	Reference func(ctx context.Context) (map[string]tensorfile.Tensor, error)
}

// Run compares values and then, unless the other side has none, speed, time to start and memory.
func (j *Job) Run(ctx context.Context) (*Report, error) {
	if j.Against == Peer {
		if j.Foreign == nil {
			return nil, diag.Usage("--against=%s: %s is no ONNX model", Peer, j.Model)
		}
		var err error
		if j.python.path, j.python.version, err = FindPython(ctx, j.Python); err != nil {
			return nil, err
		}
	}
	r := &Report{Model: filepath.Base(j.Model), Size: j.Size, Ours: j.Title, Against: j.Against, Threads: j.Threads}
	built, err := j.Build(ctx, filepath.Join(j.Dir, "whole"), nil)
	if err != nil {
		return nil, err
	}
	ours, against, err := j.sides(built)
	if err != nil {
		return nil, err
	}
	if against != nil {
		r.Against = against.Title()
		defer against.Close()
	}
	want, got, err := j.values(ctx, built, ours, against)
	if err != nil {
		return nil, err
	}
	r.Values = ValuesOf(j.tensors(built, 0), want, got, j.Within)
	if err := j.inside(ctx, r); err != nil {
		return nil, err
	}
	switch {
	case against == nil:
		r.Notes = append(r.Notes, "The reference evaluator is not timed.")
	case j.Rounds > 0:
		m := j.Meter()
		m.Plan(Effort{j.Rounds}.steps()...)
		err = r.Race(ctx, ours, against, Effort{j.Rounds}, m.Begin)
		m.End(err == nil)
	}
	return r, err
}

// sides gives the program and the other side, nil for the reference evaluator.
func (j *Job) sides(b *Built) (ours *Program, against Runner, err error) {
	ours = &Program{Name: j.Title, Path: b.Path, Dir: filepath.Dir(b.Path), Threads: j.Threads}
	if err := ours.Give(b.Inputs); err != nil {
		return nil, nil, err
	}
	switch j.Against {
	case Reference:
		return ours, nil, nil
	case Peer:
		against, err = j.peer(b)
		return ours, against, err
	}
	path, err := filepath.Abs(j.Against)
	other := &Program{Name: j.Against, Path: path, Dir: filepath.Join(j.Dir, "other"), Threads: j.Threads}
	if err == nil {
		err = os.Mkdir(other.Dir, 0o700)
	}
	if err != nil {
		return nil, nil, diag.Fault("%w", err)
	}
	return ours, other, other.Give(b.Inputs)
}

// peer gives ONNX Runtime with the model, and with the tensors inside as outputs that a program has.
func (j *Job) peer(b *Built) (*ONNXRuntime, error) {
	var inputs []Named
	for i, x := range b.Inputs {
		inputs = append(inputs, Named{j.feeds()[i], x.Tensor})
	}
	for _, name := range slices.Sorted(maps.Keys(j.Known)) {
		d := j.Known[name]
		inputs = append(inputs, Named{name, tensorfile.Tensor{DType: d.DType, Shape: d.Shape, Data: d.Bytes}})
	}
	var outputs []string
	for _, t := range j.tensors(b, 0) {
		outputs = append(outputs, t.Name)
	}
	p, err := NewONNXRuntime(j.python.path, j.python.version, filepath.Dir(b.Path), inputs, outputs)
	if err != nil {
		return nil, err
	}
	if p.Model, err = filepath.Abs(j.Model); err != nil {
		return nil, diag.Fault("%w", err)
	}
	p.Folder, p.Threads = filepath.Dir(p.Model), j.Threads
	if len(b.Inside) == 0 {
		return p, nil
	}
	model, err := os.ReadFile(j.Model)
	if err == nil {
		model, err = WithOutputs(model, b.Inside)
	}
	p.Model, p.Memory = filepath.Join(p.Dir, "model.onnx"), true
	if err == nil {
		err = os.WriteFile(p.Model, model, 0o600)
	}
	return p, err
}

// feeds names the inputs of a model that a program has, in this order.
func (j *Job) feeds() []string {
	var names []string
	for _, x := range j.Foreign.Inputs {
		if j.Foreign.Consts[x.Name] == nil && j.Known[x.Name] == nil {
			names = append(names, x.Name)
		}
	}
	return names
}

// tensors gives the outputs of a program from one on, under the model's names where there is one.
func (j *Job) tensors(b *Built, from int) []Tensor {
	own, makers := len(b.Outputs)-len(b.Inside), b.Makers
	names := append(slices.Clone(b.Outputs[:own]), b.Inside...)
	if j.Foreign != nil {
		makers = Makers(j.Foreign)
		for i := range names[:own] {
			names[i] = j.Foreign.Outputs[i].Name
		}
	}
	var out []Tensor
	for _, name := range names[from:] {
		t := makers[name]
		t.Name = name
		out = append(out, t)
	}
	return out
}

// values gives what both sides compute, under the names of tensors.
func (j *Job) values(ctx context.Context, b *Built, ours *Program, against Runner) (want, got map[string]tensorfile.Tensor, err error) {
	renamed := func(values map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
		out := map[string]tensorfile.Tensor{}
		for i, t := range j.tensors(b, 0) {
			if x, ok := values[b.Outputs[i]]; ok {
				out[t.Name] = x
			}
		}
		return out
	}
	m := j.Meter()
	m.Plan(stepOurs, stepAgainst)
	m.Begin(stepOurs)
	defer func() { m.End(err == nil) }()
	if got, err = ours.Values(ctx); err != nil {
		return nil, nil, err
	}
	m.Begin(stepAgainst)
	if against == nil {
		want, err = b.Reference(ctx)
		return renamed(want), renamed(got), err
	}
	want, err = against.Values(ctx)
	if j.Against != Peer {
		want = renamed(want)
	}
	return want, renamed(got), err
}

// inside compares tensors between inputs and outputs, if that is asked for or outputs part.
func (j *Job) inside(ctx context.Context, r *Report) error {
	switch {
	case j.Inside == "never" || j.Inside == "auto" && r.Values.Agree():
		return nil
	case j.Against != Peer && j.Against != Reference:
		r.Notes = append(r.Notes, "Tensors inside are not compared: "+j.Against+" does not give them.")
		return nil
	}
	wanted := func(string) bool { return true }
	if j.Foreign != nil {
		known := slices.Collect(maps.Keys(Makers(j.Foreign)))
		wanted = func(name string) bool { return slices.Contains(known, name) }
	}
	b, err := j.Build(ctx, filepath.Join(j.Dir, "inside"), wanted)
	if err != nil {
		return err
	}
	ours, against, err := j.sides(b)
	if err != nil {
		return err
	}
	want, got, err := j.values(ctx, b, ours, against)
	if err != nil {
		return err
	}
	r.Values.AddInside(j.tensors(b, len(b.Outputs)-len(b.Inside)), want, got)
	return nil
}

// Package compare holds a program that tapc makes of a model beside something else that computes the same: ONNX Runtime, another program,
// or the reference evaluator. It compares values tensor by tensor, times both sides in turns, and measures memory and the time to start.
//
// Job.Run gives a Report, which Write shows as tables, WriteJSON as JSON and WritePicture as SVG. side.go says what a side is; program.go and
// peer.go are the two that run. Nothing here compiles anything. Read next: values.go, rounds.go.
package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"tensortapestry.org/tapc/ir/tensorfile"
)

// Report is what a comparison found.
type Report struct {
	Model   string   `json:"model"`
	Size    string   `json:"size,omitempty"` // of a program for several: the one that this is about
	Ours    string   `json:"ours"`           // what runs, with its version
	Against string   `json:"against"`        // the other side
	Threads int      `json:"threads"`        // 0: as many as there are cores
	Values  Values   `json:"values"`
	Speed   *Contest `json:"speed,omitempty"`   // milliseconds of one run
	Startup *Contest `json:"startup,omitempty"` // milliseconds of a process that runs once
	Memory  *Memory  `json:"memory,omitempty"`
	Notes   []string `json:"notes,omitempty"` // what was not measured, and why
}

// Values says how far the outputs, and tensors between inputs and outputs where these were compared, are from each other.
type Values struct {
	Bound
	Outputs []Agreement `json:"outputs"`
	Inside  []Agreement `json:"inside,omitempty"`  // in the order of the graph
	Parting *Agreement  `json:"parting,omitempty"` // the first in the order of the graph that is beyond the tolerance
}

// Agree says whether all outputs are within the tolerance.
func (v *Values) Agree() bool {
	for _, o := range v.Outputs {
		if o.Parts {
			return false
		}
	}
	return true
}

// Memory is the greatest resident set of a process that runs the model once, in bytes; 0 where it could not be measured.
type Memory struct {
	Ours    int64 `json:"ours"`
	Against int64 `json:"against"`
	Host    int64 `json:"host,omitempty"` // of Against: what its process has before it reads the model
}

// ValuesOf compares the outputs of both sides.
func ValuesOf(outputs []Tensor, want, got map[string]tensorfile.Tensor, within Bound) Values {
	v := Values{Bound: within}
	for _, o := range outputs {
		v.Outputs = append(v.Outputs, o.compare(want, got, within))
	}
	return v
}

// AddInside compares tensors between inputs and outputs, and finds the first that is beyond the tolerance.
func (v *Values) AddInside(tensors []Tensor, want, got map[string]tensorfile.Tensor) {
	for _, t := range tensors {
		a := t.compare(want, got, v.Bound)
		v.Inside = append(v.Inside, a)
		if a.Parts && v.Parting == nil {
			v.Parting = &a
		}
	}
}

// The steps of a comparison, for those who wait.
const (
	stepOurs    = "values of the program"
	stepAgainst = "values of the other side"
	stepMemory  = "memory"
)

func stepRound(what string, i, n int) string { return fmt.Sprintf("%s, round %d of %d", what, i+1, n) }

// What rounds time.
const (
	timedSpeed = "speed"
	timedStart = "start"
)

// steps are those of Race.
func (o Effort) steps() (out []string) {
	for i := range o.Rounds {
		out = append(out, stepRound(timedSpeed, i, o.Rounds))
	}
	for i := range o.starts() {
		out = append(out, stepRound(timedStart, i, o.starts()))
	}
	return append(out, stepMemory)
}

// Race times both sides: runs in turns, and processes that run once. Begin is told of each step.
func (r *Report) Race(ctx context.Context, ours, against Runner, o Effort, begin func(step string)) error {
	var err error
	if r.Speed, err = race(ctx, o.Rounds, ours.Bench, against.Bench, func(i int) { begin(stepRound(timedSpeed, i, o.Rounds)) }); err != nil {
		return err
	}
	start := func(x Runner) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) {
			u, err := x.Once(ctx)
			return u.Milliseconds, err
		}
	}
	if r.Startup, err = race(ctx, o.starts(), start(ours), start(against), func(i int) { begin(stepRound(timedStart, i, o.starts())) }); err != nil {
		return err
	}
	begin(stepMemory)
	a, err := ours.Peak(ctx)
	if err != nil {
		return err
	}
	b, err := against.Peak(ctx)
	r.Memory = &Memory{Ours: a.Peak, Against: b.Peak, Host: b.Host}
	return err
}

// mostStarts bounds the rounds of starting processes.
const mostStarts = 7

// Effort is how long both sides are timed.
type Effort struct{ Rounds int }

// starts is in how many rounds processes are started.
func (o Effort) starts() int { return min(o.Rounds, mostStarts) }

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"tensortapestry.org/tapc/internal/interruptible"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline/timing"
	"tensortapestry.org/tapc/passes/rewrite"
)

// Runner runs pipelines. The zero value verifies the graph before the first pass and after each, and does nothing else; the
// fields add to that.
type Runner struct {
	NoVerify    bool                  // verify neither the input nor after each pass
	Disable     []string              // names of passes that are left out, and of rules that stay off
	Fuel        *int                  // rewrites that may happen in all; nil is any number
	Dir         string                // directory that names of data files in the graph are relative to
	Load        rewrite.LoadConst     // reads constants for rules that hold for some values only; nil reads none
	Print       Printing              // what is shown of the graph on its way
	DumpDir     string                // directory for the graph before the first pass and after each, in numbered files; "" is none
	Values      *Values               // value check after each pass; nil is none
	Reproducers Reproducers           // files that repeat the faults of passes
	Files       FileWriter            // how files are written; nil writes none
	Report      func(diag.Diagnostic) // takes remarks and warnings; nil drops them
	Log         *slog.Logger          // takes what passes say of their work; nil drops it
	Now         func() time.Time      // the clock of timings; nil is the system's
}

// Reproducers says how to write a file that repeats the fault of a pass. Input gives the graph that the runner was given once
// more, unchanged; without it the runner keeps a copy. Flags are flags of "tapc opt" that the passes need besides those that
// stand for the runner's own fields, and Paths the files that these name. Carry puts the files that a graph and paths name beside a reproducer: it changes their names in the graph,
// and gives those of the paths that are files. Without it, or after an error, the reproducer names them where they are.
type Reproducers struct {
	Dir   string // "" writes none
	Input func() (*ir.Graph, error)
	Flags []string
	Paths []string
	Carry func(reproducer string, g *ir.Graph, paths []string) (map[string]string, error)
}

// FileWriter writes a file whole or not at all, making directories that are missing.
type FileWriter func(name string, data []byte) error

// Values is how the values of a graph are checked after each pass. Equal evaluates both graphs on the inputs that a seed
// stands for and gives the observed values that differ, empty if none do.
type Values struct {
	Equal func(ctx context.Context, before, after *ir.Graph, seed uint64) diag.List
	Seed  uint64
}

// Result is what came of a run, also of one that failed: then Graph is as the last good step left it or, if that is not
// known, nil.
type Result struct {
	Graph   *ir.Graph
	Stage   Stage
	Applied int            // rewrites that happened
	Last    Application    // the last of them
	Rules   map[string]int // how many there were by each rule
	Stats   Stats
	Timing  *timing.Span
	musts   []must // what has to be rewritten before the next stage
}

// Application is one rewrite that happened.
type Application struct {
	Pass, Rule, Node string
	Source           string // of the rule: file and line, "Go", or "" if it is a pass without rules
}

// String says which rule it is, where the rule is, and where it was applied.
func (a Application) String() string {
	rule := "rule " + a.Rule
	if a.Source != "" && a.Source != "Go" {
		rule += " (" + a.Source + ")"
	}
	return fmt.Sprintf("%s of pass %s at %s", rule, a.Pass, a.Node)
}

// Run takes a graph through a pipeline. The graph may be changed and belongs to the runner. An error is a problem of the
// input (exit status 1), of the pipeline (2) or of a pass (3, see diag.ExitStatus).
func (r *Runner) Run(ctx context.Context, p Pipeline, g *ir.Graph) (*Result, error) {
	run := newRun(r, p, g)
	if run.input = r.Reproducers.Input; run.input == nil && r.reproduces() {
		kept := g.Clone()
		run.input = func() (*ir.Graph, error) { return kept, nil }
	}
	err := run.all(ctx)
	run.spans.Close(run.result.Graph)
	run.result.Timing = run.spans.Root()
	return run.result, err
}

// Alone runs a pass on a graph that it takes, with nothing around it, and gives the graph that it leaves.
func (s *Step) Alone(ctx context.Context, g *ir.Graph) (*ir.Graph, error) {
	r := newRun(&Runner{NoVerify: true}, Pipeline{}, g)
	r.result.Stage = max(r.result.Stage, s.Pass.Needs) // a graph without nodes does not show it
	err := r.step(ctx, s)
	return r.result.Graph, err
}

// run is one run of a runner.
type run struct {
	*Runner
	steps   []Step
	input   func() (*ir.Graph, error) // the graph as it was given
	result  *Result
	spans   timing.Recorder
	fuel    *rewrite.Fuel
	envs    [stages]*check.Environment
	changed string // the last pass that ran; "" before the first
	count   int    // passes that have begun
	until   int    // the pass, counted from 1, before which to stop; 0 is none
}

// reproduces says whether faults are written down.
func (r *Runner) reproduces() bool { return r.Reproducers.Dir != "" && r.Files != nil }

func newRun(r *Runner, p Pipeline, g *ir.Graph) *run {
	now := r.Now
	if now == nil {
		now = time.Now
	}
	x := &run{Runner: r, steps: p.Steps, result: &Result{Graph: g, Stage: StageOf(g), Rules: map[string]int{}, Stats: Stats{}}}
	x.spans.Begin(now, g)
	if r.Fuel != nil {
		x.fuel = &rewrite.Fuel{Left: *r.Fuel}
	}
	return x
}

func (r *run) all(ctx context.Context) error {
	if _, err := r.stageAfter(r.steps, r.result.Stage); err != nil {
		return err
	}
	if err := r.dump("input"); err != nil {
		return err
	}
	if !r.NoVerify {
		r.spans.Open("verify", timing.Verify, r.result.Graph)
		err := r.verify(ctx, r.result.Graph, r.result.Stage, "")
		r.spans.Close(r.result.Graph)
		if err != nil {
			return err
		}
	}
	return r.each(ctx, r.steps)
}

// stageAfter goes through steps without a graph, and checks that every pass takes what it finds.
func (r *run) stageAfter(steps []Step, s Stage) (Stage, error) {
	var err error
	for i := range steps {
		x := &steps[i]
		switch {
		case x.Pass == nil:
			for round := 0; round < min(x.Max, 2) && err == nil; round++ {
				s, err = r.stageAfter(x.Group, s)
			}
		case slices.Contains(r.Disable, x.Pass.Name):
		case !x.Pass.takes(s):
			err = r.misplaced(x, s)
		default:
			s = x.Pass.after(s)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

func (r *run) misplaced(x *Step, s Stage) error {
	takes := x.Pass.Needs.String()
	if x.Pass.latest() > x.Pass.Needs {
		takes += " to " + x.Pass.latest().String()
	}
	return &diag.StatusError{Status: diag.ExitUsage, Err: diag.Errorf("", "", x.At, "pass %s can not stand here", x.Pass.Name).
		Want("a graph of "+takes, s.String())}
}

func (r *run) each(ctx context.Context, steps []Step) error {
	for i := range steps {
		var err error
		switch s := &steps[i]; {
		case context.Cause(ctx) != nil:
			err = context.Cause(ctx)
		case s.Pass == nil:
			err = r.group(ctx, s)
		case !slices.Contains(r.Disable, s.Pass.Name):
			err = r.step(ctx, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// group runs steps again and again until they change nothing.
func (r *run) group(ctx context.Context, s *Step) error {
	r.spans.Open(groupName, timing.Group, r.result.Graph)
	defer func() { r.spans.Close(r.result.Graph) }()
	before, err := r.fingerprint(ctx, r.result.Graph)
	for round := 0; round < s.Max && err == nil; round++ {
		if err = r.each(ctx, s.Group); err != nil {
			return err
		}
		after, failed := r.fingerprint(ctx, r.result.Graph)
		if err = failed; after == before {
			return err
		}
		before = after
	}
	return err
}

// step runs one pass and everything around it.
func (r *run) step(ctx context.Context, s *Step) error {
	if r.count++; r.count == r.until {
		return errReached
	}
	if r.Print.Begin != nil {
		r.Print.Begin(s.Pass.Name)
	}
	r.spans.Open(s.Pass.Name, timing.Pass, r.result.Graph)
	defer func() { r.spans.Close(r.result.Graph) }()
	if err := r.printBefore(s); err != nil {
		return err
	}
	var before *ir.Graph
	if r.keeps(s) {
		before = r.result.Graph.Clone()
	}
	fuelLeft := r.fuelLeft()
	err := r.execute(ctx, s)
	if err == nil {
		err = r.checkStep(ctx, s, before)
	}
	var fault *passFault
	switch {
	case errors.As(err, &fault):
		return r.blame(ctx, s, before, fuelLeft, fault)
	case s.Pass.Plugin != "" && diag.ExitStatus(err) == diag.ExitInternal:
		return r.blamePlugin(s, fuelLeft, err)
	case err != nil:
		return err
	}
	if err := r.printAfter(s, before); err != nil {
		return err
	}
	return r.dump(s.Pass.Name)
}

// keeps says whether the graph before a pass is needed after it.
func (r *run) keeps(s *Step) bool {
	return r.Values != nil || r.Print.shows(r.Print.Changes, s.Pass.Name)
}

// execute calls the pass. A panic becomes a passFault. A pass that goes on after the end of the context is left alone with its graph.
func (r *run) execute(ctx context.Context, s *Step) error {
	values, err := Settle("pass "+s.Pass.Name, s.Pass.Options, s.Settings)
	if err != nil {
		return &diag.StatusError{Status: diag.ExitUsage, Err: err}
	}
	c := &Context{Graph: r.result.Graph, Stage: r.result.Stage, Dir: r.Dir, Log: r.Log, pass: s.Pass, OptionValues: values, run: r}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if err := r.result.enter(ctx, s); err != nil {
		return err
	}
	c.fuel = r.stepFuel(c)
	full := c.fuel.Left
	left, err := interruptible.Run(ctx, func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = &passFault{by: s.Pass.Name, what: fmt.Sprintf("panicked: %v", p), stack: debug.Stack()}
			}
		}()
		return s.Pass.Run(ctx, c)
	})
	if left {
		c.leave()
		r.result.Graph = ir.New()
		return err
	}
	r.burn(full - c.fuel.Left)
	var fault *passFault
	if errors.As(err, &fault) {
		return err
	}
	if err != nil {
		return r.passError(ctx, s, err)
	}
	if c.Graph == nil {
		return &passFault{by: s.Pass.Name, what: "left no graph"}
	}
	r.result.Graph, r.result.Stage = c.Graph, s.Pass.after(r.result.Stage)
	if s.Pass.Name != verifyName {
		r.changed = s.Pass.Name
	}
	return nil
}

// passError gives the error of a run for that of a pass: diagnostics as they are, others with the pass's name.
func (r *run) passError(ctx context.Context, s *Step, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if list := diag.FromError(err); len(list) != 1 || list[0].Location != (diag.Location{}) || list[0].Code != "" {
		return err
	}
	return fmt.Errorf("pass %s: %w", s.Pass.Name, err)
}

// checkStep verifies the graph that a pass left and compares its values with those before.
func (r *run) checkStep(ctx context.Context, s *Step, before *ir.Graph) error {
	if !r.NoVerify && (s.Pass.Suspect == nil || !s.Pass.Suspect.Verified) {
		r.spans.Open("verify", timing.Verify, r.result.Graph)
		err := r.verify(ctx, r.result.Graph, r.result.Stage, s.Pass.Name)
		r.spans.Close(r.result.Graph)
		if err != nil {
			return err
		}
	}
	if r.Values == nil {
		return nil
	}
	return r.checkValues(ctx, s, before)
}

// checkValues compares the values of a graph that a pass changed with those before.
func (r *run) checkValues(ctx context.Context, s *Step, before *ir.Graph) error {
	old, err := r.fingerprint(ctx, before)
	if err != nil {
		return err
	}
	if now, err := r.fingerprint(ctx, r.result.Graph); err != nil || now == old {
		return err
	}
	r.spans.Open("check-values", timing.Values, r.result.Graph)
	found := r.Values.Equal(ctx, before, r.result.Graph, r.Values.Seed)
	r.spans.Close(r.result.Graph)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	switch {
	case found.HasErrors() && s.Pass.Suspect != nil:
		r.result.Graph = before
		return s.Pass.Suspect.Changed(found)
	case found.HasErrors():
		return &passFault{by: s.Pass.Name, what: "changed a value that is observed", found: found, rewrite: culprit(ctx, r, s, before)}
	}
	r.warn(found)
	return nil
}

// verify gives the findings of a stage's environment as an error: that of the pass which made the graph or, if there is none,
// of the input. Warnings are reported, but only those of the input.
func (r *run) verify(ctx context.Context, g *ir.Graph, s Stage, by string) error {
	if r.envs[s] == nil {
		r.envs[s] = s.Environment()
	}
	found, _ := interruptible.Value(ctx, func() (diag.List, error) { return r.envs[s].Verify(ctx, g), nil })
	if err := context.Cause(ctx); err != nil {
		return err
	}
	switch {
	case found.HasErrors() && by != "":
		return &passFault{by: by, what: "broke " + found[len(found)-1].Constraint, found: found}
	case found.HasErrors():
		return found
	}
	if by == "" {
		r.warn(found)
	}
	return nil
}

// warn reports what is no error.
func (r *run) warn(found diag.List) {
	for _, d := range found {
		if r.Report != nil {
			r.Report(d)
		}
	}
}

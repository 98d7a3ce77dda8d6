package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline/timing"
)

func run1(t *testing.T, r *Runner, text string, g *ir.Graph) (*Result, error) {
	t.Helper()
	return r.Run(context.Background(), parsed(t, text), g)
}

func TestPassesRunInOrder(t *testing.T) {
	for _, k := range []struct {
		runner Runner
		text   string
		want   string
	}{
		{Runner{}, "append{text=x,times=2},upper", "AB C X X"},
		{Runner{}, "append{file=f,loud,share=0.5}", "ab c moref!0.5"},
		{Runner{}, "fix(shorten)", "a c"},
		{Runner{}, "append{text=abcdef},fix(shorten){max=2}", "a c abcd"},
		{Runner{Disable: []string{"append"}}, "append,upper", "AB C"},
		{Runner{Disable: []string{"up"}}, "append,upper", "ab c more"},
		{Runner{}, "upper{fuel=1},append", "AB c more"},
		{Runner{}, "upper{fuel=0}", "ab c"},
	} {
		got, err := run1(t, &k.runner, k.text, notes("ab", "c"))
		if err != nil || messages(got.Graph) != k.want {
			t.Errorf("%s: got %q, %v; want %q", k.text, messages(got.Graph), err, k.want)
		}
	}
}

func TestFuelIsOfTheWholeRun(t *testing.T) {
	for fuel, want := range []string{"ab cd", "AB cd", "AB CD", "A CD", "A C"} {
		got, err := run1(t, &Runner{Fuel: &fuel}, "upper{fuel=7},shorten", notes("ab", "cd"))
		if err != nil || messages(got.Graph) != want || got.Applied != fuel {
			t.Errorf("fuel %d: got %q, %d applied, %v; want %q", fuel, messages(got.Graph), got.Applied, err, want)
		}
	}
	fuel := 3
	got, _ := run1(t, &Runner{Fuel: &fuel}, "upper,shorten", notes("ab", "cd"))
	if diff := cmp.Diff(Application{Pass: "shorten", Rule: "cut", Node: `note "n0"`}, got.Last); diff != "" {
		t.Error(diff)
	}
	got, _ = run1(t, &Runner{Fuel: &fuel}, "rewrite", notes("ab", "cd", "e", "f"))
	if diff := cmp.Diff(Application{Pass: "rewrite", Rule: "r", Node: `note "n2"`}, got.Last); diff != "" || got.Applied != 3 {
		t.Error(diff, got.Applied)
	}
}

func TestStats(t *testing.T) {
	got, _ := run1(t, &Runner{}, "append{times=10},upper,append", notes("a"))
	var b bytes.Buffer
	if err := got.Stats.Write(&b); err != nil || b.String() != "statistics:\n  11  append notes\n  11  upper up\n" {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// faultOf checks that an error is a fault of a pass and gives its diagnostics.
func faultOf(t *testing.T, err error) diag.List {
	t.Helper()
	var list diag.List
	if diag.ExitStatus(err) != diag.ExitInternal || !errors.As(err, &list) {
		t.Fatalf("%v (status %d) is no fault", err, diag.ExitStatus(err))
	}
	return list
}

func TestABrokenGraphIsThePassesFault(t *testing.T) {
	out := files{}
	fuel := 5
	r := &Runner{Reproducers: Reproducers{Dir: "dir", Flags: []string{"--plugin=evil"}}, Files: out.write, Fuel: &fuel, Disable: []string{"x y"}, Dir: "data"}
	got, err := run1(t, r, "upper,break,upper", notes("a"))
	list := faultOf(t, err)
	want := "pass break broke TensorDTypesAreValidConstraint; this is a fault of plugin evil, not of the graph"
	if list[0].Message != want || len(list) != 2 || list[1].Location.Node != `tensor "bad"` {
		t.Errorf("got %v", list)
	}
	if messages(got.Graph) != "A" || got.Graph.Len() != 1 {
		t.Errorf("the graph is %q", messages(got.Graph))
	}
	text := out["dir/tapc-reproducer-break.tap"]
	args, ok := ReplayArguments([]byte(text))
	if diff := cmp.Diff([]string{"opt", "--passes=break", "--fuel=4", "--disable=x y", "--data-dir=data", "--plugin=evil"}, args); !ok || diff != "" {
		t.Errorf("%v %s\n%s", ok, diff, text)
	}
	for _, part := range []string{"// command: tapc opt --passes=break --fuel=4 '--disable=x y' --data-dir=data --plugin=evil dir/tapc-reproducer-break.tap\n",
		"TensorDTypesAreValidConstraint", "\n%n0 = note A"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
}

func TestAPluginSaysItselfWhatItsFaultIs(t *testing.T) {
	out := files{}
	got, err := run1(t, &Runner{Reproducers: Reproducers{Dir: "dir", Flags: []string{"--plugin=evil"}}, Files: out.write}, "upper,crash,upper", notes("a"))
	list := faultOf(t, err)
	if len(list) != 1 || list[0].Code != "P1" || len(list[0].Notes) != 1 || list[0].Notes[0].Location.File != "dir/tapc-reproducer-crash.tap" {
		t.Errorf("got %+v", list)
	}
	if messages(got.Graph) != "A" {
		t.Errorf("the graph is %q", messages(got.Graph))
	}
	text := out["dir/tapc-reproducer-crash.tap"]
	if args, ok := ReplayArguments([]byte(text)); !ok || !slices.Equal(args, []string{"opt", "--passes=crash", "--plugin=evil"}) {
		t.Errorf("%v %v\n%s", args, ok, text)
	}
	if !strings.Contains(text, "plugin evil, pass crash: it is gone") || !strings.Contains(text, "note A") {
		t.Errorf("the file is\n%s", text)
	}
}

func TestTheGraphBeforeAFaultIsFoundAgain(t *testing.T) {
	for _, values := range []*Values{nil, {Equal: func(context.Context, *ir.Graph, *ir.Graph, uint64) diag.List { return nil }}} {
		out := files{}
		fuel := 6
		again := func() (*ir.Graph, error) { return notes("abc", "de"), nil }
		got, err := run1(t, &Runner{Reproducers: Reproducers{Dir: ".", Input: again}, Files: out.write, Fuel: &fuel, Values: values},
			"append{text=wxyz},fix(shorten){max=2},upper{fuel=3},panic", notes("abc", "de"))
		faultOf(t, err)
		if messages(got.Graph) != "A d wx" || got.Applied != 6 {
			t.Errorf("%q, %d applied", messages(got.Graph), got.Applied)
		}
		if text := out["tapc-reproducer-panic.tap"]; !strings.Contains(text, "= note A\n") || !strings.Contains(text, "note wx\n") {
			t.Errorf("the reproducer is\n%s", text)
		}
	}
	runs := 0
	unsteady := &Table{Passes: []Pass{{Name: "once", Doc: "Work once.", Run: func(_ context.Context, c *Context) error {
		if runs++; runs > 1 {
			return errors.New("again?")
		}
		return nil
	}}, *fakes().Find("panic")}}
	p, err := ParsePipeline("once,panic", unsteady)
	if err != nil {
		t.Fatal(err)
	}
	got, err := (&Runner{Reproducers: Reproducers{Dir: "."}, Files: files{}.write}).Run(context.Background(), p, notes("a"))
	if list := faultOf(t, err); got.Graph != nil || !strings.Contains(list[0].Notes[0].Message, "did not give the same graph again") {
		t.Errorf("%v %v", got.Graph, list)
	}
}

func TestAPanicIsThePassesFault(t *testing.T) {
	out := files{}
	_, err := run1(t, &Runner{Reproducers: Reproducers{Dir: "."}, Files: out.write, NoVerify: true}, "upper,panic", notes("a"))
	list := faultOf(t, err)
	if !strings.HasPrefix(list[0].Message, "pass panic panicked: ouch; this is a fault of tapc") || list[0].Hint != "tapc replay tapc-reproducer-panic.tap" {
		t.Errorf("got %v", list)
	}
	text := out["tapc-reproducer-panic.tap"]
	if !strings.Contains(text, "// \ttensortapestry.org/tapc/passes/pipeline") && !strings.Contains(text, "fake_test.go") {
		t.Errorf("no stack in\n%s", text)
	}
	if args, _ := ReplayArguments([]byte(text)); !slices.Contains(args, "--no-verify") {
		t.Errorf("replay with %q", args)
	}
	_, err = run1(t, &Runner{}, "panic", notes("a"))
	if list := faultOf(t, err); len(list[0].Notes) != 1 || !strings.Contains(list[0].Notes[0].Message, "fake_test.go") {
		t.Errorf("without a reproducer the stack is missing: %v", list)
	}
}

func TestOtherFaults(t *testing.T) {
	for pass, want := range map[string]string{"lose": "pass lose left no graph", "undeclared": "pass undeclared panicked: pass undeclared does not declare an option x"} {
		_, err := run1(t, &Runner{}, pass, notes("a"))
		if list := faultOf(t, err); !strings.HasPrefix(list[0].Message, want) {
			t.Errorf("%s: %v", pass, list)
		}
	}
}

func TestErrorsOfPasses(t *testing.T) {
	_, err := run1(t, &Runner{}, "refuse", notes("a"))
	if diag.ExitStatus(err) != diag.ExitInput || err.Error() != "pass refuse: no" {
		t.Errorf("%d %v", diag.ExitStatus(err), err)
	}
	_, err = run1(t, &Runner{}, "complain", notes("a"))
	if list := diag.FromError(err); diag.ExitStatus(err) != diag.ExitInput || len(list) != 1 || list[0].Code != "X1" {
		t.Errorf("%d %v", diag.ExitStatus(err), err)
	}
}

func TestTheInputIsVerified(t *testing.T) {
	g := notes("a")
	g.Add(&tensorops.Tensor{DType: "what"}, "t")
	_, err := run1(t, &Runner{}, "upper", g)
	if list := diag.FromError(err); diag.ExitStatus(err) != diag.ExitInput || list[0].Constraint != "TensorDTypesAreValidConstraint" {
		t.Errorf("%d %v", diag.ExitStatus(err), err)
	}
	if _, err := run1(t, &Runner{NoVerify: true}, "upper", g); err != nil {
		t.Error(err)
	}
}

func TestVerifyAsAPass(t *testing.T) {
	_, err := run1(t, &Runner{NoVerify: true}, "break,verify,verify", notes("a"))
	if list := faultOf(t, err); !strings.HasPrefix(list[0].Message, "pass break or one before it broke TensorDTypes") {
		t.Errorf("%v", list)
	}
	_, err = run1(t, &Runner{NoVerify: true}, "verify", shardless())
	if err != nil {
		t.Error(err)
	}
	g := notes("a")
	g.Add(&tensorops.Tensor{DType: "what"}, "t")
	if _, err = run1(t, &Runner{NoVerify: true}, "verify", g); diag.ExitStatus(err) != diag.ExitInput {
		t.Errorf("%d %v", diag.ExitStatus(err), err)
	}
}

func TestStagesAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"late":             "--passes:1:1: error: pass late can not stand here: expected a graph of Application Expression, found Operation Expression",
		"apply,upper":      "",
		"apply,late,apply": "",
		"fix(apply,upper)": "--passes:1:11: error: pass upper can not stand here: expected a graph of Operation Expression, found Application Expression",
	} {
		p, err := ParsePipeline(text, &Table{Passes: func() []Pass {
			ps := fakes().Passes
			for i := range ps {
				ps[i].After = nil
				if ps[i].Name == "upper" && text == "apply,upper" {
					ps[i].Upto = ApplicationExpression
				}
			}
			return ps
		}()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&Runner{}).Run(context.Background(), p, notes("a"))
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want || diag.ExitStatus(err) != diag.ExitUsage) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if got, _ := run1(t, &Runner{}, "apply", notes("a")); got.Stage != ApplicationExpression {
		t.Errorf("the stage is %v", got.Stage)
	}
	if got, err := run1(t, &Runner{}, "late", shardless()); err != nil || got.Stage != ApplicationExpression {
		t.Errorf("a graph with shards: %v, %v", got.Stage, err)
	}
}

func TestValuesAreChecked(t *testing.T) {
	var seen []string
	r := &Runner{Values: &Values{Seed: 7, Equal: func(_ context.Context, before, after *ir.Graph, seed uint64) diag.List {
		seen = append(seen, messages(before)+">"+messages(after))
		if seed != 7 {
			t.Errorf("seed %d", seed)
		}
		if strings.Contains(messages(after), "A") {
			return diag.List{{Code: "V1", Message: "differs"}}
		}
		return diag.List{{Severity: diag.Warning, Message: "not checked"}}
	}}}
	_, err := run1(t, r, "shorten,upper,shorten", notes("ab"))
	list := faultOf(t, err)
	if !strings.HasPrefix(list[0].Message, "pass upper changed a value that is observed") || list[1].Code != "V1" {
		t.Errorf("%v", list)
	}
	if diff := cmp.Diff([]string{"ab>a", "a>A"}, seen); diff != "" {
		t.Error(diff)
	}
}

// TestSuspects runs passes of plugins, which verify what they take over and say themselves what happened.
func TestSuspects(t *testing.T) {
	files := map[string]string{}
	r := &Runner{Values: &Values{Equal: func(context.Context, *ir.Graph, *ir.Graph, uint64) diag.List {
		return diag.List{{Message: "a is A"}}
	}}, Reproducers: Reproducers{Dir: "d"}, Files: func(name string, data []byte) error { files[name] = string(data); return nil }}
	_, err := run1(t, r, "swap", notes("a"))
	list := diag.FromError(err)
	if len(list) != 1 || list[0].Code != "P2" || list[0].Message != "plugin evil, pass swap: a is A" || diag.ExitStatus(err) != diag.ExitInternal {
		t.Errorf("%v", err)
	}
	if text := files["d/tapc-reproducer-swap.tap"]; !strings.Contains(text, "= note a\n") {
		t.Errorf("the file that repeats it has not the graph before: %v", files)
	}
	if _, err := run1(t, &Runner{}, "verified", notes("a")); err != nil {
		t.Errorf("what the pass verified is verified again: %v", err)
	}
	if _, err := run1(t, &Runner{}, "break", notes("a")); err == nil {
		t.Error("what a pass leaves is not verified")
	}
}

func TestRemarks(t *testing.T) {
	var got diag.List
	_, err := run1(t, &Runner{Report: func(d diag.Diagnostic) { got = append(got, d) }}, "remark", notes("a"))
	if err != nil || len(got) != 1 || got[0].Severity != diag.Warning {
		t.Errorf("%v %v", got, err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("stop"))
	_, err := (&Runner{}).Run(ctx, parsed(t, "upper"), notes("a"))
	if err == nil || err.Error() != "stop" {
		t.Error(err)
	}
}

func TestPrinting(t *testing.T) {
	var b bytes.Buffer
	r := &Runner{Print: Printing{To: &b, Before: Choice{Names: []string{"shorten"}}, After: Choice{Names: []string{"upper"}}, Changes: Choice{All: true}}}
	if _, err := run1(t, r, "upper,shorten,shorten", notes("ab")); err != nil {
		t.Fatal(err)
	}
	want := `// ----- change by upper (step 1) -----
@@ -1,2 +1,2 @@
 tapc 1
-%n0 = note ab
+%n0 = note AB
// ----- after upper (step 1) -----
tapc 1
%n0 = note AB
// ----- before shorten (step 2) -----
tapc 1
%n0 = note AB
// ----- change by shorten (step 2) -----
@@ -1,2 +1,2 @@
 tapc 1
-%n0 = note AB
+%n0 = note A
// ----- before shorten (step 3) -----
tapc 1
%n0 = note A
// ----- shorten (step 3) changed nothing -----
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestDumps(t *testing.T) {
	out := files{}
	if _, err := run1(t, &Runner{DumpDir: "d", Files: out.write}, "fix(shorten),upper", notes("ab")); err != nil {
		t.Fatal(err)
	}
	var names []string
	for n := range out {
		names = append(names, n)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"d/000-input.tap", "d/001-shorten.tap", "d/002-shorten.tap", "d/003-upper.tap"}, names); diff != "" {
		t.Error(diff)
	}
	if got := out["d/003-upper.tap"]; !strings.HasSuffix(got, "note A\n") {
		t.Error(got)
	}
}

func TestTimes(t *testing.T) {
	got, err := run1(t, &Runner{Now: ticking()}, "append,fix(upper)", notes("ab"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := got.Timing.WriteTiming(&b); err != nil {
		t.Fatal(err)
	}
	want := `timing:
   seconds  share  nodes
  0.017000 100.0%  pipeline: 1 -> 2
  0.001000   5.9%    verify: 1
  0.003000  17.6%    append: 1 -> 2
  0.001000   5.9%      verify: 2
  0.009000  52.9%    fix: 2
  0.003000  17.6%      upper: 2
  0.001000   5.9%        verify: 2
  0.003000  17.6%      upper: 2
  0.001000   5.9%        verify: 2
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	checkJSON(t, got.Timing)
}

func checkJSON(t *testing.T, s *timing.Span) {
	var b bytes.Buffer
	if err := s.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var back timing.Span
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, &back); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	if err := s.WriteTrace(&b); err != nil {
		t.Fatal(err)
	}
	var trace struct{ TraceEvents []map[string]any }
	if err := json.Unmarshal(b.Bytes(), &trace); err != nil {
		t.Fatal(err)
	}
	if len(trace.TraceEvents) != 9 {
		t.Fatalf("%d events", len(trace.TraceEvents))
	}
	want := map[string]any{"name": "append", "cat": "pass", "ph": "X", "ts": 3000.0, "dur": 3000.0, "pid": 1.0, "tid": 1.0, "args": map[string]any{"nodes_before": 1.0, "nodes_after": 2.0}}
	if diff := cmp.Diff(want, trace.TraceEvents[2]); diff != "" {
		t.Error(diff)
	}
}

// A pass that does not ask its context ends a run no less: it is left alone, and changes nothing that is the runner's.
func TestRunDoesNotWaitForPass(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted")
	end, ended := make(chan struct{}), make(chan struct{})
	row := Pass{Name: "endless", Doc: "Go on.", Needs: OperationExpression, Run: func(_ context.Context, c *Context) error {
		defer close(ended)
		c.Count("before", 1)
		cancel(cause)
		<-end
		c.Count("after", 1)
		t.Error("a pass goes on that nobody waits for")
		return nil
	}}
	p, err := ParsePipeline("endless", &Table{Passes: []Pass{row}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := (&Runner{}).Run(ctx, p, notes("a"))
	close(end)
	<-ended
	if !errors.Is(err, cause) || len(got.Stats) != 1 {
		t.Errorf("%v, %v", err, got.Stats)
	}
}

// waiting is a note that ends a context when it is written down, and then waits.
type waiting struct {
	tensorops.Note
	reached func()
	end     chan struct{}
}

func (w *waiting) Fields(f ir.Fields) {
	w.reached()
	<-w.end
	w.Note.Fields(f)
}

// Nobody waits for what a runner does around passes either: to see whether a group changes something, graphs are written down.
func TestRunDoesNotWaitForFingerprints(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted")
	w := &waiting{reached: func() { cancel(cause) }, end: make(chan struct{})}
	defer close(w.end)
	g := ir.New()
	g.Add(w, "w")
	if _, err := (&Runner{NoVerify: true}).Run(ctx, parsed(t, groupName+"(upper)"), g); !errors.Is(err, cause) {
		t.Error(err)
	}
}

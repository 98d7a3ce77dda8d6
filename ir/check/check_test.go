package check

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

var noteKind = &ir.Kind{URI: "test#/nodes/Note", Keyword: "note", New: func() ir.Body { return &note{} }}

type note struct{}

func (*note) Kind() *ir.Kind   { return noteKind }
func (*note) Fields(ir.Fields) {}

var remarkKind = &ir.Kind{URI: "test#/nodes/Remark", Keyword: "remark", New: func() ir.Body { return &remark{} }}

type remark struct{}

func (*remark) Kind() *ir.Kind   { return remarkKind }
func (*remark) Fields(ir.Fields) {}

// finding is a constraint that reports severities at every node.
func finding(id string, requires []string, severities ...diag.Severity) Constraint {
	code := strings.ToUpper(id)
	return Constraint{ID: id, Doc: "d", Requires: requires, Codes: []Code{{code, "m"}}, Check: func(c *Context) {
		for n := range c.Graph().Nodes() {
			if !c.Go() {
				return
			}
			for _, s := range severities {
				d := c.Error(code, n, "", "%s", id)
				d.Severity = s
				c.Report(d)
			}
		}
	}}
}

func notes(n int) *ir.Graph {
	g := ir.New()
	for range n {
		g.Add(&note{}, "")
	}
	return g
}

func env(k ...Constraint) *Environment {
	return &Environment{Name: "test", NodeKinds: []*ir.Kind{noteKind}, Constraints: k}
}

func codes(l diag.List) (out []string) {
	for _, d := range l {
		out = append(out, d.Code)
	}
	return out
}

func TestValidate(t *testing.T) {
	nothing := finding("a", nil)
	bare := nothing
	bare.Codes = nil
	same := finding("b", nil)
	same.Codes = nothing.Codes
	for _, k := range []struct {
		name string
		env  *Environment
		want string
	}{
		{"fine", env(finding("a", nil), finding("b", []string{"a", "TypeRestrictionConstraint"})), ""},
		{"missing", env(finding("b", []string{"a"})), "b requires a before it"},
		{"later", env(finding("b", []string{"a"}), finding("a", nil)), "b requires a before it"},
		{"itself", env(finding("a", []string{"a"})), "a requires a before it"},
		{"twice", env(finding("a", nil), finding("a", nil)), "a is there twice"},
		{"no codes", env(bare), `"a" lacks`},
		{"same code", env(nothing, same), "code A belongs to a and to b"},
	} {
		err := k.env.Validate()
		if k.want == "" && err != nil || k.want != "" && (err == nil || !strings.Contains(err.Error(), k.want)) {
			t.Errorf("%s: %v, want %q", k.name, err, k.want)
		}
	}
}

func TestVerifyStopsAfterTheFirstErrors(t *testing.T) {
	e := env(finding("w", nil, diag.Warning), finding("e", nil, diag.Error, diag.Warning), finding("late", nil, diag.Error))
	got := codes(e.Verify(context.Background(), notes(2)))
	if diff := cmp.Diff([]string{"W", "W", "E", "E", "E", "E"}, got); diff != "" {
		t.Error(diff)
	}
	if got := e.Verify(context.Background(), notes(0)); got != nil {
		t.Errorf("an empty graph gives %v", got)
	}
}

func TestVerifyRefusesAnInvalidEnvironment(t *testing.T) {
	got := env(finding("b", []string{"a"})).Verify(context.Background(), notes(1))
	if diff := cmp.Diff([]string{CodeEnvironment}, codes(got)); diff != "" || !got.HasErrors() {
		t.Error(diff, got)
	}
}

func TestFindingsAreBounded(t *testing.T) {
	for n, want := range map[int]int{MaxFindings: MaxFindings, MaxFindings + 1: MaxFindings + 1, 10 * MaxFindings: MaxFindings + 1} {
		got := env(finding("e", nil, diag.Error)).Verify(context.Background(), notes(n))
		if len(got) != want {
			t.Errorf("%d findings listed of %d, want %d", len(got), n, want)
		}
		if last := got[len(got)-1]; n > MaxFindings && (last.Code != CodeMore || last.Severity != diag.Remark) {
			t.Errorf("the last of %d is %v", n, last)
		}
	}
}

func TestWarningsDoNotHideErrors(t *testing.T) {
	late := finding("e", nil, diag.Warning)
	late.Check = func(c *Context) {
		for n := range c.Graph().Nodes() {
			if !c.Go() {
				return
			}
			d := c.Warning("E", n, "", "w")
			if int(n.ID) == c.Graph().Len()-1 {
				d.Severity = diag.Error
			}
			c.Report(d)
		}
	}
	got := env(late).Verify(context.Background(), notes(5*MaxFindings))
	if !got.HasErrors() || len(got) != MaxFindings+2 {
		t.Errorf("%d findings, errors: %v", len(got), got.HasErrors())
	}
}

func TestEachGivesBodiesOfOneTypeWhileItShouldGoOn(t *testing.T) {
	g := notes(3)
	g.Add(&remark{}, "")
	g.Add(&note{}, "")
	visited := 0
	each := Constraint{ID: "a", Doc: "d", Codes: []Code{{"A", "m"}}, Check: func(c *Context) {
		for n, b := range Each[*note](c) {
			if n.Body != ir.Body(b) {
				t.Error("the body is another node's")
			}
			visited++
			c.Report(c.Error("A", n, "", "a"))
		}
	}}
	e := env(each)
	e.NodeKinds = append(e.NodeKinds, remarkKind)
	e.Verify(context.Background(), g)
	if visited != 4 {
		t.Errorf("%d notes of 4", visited)
	}
	visited = 0
	if env(each).Verify(context.Background(), notes(2*MaxFindings)); visited != MaxFindings+1 {
		t.Errorf("%d notes, one more than the %d that are listed tells that there are more", visited, MaxFindings)
	}
}

func TestInterruptedIsNotValid(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("too slow"))
	got := env(finding("e", nil, diag.Error)).Verify(ctx, notes(5000))
	last := got[len(got)-1]
	if last.Code != CodeInterrupted || last.Severity != diag.Error || !strings.Contains(last.Message, "too slow") {
		t.Errorf("the last finding is %v", last)
	}
	if len(got) > 2 {
		t.Errorf("%d findings after the interruption", len(got))
	}
}

func TestWith(t *testing.T) {
	e := env(finding("a", nil))
	more := e.With(finding("b", []string{"a"}), finding("a", nil), finding("b", nil))
	if err := more.Validate(); err != nil || len(more.Constraints) != 2 || len(e.Constraints) != 1 {
		t.Errorf("%v, %d and %d constraints", err, len(more.Constraints), len(e.Constraints))
	}
}

func TestCachedBuildsOnce(t *testing.T) {
	built := 0
	use := Constraint{ID: "a", Doc: "d", Codes: []Code{{"A", "m"}}, Check: func(c *Context) {
		for range 3 {
			if got := Cached(c, "k", func() int { built++; return 7 }); got != 7 {
				t.Errorf("got %d", got)
			}
		}
		if first := c.Flow(noteKind); c.Flow(noteKind) != first {
			t.Error("the flow index is built twice")
		}
	}}
	again := use
	again.ID, again.Codes = "b", []Code{{"B", "m"}}
	if got := env(use, again).Verify(context.Background(), notes(1)); got != nil || built != 1 {
		t.Errorf("%v, built %d times", got, built)
	}
}

func TestPointers(t *testing.T) {
	if got := PortField("inputs", "a~/b", 3); got != "/body/inputs/a~0~1b/3" {
		t.Error(got)
	}
	if got := TagField(noteKind); got != "/tags/test#~1nodes~1Note" {
		t.Error(got)
	}
}

func TestDocumentListsEveryConstraintOnce(t *testing.T) {
	a, b := env(finding("a", nil)), env(finding("a", nil), finding("b", []string{"a"}))
	text := string(Document(a, b))
	for _, k := range b.All() {
		if n := strings.Count(text, fmt.Sprintf("\n### %s\n", k.ID)); n != 1 {
			t.Errorf("%s is described %d times", k.ID, n)
		}
	}
	if !strings.Contains(text, "Requires: a.") {
		t.Error("requirements are missing")
	}
}

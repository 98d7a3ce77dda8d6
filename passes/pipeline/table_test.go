package pipeline

import (
	"context"
	"strings"
	"testing"
)

func TestTheFakesAreATable(t *testing.T) {
	if err := fakes().Validate(); err != nil {
		t.Fatal(err)
	}
}

func TestValidate(t *testing.T) {
	nop := func(context.Context, *Context) error { return nil }
	a := Pass{Name: "a", Doc: "d", Run: nop}
	with := func(change func(*Pass)) Pass {
		p := Pass{Name: "b", Doc: "d", Run: nop}
		change(&p)
		return p
	}
	after := func(names ...string) func(*Pass) {
		return func(p *Pass) {
			for _, n := range names {
				p.After = append(p.After, Order{n, "r"})
			}
		}
	}
	lowering := func(p *Pass) { p.Standard.Phase = Lowering }
	for _, k := range []struct {
		name   string
		passes []Pass
		want   string
	}{
		{"fine", []Pass{a, with(after("a"))}, ""},
		{"twice", []Pass{a, a}, `the name "a" is taken`},
		{"the group's name", []Pass{with(func(p *Pass) { p.Name = "fix" })}, `the name "fix" is taken`},
		{"malformed name", []Pass{with(func(p *Pass) { p.Name = "B b" })}, "a name is"},
		{"empty name", []Pass{with(func(p *Pass) { p.Name = "" })}, "a name is"},
		{"no text", []Pass{with(func(p *Pass) { p.Doc = "" })}, "is missing"},
		{"no function", []Pass{with(func(p *Pass) { p.Run = nil })}, "is missing"},
		{"stage", []Pass{with(func(p *Pass) { p.Gives = stages })}, "no such stage"},
		{"order on nothing", []Pass{with(after("zz"))}, `order constraint on "zz"`},
		{"order without reason", []Pass{a, with(func(p *Pass) { p.After = []Order{{Name: "a"}} })}, `order constraint on "a"`},
		{"order on itself", []Pass{with(after("b"))}, "in a circle: b after b"},
		{"circle", []Pass{with(after("a")), {Name: "a", Doc: "d", Run: nop, After: []Order{{"c", "r"}}}, {Name: "c", Doc: "d", Run: nop, After: []Order{{"b", "r"}}}},
			"in a circle: b after a after c after b"},
		{"never", []Pass{{Name: "a", Doc: "d", Run: nop, Gives: ScheduledKernels}, with(after("a"))}, `it never follows "a"`},
		{"option twice", []Pass{with(func(p *Pass) { p.Options = []Option{{Name: "x", Doc: "d"}, {Name: "x", Doc: "d"}} })}, `option "x"`},
		{"option default", []Pass{with(func(p *Pass) { p.Options = []Option{{Name: "x", Doc: "d", Type: Int, Default: "1.5"}} })}, "the default is not valid"},
		{"a standard pass", []Pass{{Name: "a", Doc: "d", Run: nop, Standard: Standard{Phase: Completing}}, with(lowering)}, ""},
		{"phases out of order", []Pass{{Name: "a", Doc: "d", Run: nop, Standard: Standard{Phase: Lowering}}, with(func(p *Pass) { p.Standard.Phase = Simplifying })}, "out of order for the standard"},
		{"no such phase", []Pass{with(func(p *Pass) { p.Standard.Phase = Lowering + 1 })}, "out of order for the standard"},
		{"too early a row", []Pass{with(func(p *Pass) { lowering(p); p.Needs = ScheduledKernels })}, "out of order for the standard"},
		{"too late a row", []Pass{{Name: "a", Doc: "d", Run: nop, Gives: ScheduledKernels, Standard: Standard{Phase: Lowering}}, with(lowering)}, "out of order for the standard"},
		{"rows against their order", []Pass{with(func(p *Pass) { lowering(p); after("c")(p) }), {Name: "c", Doc: "d", Run: nop, Standard: Standard{Phase: Lowering}}}, `has "c" later: r`},
		{"fact on request", []Pass{with(func(p *Pass) { p.Options = []Option{{Name: "x", Doc: "d", Type: String, Fact: Target}} })}, `option "x"`},
	} {
		err := (&Table{Passes: k.passes}).Validate()
		if k.want == "" && err != nil || k.want != "" && (err == nil || !strings.Contains(err.Error(), k.want)) {
			t.Errorf("%s: %v, want %q", k.name, err, k.want)
		}
	}
}

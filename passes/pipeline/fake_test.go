package pipeline

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
)

// notes makes a valid graph: a note for each message, labelled n0, n1, ….
func notes(messages ...string) *ir.Graph {
	g := ir.New()
	for i, m := range messages {
		g.Add(&tensorops.Note{Message: m}, fmt.Sprint("n", i))
	}
	return g
}

// messages gives the notes of a graph.
func messages(g *ir.Graph) string {
	var out []string
	for n := range g.Nodes() {
		if x, ok := n.Body.(*tensorops.Note); ok {
			out = append(out, x.Message)
		}
	}
	return strings.Join(out, " ")
}

// eachNote makes the run function of a pass that changes notes, one unit of fuel each, by a rule.
func eachNote(rule string, change func(string) string) func(context.Context, *Context) error {
	return func(_ context.Context, c *Context) error {
		for n := range c.Graph.Nodes() {
			x, ok := n.Body.(*tensorops.Note)
			if !ok {
				continue
			}
			if now := change(x.Message); now != x.Message && c.Take(rule, n.ID) {
				x.Message = now
			}
		}
		return nil
	}
}

// fakes is a table of passes that do one thing each.
func fakes() *Table {
	break1 := func(_ context.Context, c *Context) error {
		c.Graph.Add(&tensorops.Tensor{DType: "no such type", Range: zspace.Range{}}, "bad")
		return nil
	}
	return &Table{Passes: []Pass{
		{Name: "upper", Doc: "Turn messages to upper case.", Run: eachNote("up", strings.ToUpper), Rules: func() []string { return []string{"up"} },
			Options: []Option{FuelOption}},
		{Name: "shorten", Doc: "Take off a letter.", Run: eachNote("cut", func(s string) string { return s[:max(1, len(s)-1)] })},
		{Name: "append", Doc: "Add a note.", Options: []Option{
			{Name: "text", Doc: "what to add", Type: String, Default: "more"}, {Name: "times", Doc: "how often", Type: Int, Default: "1"},
			{Name: "loud", Doc: "with !", Type: Bool}, {Name: "share", Doc: "a number", Type: Float}, {Name: "file", Doc: "a file", Type: Path}},
			Run: func(_ context.Context, c *Context) error {
				for range c.Int("times") {
					text := c.Text("text") + c.Text("file")
					if c.Bool("loud") {
						text += "!"
					}
					if c.Float("share") != 0 {
						text += fmt.Sprint(c.Float("share"))
					}
					c.Graph.Add(&tensorops.Note{Message: text}, "")
					c.Count("notes", 1)
				}
				return nil
			}},
		{Name: "break", Doc: "Leave an invalid graph.", Run: break1, Plugin: "evil"},
		{Name: "crash", Doc: "Crash elsewhere.", Plugin: "evil", Run: func(context.Context, *Context) error {
			return &diag.StatusError{Status: diag.ExitInternal, Err: diag.Diagnostic{Code: "P1", Message: "plugin evil, pass crash: it is gone"}}
		}},
		{Name: "swap", Doc: "Change what is observed.", Plugin: "evil", Run: eachNote("swap", strings.ToUpper), Suspect: &Suspect{Changed: func(found diag.List) error {
			return &diag.StatusError{Status: diag.ExitInternal, Err: diag.Errorf("P2", "", diag.Location{}, "plugin evil, pass swap: %s", found[0].Message)}
		}}},
		{Name: "verified", Doc: "Leave an invalid graph and claim to have verified it.", Run: break1, Plugin: "evil", Suspect: &Suspect{Verified: true}},
		{Name: "panic", Doc: "Panic.", Run: func(context.Context, *Context) error { panic("ouch") }},
		{Name: "refuse", Doc: "Give an error.", Run: func(context.Context, *Context) error { return fmt.Errorf("no") }},
		{Name: "complain", Doc: "Give a diagnostic.", Run: func(_ context.Context, c *Context) error {
			return diag.List{diag.Errorf("X1", "", c.Graph.At(c.Graph.Node(0), ""), "bad note")}
		}},
		{Name: "lose", Doc: "Lose the graph.", Run: func(_ context.Context, c *Context) error { c.Graph = nil; return nil }},
		{Name: "undeclared", Doc: "Use an option that it does not declare.", Run: func(_ context.Context, c *Context) error { c.Int("x"); return nil }},
		{Name: "remark", Doc: "Remark.", Run: func(_ context.Context, c *Context) error { c.Remark(diag.Diagnostic{Message: "hm"}); return nil }},
		{Name: "apply", Doc: "To the next dialect.", Gives: ApplicationExpression, Upto: ApplicationExpression,
			After: []Order{{"upper", "shards keep their case"}}, Run: func(_ context.Context, c *Context) error { return nil }},
		{Name: "late", Doc: "Only on shards.", Needs: ApplicationExpression, Run: func(_ context.Context, c *Context) error { return nil }},
		{Name: "rewrite", Doc: "Ask for rewrite options.", Run: func(_ context.Context, c *Context) error {
			o := c.Rewrites()
			for n := range c.Graph.Nodes() {
				if o.Fuel.Take() {
					o.Trace(rewrite.Change{Rule: "r", Root: n.ID})
				}
			}
			return nil
		}},
		Verify(),
	}}
}

func parsed(t *testing.T, text string) Pipeline {
	t.Helper()
	p, err := ParsePipeline(text, fakes())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// files is a FileWriter into memory.
type files map[string]string

func (f files) write(name string, data []byte) error {
	f[name] = string(data)
	return nil
}

// ticking is a clock that goes on by a millisecond each time someone looks.
func ticking() func() time.Time {
	t := time.Unix(0, 0)
	return func() time.Time {
		t = t.Add(time.Millisecond)
		return t
	}
}

// shardless makes an operation without applications, which the Application Expression does not allow.
func shardless() *ir.Graph {
	g := ir.New()
	y := g.Add(&tensorops.Tensor{DType: "float32", Range: zspace.Range{Start: zspace.Point{0}, End: zspace.Point{4}}}, "y")
	op := g.Add(&tensorops.Operation{Kernel: "op:zeros", Outputs: ir.PortsOf([]ir.Port{{Name: "y", Sel: []ir.Selection{
		ir.Select(y.ID, zspace.Range{Start: zspace.Point{0}, End: zspace.Point{4}})}}})}, "op")
	g.Add(&application.Application{Operation: op.ID, Outputs: op.Body.(*tensorops.Operation).Outputs.Clone()}, "part")
	return g
}

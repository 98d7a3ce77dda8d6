package plugins_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins"
)

func nothing(context.Context, *plugins.Context) error { return nil }

func TestValidate(t *testing.T) {
	good := plugins.Pass{Name: "pass", Doc: "Do it.", Run: nothing}
	option := func(o pipeline.Option) []plugins.Pass {
		p := good
		p.Options = []pipeline.Option{o}
		return []plugins.Pass{p}
	}
	for name, x := range map[string]struct {
		plugin plugins.Plugin
		says   string
	}{
		"good":       {plugins.Plugin{Name: "a-b2", Version: "1.0.0-rc.1", Passes: []plugins.Pass{good}}, ""},
		"no name":    {plugins.Plugin{Version: "1.0.0", Passes: []plugins.Pass{good}}, "lower-case words"},
		"no version": {plugins.Plugin{Name: "a", Version: "1", Passes: []plugins.Pass{good}}, "semantic version"},
		"nothing":    {plugins.Plugin{Name: "a", Version: "1.0.0"}, "provides nothing"},
		"twice":      {plugins.Plugin{Name: "a", Version: "1.0.0", Passes: []plugins.Pass{good, good}}, "there twice"},
		"pass and rules": {plugins.Plugin{Name: "a", Version: "1.0.0", Passes: []plugins.Pass{good},
			Rules: []plugins.Text{{Name: "pass", Doc: "d", Text: "t"}}}, "there twice"},
		"no function": {plugins.Plugin{Name: "a", Version: "1.0.0", Passes: []plugins.Pass{{Name: "p", Doc: "d"}}}, "no function"},
		"a path":      {plugins.Plugin{Name: "a", Version: "1.0.0", Passes: option(pipeline.Option{Name: "o", Doc: "d", Type: pipeline.Path})}, "of this type"},
		"a default":   {plugins.Plugin{Name: "a", Version: "1.0.0", Passes: option(pipeline.Option{Name: "o", Doc: "d", Type: pipeline.Int, Default: "x"})}, "default"},
	} {
		err := x.plugin.Validate()
		if (err == nil) != (x.says == "") || err != nil && !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCall(t *testing.T) {
	g := ir.New()
	g.Add(&tensorops.Note{Message: "n"}, "note")
	p := plugins.Pass{Name: "p", Doc: "d.", Options: []pipeline.Option{{Name: "n", Doc: "d", Type: pipeline.Int, Default: "3"},
		{Name: "f", Doc: "d", Type: pipeline.Float}, {Name: "b", Doc: "d", Type: pipeline.Bool}, {Name: "s", Doc: "d", Type: pipeline.String}},
		Run: func(_ context.Context, c *plugins.Context) error {
			c.Count("sum", c.Int("n"))
			c.Count("sum", c.Int("n"))
			if c.Bool("b") != true || c.Float("f") != 2.5 || c.Text("s") != "x y" {
				return errors.New("the options did not come through")
			}
			c.Report(diag.Errorf("C1", "", c.Graph.At(c.Graph.Node(0), ""), "a finding"))
			c.Unchanged()
			return nil
		}}
	given := []pipeline.Setting{{Name: "b", Value: "true"}, {Name: "f", Value: "2.5"}, {Name: "s", Value: "x y"}}
	out, err := p.Call(context.Background(), g, given...)
	if err != nil {
		t.Fatal(err)
	}
	if !out.Unchanged || out.Counts["sum"] != 6 || len(out.Found) != 1 || out.Found[0].Location.Node != `note "note"` {
		t.Errorf("%+v", out)
	}
	for _, bad := range []pipeline.Setting{{Name: "n", Value: "x"}, {Name: "other", Value: "1"}, {Name: "b", Value: "maybe"}} {
		if _, err := p.Call(context.Background(), g, bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestUndeclaredOptionsPanic(t *testing.T) {
	p := plugins.Pass{Name: "p", Doc: "d.", Run: func(_ context.Context, c *plugins.Context) error { c.Int("x"); return nil }}
	defer func() {
		if recover() == nil {
			t.Error("an option that is not declared has a value")
		}
	}()
	p.Call(context.Background(), ir.New())
}

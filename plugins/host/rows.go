package host

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/rewrite/language"
	"tensortapestry.org/tapc/plugins"
)

// Opener gives a plugin that runs, starting it if it must. Rows call it when a pass runs for the first time.
type Opener func(ctx context.Context) (*Plugin, error)

// Rows makes the rows of the pass table for a plugin: one for each of its passes, and one for each of its sets of rules,
// which tapc runs itself. Rules may name kernels of the library. An error is a *Fault: rules that can not be read.
func Rows(d *Description, open Opener, lib *kernels.Library) ([]pipeline.Pass, error) {
	rows := slices.Clone(d.Passes)
	for i := range rows {
		rows[i].Run, rows[i].Suspect = runRow(rows[i], open), suspect(rows[i].Name, open)
	}
	for _, t := range d.Rules {
		row, err := ruleRow(d.Name, t, lib)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// runRow gives the function of a plugin's pass.
func runRow(row pipeline.Pass, open Opener) func(context.Context, *pipeline.Context) error {
	return func(ctx context.Context, c *pipeline.Context) error {
		p, err := open(ctx)
		if err != nil {
			return err
		}
		answer, err := p.RunPass(ctx, row.Name, settingsOf(row.Options, c), c.Graph)
		if err != nil {
			return err
		}
		if answer.Found.HasErrors() {
			return answer.Found
		}
		for _, d := range answer.Found {
			c.Remark(d)
		}
		for _, n := range answer.Counts {
			c.Count(n.Name, int(n.Value))
		}
		c.Graph = answer.Graph
		return nil
	}
}

// suspect says how the runner treats a plugin's pass: RunPass has verified its graph, and the plugin's last lines go with the
// fault of changed values.
func suspect(pass string, open Opener) *pipeline.Suspect {
	return &pipeline.Suspect{Verified: true, Changed: func(found diag.List) error {
		p, err := open(context.Background())
		if err != nil {
			return err
		}
		p.end()
		f := p.fault(ChangedValues, "pass "+pass, "")
		f.Notes = firstOf(found)
		return f
	}}
}

// settingsOf gives the values of all options of a run as text.
func settingsOf(options []pipeline.Option, c *pipeline.Context) []pipeline.Setting {
	out := make([]pipeline.Setting, len(options))
	for i, o := range options {
		out[i].Name = o.Name
		switch o.Type {
		case pipeline.Int:
			out[i].Value = strconv.FormatInt(c.Int(o.Name), 10)
		case pipeline.Bool:
			out[i].Value = strconv.FormatBool(c.Bool(o.Name))
		case pipeline.Float:
			out[i].Value = strconv.FormatFloat(c.Float(o.Name), 'g', -1, 64)
		default:
			out[i].Value = c.Text(o.Name)
		}
	}
	return out
}

// ruleRow makes a pass of a set of rules.
func ruleRow(plugin string, t plugins.Text, lib *kernels.Library) (pipeline.Pass, error) {
	rules, err := language.Parse("plugin "+plugin+", rules "+t.Name, t.Text, lib)
	if err != nil {
		return pipeline.Pass{}, &Fault{Kind: BadDescription, Plugin: plugin, Part: "rules " + t.Name, Detail: clean(err.Error(), 400)}
	}
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = r.Name
	}
	changed := func(found diag.List) error {
		return &Fault{Kind: ChangedValues, Plugin: plugin, Part: "rules " + t.Name, Notes: firstOf(found)}
	}
	return pipeline.Pass{Name: t.Name, Doc: t.Doc, Plugin: plugin, Suspect: &pipeline.Suspect{Changed: changed}, Upto: pipeline.ApplicationExpression,
		Options: []pipeline.Option{pipeline.FuelOption}, Rules: func() []string { return slices.Clone(names) },
		Run: func(ctx context.Context, c *pipeline.Context) error {
			opt := c.Rewrites()
			opt.Library = lib
			stats, err := rewrite.Run(ctx, c.Graph, rules, opt)
			c.Count("operations removed", stats.Removed)
			c.Count("matches refused", stats.Refused)
			if err != nil && ctx.Err() == nil {
				return diag.Fault("plugin %s, rules %s: %w", plugin, t.Name, err)
			}
			return err
		}}, nil
}

// Library gives a library with the kernels that a plugin declares, in the namespace of its name, besides those it has. An error is a *Fault.
func Library(d *Description, base *kernels.Library) (*kernels.Library, error) {
	lib := base
	for _, t := range d.Kernels {
		var err error
		if lib, err = lib.With(fmt.Sprintf("plugin %s, kernels %s", d.Name, t.Name), t.Text, d.Name); err != nil {
			return nil, &Fault{Kind: BadDescription, Plugin: d.Name, Part: "kernels " + t.Name, Detail: clean(err.Error(), 400)}
		}
	}
	return lib, nil
}

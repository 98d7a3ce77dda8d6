package main

import (
	"context"
	"strconv"

	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins/host"
)

// startPlugins starts the plugins that a command line names, once. They run until the end of tapc.
func (a *app) startPlugins(ctx context.Context, paths []string) error {
	for _, path := range paths {
		p, err := host.Start(ctx, path, host.Options{Version: release})
		if err != nil {
			return err
		}
		a.plugins = append(a.plugins, p)
	}
	if err := a.table().Validate(); err != nil {
		return diag.Fault("the passes of the plugins do not go with tapc's: %v", err)
	}
	return nil
}

// stopPlugins ends the plugins.
func (a *app) stopPlugins() {
	for _, p := range a.plugins {
		p.Close() // what it leaves behind is reported by the next run of the command that needs it
	}
	a.plugins = nil
}

// table is the pass table with the passes of the plugins that run.
func (a *app) table() *pipeline.Table {
	t := passes()
	for _, p := range a.plugins {
		for _, row := range p.Description.Passes {
			row.Run = pluginRun(p, row)
			t.Passes = append(t.Passes, row)
		}
	}
	return t
}

// pluginRun gives the function of a pass that a plugin provides. The graph that comes back has been verified.
func pluginRun(p *host.Plugin, row pipeline.Pass) func(context.Context, *pipeline.Context) error {
	return func(ctx context.Context, c *pipeline.Context) error {
		settings := make([]pipeline.Setting, len(row.Options))
		for i, o := range row.Options {
			settings[i] = pipeline.Setting{Name: o.Name, Value: optionText(c, o)}
		}
		answer, err := p.RunPass(ctx, row.Name, settings, c.Graph)
		if err != nil {
			return err
		}
		if err := answer.Found.Err(); err != nil {
			return err
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

func optionText(c *pipeline.Context, o pipeline.Option) string {
	switch o.Type {
	case pipeline.Int:
		return strconv.FormatInt(c.Int(o.Name), 10)
	case pipeline.Bool:
		return strconv.FormatBool(c.Bool(o.Name))
	case pipeline.Float:
		return strconv.FormatFloat(c.Float(o.Name), 'g', -1, 64)
	}
	return c.Text(o.Name)
}

// Command retile is a plugin for tapc with one pass, which gives the contractions of a schedule other register tiles.
//
// It is an example of a pass over what was decided about kernels: a config is data in the schedule, and what is written there is what is
// compiled. See docs/configs.md and docs/plugins.md.
package main

import (
	"context"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins"
)

func main() { plugins.Serve(plugin()) }

func plugin() plugins.Plugin {
	return plugins.Plugin{
		Name:    "retile",
		Version: "1.0.0",
		Doc:     "Gives contractions other register tiles.",
		Passes: []plugins.Pass{{
			Name:    "retile",
			Doc:     "Set how many rows of a contraction a block and a lane have, in every config.",
			Needs:   pipeline.ScheduledKernels,
			Options: []pipeline.Option{{Name: "block", Type: pipeline.Int, Default: "32", Doc: "rows of a block"}, {Name: "lane", Type: pipeline.Int, Default: "2", Doc: "rows of a lane"}},
			Run:     retile,
		}},
	}
}

func retile(_ context.Context, p *plugins.Context) error {
	sizes := []int64{p.Int("block"), p.Int("lane")}
	changed := int64(0)
	for n := range p.Graph.Nodes() {
		k, ok := n.Body.(*schedule.Kernel)
		if !ok {
			continue
		}
		for _, c := range k.Configs {
			for _, s := range c.Stages {
				for i, t := range s.Tiles {
					if s.Algorithm == schedule.Contraction && t.Role == schedule.RoleM {
						s.Tiles[i].Sizes = sizes
						changed++
					}
				}
			}
		}
	}
	if changed == 0 {
		p.Unchanged()
	}
	p.Count("changed", changed)
	return nil
}

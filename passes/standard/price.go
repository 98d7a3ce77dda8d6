package standard

import (
	"context"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/choose"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/tile"
)

// Priced gives the targets that prices know configs of: those of choosers.
func Priced(choosers []tile.Chooser) map[schedule.DeviceType][]price.Target {
	out := map[schedule.DeviceType][]price.Target{}
	for _, c := range choosers {
		kind, name := c.Target()
		t, _ := tile.TargetNamed(name)
		out[kind] = append(out[kind], price.Target{Name: name, Vector: t.Vector})
	}
	return out
}

// Others gives the configs by which a kernel could be carried out that it does not have, by those of choosers: what these list for the target whose config it has, or for the first if it has none,
// and its own with threads where it has none, or without.
func Others(choosers []tile.Chooser) price.Others {
	return func(kind schedule.DeviceType, a *nest.Analysis) []schedule.Config {
		for _, had := range []bool{true, false} {
			for _, c := range choosers {
				device, target := c.Target()
				if own := a.Kernel.For(target); device == kind && (own != nil || !had) {
					return tile.Others(a, c, own)
				}
			}
		}
		return nil
	}
}

// prices gives what prices graphs on a machine: each is taken through the standard pipeline to a schedule for the CPU, whose kernels' times are
// added up.
func prices(lib *kernels.Library, choosers []tile.Chooser) func(m *machine.Machine) choose.Price {
	s := price.Settings{Targets: Priced(choosers)}
	return func(m *machine.Machine) choose.Price {
		return func(ctx context.Context, g *ir.Graph) (float64, error) {
			t := Table(lib, choosers...)
			text := t.Standard(pipeline.Request{Last: pipeline.ScheduledKernels, Simplify: true, Facts: map[pipeline.Fact][]string{pipeline.Target: {schedule.Host.String()}}})
			p, err := pipeline.ParsePipeline(text, t)
			if err != nil {
				return 0, err
			}
			r, err := (&pipeline.Runner{NoVerify: true}).Run(ctx, p, g)
			if err != nil {
				return 0, err
			}
			list, err := price.Program(r.Graph, m, s)
			sum := 0.0
			for _, k := range list {
				sum += k.Time.Value
			}
			return sum, err
		}
	}
}

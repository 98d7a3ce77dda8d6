package standard

import (
	"context"
	"slices"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
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
		out[kind] = append(out[kind], price.Target{Name: name, Vector: t.Vector, Registers: t.Registers})
	}
	return out
}

// On gives the targets that kernels are decided for on a machine: those that it says, and those of choosers for kinds of devices of which it says none. Nil if it says none at all.
func On(m *machine.Machine, choosers []tile.Chooser) (targets []string, err error) {
	said := false
	for _, c := range choosers {
		kind, target := c.Target()
		if d, err := m.Device("", kind.String()); err == nil && d.Target != "" {
			target, said = d.Target, true
		}
		targets = append(targets, target)
	}
	for _, d := range m.Devices {
		if d.Target != "" && !slices.ContainsFunc(choosers, func(c tile.Chooser) bool {
			kind, _ := c.Target()
			return kind.String() == d.Kind && c.Named(d.Target) != nil
		}) {
			return nil, unknownTarget(m, d, choosers)
		}
	}
	if !said {
		return nil, nil
	}
	return targets, nil
}

// unknownTarget is the error of a device whose target is none of its kind.
func unknownTarget(m *machine.Machine, d machine.Device, choosers []tile.Chooser) error {
	want := "none, as kernels for " + d.Kind + " have no configs"
	for _, c := range choosers {
		if kind, target := c.Target(); kind.String() == d.Kind {
			want = "such as " + target
		}
	}
	return diag.Errorf(machine.CodeMeaning, "machine", diag.Location{}, "the device %s of the machine %s has a target that no kernel for %s has configs for", d.Name, m.Name, d.Kind).Want(want, d.Target)
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

// Model is that of a machine, for kernels with the configs of choosers; nil if no machine is named.
func Model(name string, choosers []tile.Chooser) (cost.Model, error) {
	if name == "" {
		return nil, nil
	}
	m, err := machine.Find(name)
	return price.Single(m, price.Settings{Targets: Priced(choosers)}), err
}

// undecided is a model for kernels that have no configs yet: each has the one that tile would give it by the same model, for the first of the choosers of its device's kind.
type undecided struct {
	cost.Model
	choosers []tile.Chooser
}

// decided gives the model of a machine for kernels without configs; nil if none is named.
func decided(choosers []tile.Chooser, name string) (cost.Model, error) {
	m, err := Model(name, choosers)
	if m == nil || err != nil {
		return nil, err
	}
	return undecided{m, choosers}, nil
}

// Estimate prices a kernel by the config that tile would choose.
func (u undecided) Estimate(kind schedule.DeviceType, a *nest.Analysis) (cost.Estimate, error) {
	for _, c := range u.choosers {
		if device, _ := c.Target(); device == kind {
			best, err := tile.Choose(a, c, u.Model)
			if err != nil {
				return cost.Estimate{}, err
			}
			return best.Cost, nil
		}
	}
	return u.Model.Estimate(kind, a)
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

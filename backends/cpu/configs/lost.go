package configs

import (
	"fmt"
	"reflect"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/tile"
)

// Lost refuses configs of a kernel that would be ignored: one for no kind of processor, and one that somebody changed of a kernel that has none for any of the
// processors that a program is compiled for. What passes/tile decided for others is no loss: it decides anew.
func Lost(g *ir.Graph, id ir.NodeID, a *nest.Analysis, targets []isa.Target) error {
	k, want := a.Kernel, targets[0].Target.Name()
	for i := range k.Configs {
		switch c := &k.Configs[i]; {
		case c.Target == schedule.CPU.String():
			return diag.Errorf("TAP0913", "cpu", g.At(g.Node(id), fmt.Sprint("/body/configs/", i)), "%s has a config for no kind of processor", g.Name(id)).
				Want("a config for "+want, c.Target)
		case !used(k, targets) && tile.Named(c.Target) && changed(a, c):
			return diag.Errorf("TAP0913", "cpu", g.At(g.Node(id), fmt.Sprint("/body/configs/", i)),
				"%s has a config for %s that is not what the pass tile decides, and the program is compiled for others", g.Name(id), c.Target).
				Want("a config for "+want, c.Target).WithHint("tapc opt --passes='tile{for=%s}' FILE -o FILE decides one, to be changed in turn", want)
		}
	}
	return nil
}

// used says whether a kernel is carried out by one of its configs on some target.
func used(k *schedule.Kernel, targets []isa.Target) bool {
	return slices.ContainsFunc(k.Configs, func(c schedule.Config) bool {
		return slices.ContainsFunc(targets, func(t isa.Target) bool { return t.Target.Name() == c.Target })
	})
}

// changed says whether a config is another than the one that is chosen for its target.
func changed(a *nest.Analysis, c *schedule.Config) bool {
	chooser := Chooser{}.Named(c.Target)
	if chooser == nil {
		return true
	}
	best, err := tile.Choose(a, chooser, nil)
	return err != nil || !reflect.DeepEqual(best.Config.Stages, c.Stages)
}

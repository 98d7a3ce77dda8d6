package constraints

import (
	"tensortapestry.org/tapc/dialects/schedule"
	. "tensortapestry.org/tapc/ir/check/checktest"
)

func configCases() []Case {
	given := func(edit func(k *schedule.Kernel, s *schedule.Stage)) func(*program) {
		return func(p *program) {
			k := p.first()
			k.Configs = []schedule.Config{{Target: "sm_80", Stages: []schedule.Stage{{Algorithm: schedule.Contraction, Micro: "fma",
				Tiles: []schedule.Tiling{{Role: schedule.RoleM, Sizes: []int64{64, 4}}, {Role: schedule.RoleN, Sizes: []int64{64, 4}}, {Role: schedule.RoleK, Sizes: []int64{16}}}}}}}
			for _, o := range k.Operands {
				if o.Mode == schedule.Read {
					k.Configs[0].Stages[0].Placements = []schedule.Placement{{Operand: o.Name, Depth: 2}}
				}
			}
			edit(k, &k.Configs[0].Stages[0])
		}
	}
	return []Case{
		Of("configs: two for a target", edited(given(func(k *schedule.Kernel, _ *schedule.Stage) { k.Configs = append(k.Configs, k.Configs[0]) })), []string{"TAP0363"}, []string{`"sm_80"`}),
		Of("configs: without stages", edited(given(func(k *schedule.Kernel, _ *schedule.Stage) { k.Configs[0].Stages = nil })), []string{"TAP0363"}, []string{"0 stages"}),
		Of("configs: a role twice", edited(given(func(_ *schedule.Kernel, s *schedule.Stage) { s.Tiles[1].Role = schedule.RoleM })), []string{"TAP0364"}, []string{"found:    m"}),
		Of("configs: a role of another algorithm", edited(given(func(_ *schedule.Kernel, s *schedule.Stage) { s.Tiles[0].Role = schedule.RoleLine })), []string{"TAP0364"}, []string{"found:    line"}),
		Of("configs: a loop of another algorithm", edited(given(func(_ *schedule.Kernel, s *schedule.Stage) {
			s.Order = []schedule.Role{schedule.RoleM, schedule.RoleLine}
		})), []string{"TAP0364"}, []string{"found:    line"}),
		Of("configs near miss: loops", edited(given(func(_ *schedule.Kernel, s *schedule.Stage) {
			s.Order = []schedule.Role{schedule.RoleN, schedule.RoleM, schedule.RoleN, schedule.RoleM}
		})), nil, nil),
		Of("configs: a tile in parts", edited(given(func(_ *schedule.Kernel, s *schedule.Stage) { s.Tiles[0].Sizes[1] = 5 })), []string{"TAP0365"}, []string{"[64 5]"}),
		Of("configs: an empty tile", edited(given(func(_ *schedule.Kernel, s *schedule.Stage) { s.Tiles[2].Sizes[0] = 0 })), []string{"TAP0365"}, []string{"[0]"}),
		Of("configs: of no operand", edited(given(func(_ *schedule.Kernel, s *schedule.Stage) { s.Placements[0].Operand = "nobody" })), []string{"TAP0366"}, []string{`"nobody"`}),
		Of("configs: without room", edited(given(func(_ *schedule.Kernel, s *schedule.Stage) { s.Placements[0].Depth = 0 })), []string{"TAP0366"}, []string{"room for 0"}),
		Of("configs: columns asked for behind their use", edited(given(func(_ *schedule.Kernel, s *schedule.Stage) { s.Ahead = -8 })), []string{"TAP0370"}, []string{"ahead -8"}),
		Of("configs: less than no panels at once", edited(given(func(_ *schedule.Kernel, s *schedule.Stage) { s.Placements[0].Panels = -1 })), []string{"TAP0370"}, []string{"ahead 0"}),
		Of("configs near miss: ahead, and in rounds", edited(given(func(_ *schedule.Kernel, s *schedule.Stage) { s.Ahead, s.Placements[0].Panels = 8, 6 })), nil, nil),
		Of("configs: a workspace of lanes", edited(given(func(k *schedule.Kernel, _ *schedule.Stage) {
			k.Configs[0].Workspaces = []schedule.Workspace{{Scope: schedule.SharedScope, Bytes: 64}}
		})), []string{"TAP0367"}, []string{"shared 64"}),
		Of("configs: an empty workspace", edited(given(func(k *schedule.Kernel, _ *schedule.Stage) {
			k.Configs[0].Workspaces = []schedule.Workspace{{Scope: schedule.DeviceScope, Bytes: 0}}
		})), []string{"TAP0367"}, []string{"device 0"}),
		Of("configs: a workspace twice", edited(given(func(k *schedule.Kernel, _ *schedule.Stage) {
			k.Configs[0].Workspaces = []schedule.Workspace{{Scope: schedule.PrivateScope, Bytes: 64}, {Scope: schedule.PrivateScope, Bytes: 64}}
		})), []string{"TAP0367"}, []string{"private 64"}),
		Of("configs near miss: two workspaces", edited(given(func(k *schedule.Kernel, _ *schedule.Stage) { k.Configs[0].Workspaces = schedule.WorkspacesOf(64, 64) })), nil, nil),
		Of("configs near miss: two targets", edited(given(func(k *schedule.Kernel, _ *schedule.Stage) {
			k.Configs = append(k.Configs, k.Configs[0])
			k.Configs[1].Target = "sm_90"
		})), nil, nil),
		Of("configs near miss: room for 8", edited(given(func(_ *schedule.Kernel, s *schedule.Stage) { s.Placements[0].Depth = 8 })), nil, nil),
	}
}

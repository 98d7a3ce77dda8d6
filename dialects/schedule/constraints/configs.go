package constraints

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

var kernelConfigs = check.Constraint{
	ID: Configs,
	Doc: "A kernel has at most one config for each target. Every stage has an algorithm; its tiles are of the roles that the algorithm has, each " +
		"once, and of sizes that are positive and whole multiples of the next. The order of loops has roles of the algorithm. What is placed elsewhere is an operand that the kernel reads, " +
		"once, with room for 1 to 8 tiles; how many panels of it are packed at once, and how far ahead columns are asked for, is not negative. Workspaces are in memory of the device or of a thread, each once, and not empty. Whether a back end can carry a config out is for the back end to say.",
	Requires: []string{"ScheduleReferenceConstraint"},
	Codes: []check.Code{
		{ID: "TAP0363", Meaning: "a kernel has two configs for a target, or one for none"},
		{ID: "TAP0364", Meaning: "a stage has a tile or a loop of a role that its algorithm does not have, or a tile twice"},
		{ID: "TAP0365", Meaning: "a tile's sizes are not positive, or not multiples of each other"},
		{ID: "TAP0366", Meaning: "what is placed is no operand that the kernel reads, or has no room"},
		{ID: "TAP0367", Meaning: "a workspace is in no memory that one can be in, twice in the same, or empty"},
		{ID: "TAP0370", Meaning: "a stage asks for columns less than no values ahead, or packs an operand in rounds of less than a panel"},
	},
	Check: func(c *check.Context) {
		for n, k := range check.Each[*schedule.Kernel](c) {
			for i := range k.Configs {
				checkConfig(c, n, k, i)
			}
		}
	},
}

// maxDepth is the room for tiles of an operand.
const maxDepth = 8

// rolesOf are the roles of an algorithm's dimensions.
var rolesOf = map[schedule.Algorithm][]schedule.Role{
	schedule.Contraction:  {schedule.RoleM, schedule.RoleN, schedule.RoleK},
	schedule.LowPrecision: {schedule.RoleM, schedule.RoleN, schedule.RoleK},
	schedule.Reduction:    {schedule.RoleLine, schedule.RoleElement},
	schedule.Loops:        {schedule.RoleLine, schedule.RoleElement},
	schedule.Rows:         {schedule.RoleLine, schedule.RoleElement, schedule.RoleK},
	schedule.Transformed:  {schedule.RoleImage, schedule.RoleDown, schedule.RoleAcross, schedule.RoleN},
}

func checkConfig(c *check.Context, n *ir.Node, k *schedule.Kernel, i int) {
	x := &k.Configs[i]
	field, name := fmt.Sprint("/body/configs/", i), c.Graph().Name(n.ID)
	same := func(y schedule.Config) bool { return y.Target == x.Target }
	if x.Target == "" || slices.ContainsFunc(k.Configs[:i], same) || len(x.Stages) == 0 {
		c.Report(c.Error("TAP0363", n, field, "%s has several configs for a target, or one without a target or stages", name).
			Want("one config, with stages, for each target", fmt.Sprintf("%q with %d stages", x.Target, len(x.Stages))))
	}
	for j, w := range x.Workspaces {
		same := func(v schedule.Workspace) bool { return v.Scope == w.Scope }
		if w.Scope != schedule.DeviceScope && w.Scope != schedule.PrivateScope || slices.ContainsFunc(x.Workspaces[:j], same) || w.Bytes < 1 {
			c.Report(c.Error("TAP0367", n, fmt.Sprint(field, "/workspaces/", j), "%s has a workspace that cannot be", name).
				Want("workspaces in device and private memory, each once and of 1 byte or more", fmt.Sprintf("%s %d", w.Scope, w.Bytes)))
		}
	}
	for j := range x.Stages {
		checkStage(c, n, k, &x.Stages[j], fmt.Sprint(field, "/stages/", j))
	}
}

func checkStage(c *check.Context, n *ir.Node, k *schedule.Kernel, s *schedule.Stage, field string) {
	name := c.Graph().Name(n.ID)
	for i, t := range s.Tiles {
		at := fmt.Sprint(field, "/tiles/", i)
		if same := func(u schedule.Tiling) bool { return u.Role == t.Role }; !slices.Contains(rolesOf[s.Algorithm], t.Role) || slices.ContainsFunc(s.Tiles[:i], same) {
			c.Report(c.Error("TAP0364", n, at, "a stage of %s has a tile that its algorithm does not have", name).
				Want(fmt.Sprintf("the roles %v of the algorithm %s, each once", rolesOf[s.Algorithm], s.Algorithm), t.Role.String()))
		}
		for l, size := range t.Sizes {
			if size < 1 || l > 0 && t.Sizes[l-1]%size != 0 {
				c.Report(c.Error("TAP0365", n, at+"/sizes", "the tiles %s of %s do not fit into each other", t.Role, name).
					Want("positive sizes, each a multiple of the next", fmt.Sprint(t.Sizes)))
				break
			}
		}
	}
	if s.Ahead < 0 || slices.ContainsFunc(s.Placements, func(p schedule.Placement) bool { return p.Panels < 0 }) {
		c.Report(c.Error("TAP0370", n, field, "a stage of %s asks for columns, or packs panels, by a negative number", name).
			Want("numbers of 0 or more", fmt.Sprintf("ahead %d, placements %v", s.Ahead, s.Placements)))
	}
	for i, r := range s.Order {
		if !slices.Contains(rolesOf[s.Algorithm], r) {
			c.Report(c.Error("TAP0364", n, fmt.Sprint(field, "/order/", i), "a stage of %s has a loop that its algorithm does not have", name).
				Want(fmt.Sprintf("the roles %v of the algorithm %s", rolesOf[s.Algorithm], s.Algorithm), r.String()))
		}
	}
	for i, p := range s.Placements {
		read := func(o schedule.Operand) bool { return o.Name == p.Operand && o.Mode == schedule.Read }
		same := func(q schedule.Placement) bool { return q.Operand == p.Operand }
		if !slices.ContainsFunc(k.Operands, read) || slices.ContainsFunc(s.Placements[:i], same) || p.Depth < 1 || p.Depth > maxDepth {
			c.Report(c.Error("TAP0366", n, fmt.Sprint(field, "/placements/", i), "a stage of %s places what it cannot", name).
				Want(fmt.Sprintf("an operand that the kernel reads, once, with room for 1 to %d tiles", maxDepth), fmt.Sprintf("%q with room for %d", p.Operand, p.Depth)))
		}
	}
}

package cpu_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/permission"
)

// TestWorkspacesAreStated: of each form of kernel that has workspaces, the schedule states them before any C is written: a program has that much behind its
// arena, or more if more is stated, and a kernel that needs a byte more is refused.
func TestWorkspacesAreStated(t *testing.T) {
	for name, graph := range map[string]string{
		"panels":      products(1, 517, 1020, 1024, false),
		"groups":      products(1, 1, 9000, 30, false),
		"rows":        typed("float32", "x", 3000000) + "%y = tensor float32 []\noperation op:sum {dims: [0]} (tensor: %x) -> (result: %y)\n",
		"scan":        typed("int32", "x", 37, 700) + typed("int32", "y", 37, 700) + "operation op:sort {axis: 1} (tensor: %x) -> (values: %y)\n",
		"bytes":       typed("uint8", "x", 70, 300) + typed("int8", "w", 300, 90) + typed("int32", "y", 70, 90) + "operation op:matmul_integer (A: %x, B: %w) -> (Y: %y)\n",
		"attention":   chainGraphs()["kernel"],
		"transformed": winogradCases()[0].channelsLast(),
	} {
		t.Run(name, func(t *testing.T) {
			allow, _ := permission.Parse("transformed-tiles")
			g := cputest.Allowing(t, graph, allow)
			var configs []*schedule.Config
			for n := range g.Nodes() {
				if k, ok := n.Body.(*schedule.Kernel); ok && len(k.Configs) == 1 && len(k.Configs[0].Workspaces) > 0 {
					configs = append(configs, &k.Configs[0])
				}
			}
			if len(configs) == 0 {
				t.Fatal("no kernel has a workspace")
			}
			arena := func() (int64, error) {
				x, err := cpu.Emit(g, "test", "test")
				if err != nil {
					return 0, err
				}
				return x.Arena, nil
			}
			before, err := arena()
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range configs {
				for i, w := range c.Workspaces {
					stated := c.Workspaces
					c.Workspaces = slices.Clone(stated)
					c.Workspaces[i].Bytes--
					if _, err := arena(); err == nil || !strings.Contains(err.Error(), "TAP0914") || !strings.Contains(err.Error(), fmt.Sprintf("%s %d", w.Scope, w.Bytes)) {
						t.Errorf("a %s workspace of %d bytes less one: %v", w.Scope, w.Bytes, err)
					}
					c.Workspaces[i].Bytes += 1 << 20
					if after, err := arena(); err != nil || after <= before {
						t.Errorf("a %s workspace of a mebibyte more: an arena of %d, and of %d before (%v)", w.Scope, after, before, err)
					}
					c.Workspaces = stated
				}
			}
		})
	}
}

package cnest

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/ir"
)

// Trees writes the trees of the kernels of a graph for a target, in the order in which they run: each as the back end's function makes it, with the config that
// it is of; nil for a kernel that is written without a tree.
func Trees(g *ir.Graph, target string, make func(g *ir.Graph, id ir.NodeID, name string, a *nest.Analysis) (*tree.Func, *schedule.Config, error)) (string, error) {
	steps, err := schedule.Order(g)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	buffers := whole.Buffers(g)
	for i, id := range steps {
		k, ok := g.Node(id).Body.(*schedule.Kernel)
		if !ok {
			continue
		}
		f, c, err := make(g, id, fmt.Sprintf("k%d", i), nest.Analyze(k, buffers))
		if err != nil {
			return "", err
		}
		if f != nil {
			on := target
			if c != nil {
				on = c.Target
			}
			fmt.Fprintf(&b, "// %s on %s: %s\n%s\n", g.Name(id), on, c, f)
		}
	}
	return b.String(), nil
}

package codegen

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/ir"
)

// Trees writes the trees of the kernels of a graph that have a config for a target, in the order in which they run: each as the back end's
// function makes it, whose error says where it is.
func Trees(g *ir.Graph, target string, make func(g *ir.Graph, id ir.NodeID, name string, a *nest.Analysis, c *schedule.Config) (*tree.Func, error)) (string, error) {
	steps, err := schedule.Order(g)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	buffers := whole.Buffers(g)
	for i, id := range steps {
		k, ok := g.Node(id).Body.(*schedule.Kernel)
		if !ok || k.For(target) == nil {
			continue
		}
		f, err := make(g, id, fmt.Sprintf("k%d", i), nest.Analyze(k, buffers), k.For(target))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "// %s on %s: %s\n%s\n", g.Name(id), target, k.For(target), f)
	}
	return b.String(), nil
}

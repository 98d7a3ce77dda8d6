// Package explain writes what was decided about the kernels of a schedule, and what else there was. It is what `tapc explain kernel` prints. It
// must change no graph. Read next: passes/tile, which decides.
package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/tile"
)

// Kernels gives the candidates of the kernels of a graph, or of those with a name.
func Kernels(ctx context.Context, g *ir.Graph, name string, choosers []tile.Chooser) (string, error) {
	var b strings.Builder
	buffers, found := nest.Buffers(g), false
	var names []string
	for n := range g.Nodes() {
		k, ok := n.Body.(*schedule.Kernel)
		if ok {
			names = append(names, k.Name)
		}
		if !ok || name != "" && name != k.Name && name != g.Name(n.ID) {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return "", err
		}
		found = true
		if err := kernel(&b, g, n, nest.Analyze(k, buffers), choosers); err != nil {
			return "", err
		}
	}
	if !found {
		hint := "without a name, all kernels are explained"
		if near, ok := diag.Nearest(name, names); ok {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return "", diag.Errorf("TAP1111", "explain", diag.Location{}, "the schedule has no kernel %q", name).WithHint("%s", hint)
	}
	return b.String(), nil
}

func kernel(b *strings.Builder, g *ir.Graph, n *ir.Node, a *nest.Analysis, choosers []tile.Chooser) error {
	k := a.Kernel
	fmt.Fprintf(b, "%s\n", g.Name(n.ID))
	d, ok := g.Node(k.Device).Body.(*schedule.Device)
	var explained []string
	for _, from := range choosers {
		device, target := from.Target()
		if !ok || d.Type != device {
			continue
		}
		all, err := tile.Consider(a, from)
		if err != nil {
			return fmt.Errorf("%s: %w", g.Name(n.ID), err)
		}
		explained = append(explained, target)
		if c := k.For(target); c != nil || !tile.Named(target) {
			fmt.Fprintf(b, "  %s has the config %s\n", target, c)
		} else {
			fmt.Fprintf(b, "  %s has no config: tapc opt --passes='tile{for=%s}' decides one\n", target, target)
		}
		candidates(b, all)
	}
	for _, c := range k.Configs {
		if !slices.Contains(explained, c.Target) {
			explained = append(explained, c.Target)
			fmt.Fprintf(b, "  %s has the config %s, which the schedule says\n", c.Target, &c)
		}
	}
	if len(explained) == 0 {
		fmt.Fprintf(b, "  has no configs: the schedule's loops say how it is carried out\n")
	}
	return nil
}

// candidates writes what each candidate was thought to take, or why it was refused, and marks the one that was chosen.
func candidates(b *strings.Builder, all []tile.Candidate) {
	for _, c := range all {
		mark, what := " ", fmt.Sprintf("%.3g µs, from %.3g to %.3g", 1e6*c.Cost.Seconds, 1e6*c.Cost.Low, 1e6*c.Cost.High)
		if c.Chosen {
			mark = "*"
		}
		if c.Refused != nil {
			what = "refused: " + c.Refused.Error()
		}
		fmt.Fprintf(b, "  %s %s: %s\n", mark, &c, what)
	}
}

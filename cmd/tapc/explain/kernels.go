// Package explain writes what was decided about the kernels of a schedule, and what else there was. It is what `tapc explain kernel` prints. It
// must change no graph. Read next: passes/tile, which decides.
package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/tile"
)

// Help is the text of --help.
const Help = `Explain what was decided, and what else there was.

  kernel  for each kernel of the schedule, or for those of a name: the configs or cuts that it
          can have on the target, what each was thought to take, why others were refused, and
          which is chosen. A config says how a kernel is carried out; --emit=tree shows what
          it does. --cpu and --cc name the processors, as they do for build; without them
          they are those of the machine of --cost-model, or those with AVX-512.
  sizes   which versions a program has for the sizes of --dim, how many functions they take
          together, and for which sizes padded data is proven to give the same values.
  cuts    for each operation, or for those of a label or kernel, and each of its dimensions:
          whether --shard can cut it freely, or with a halo (how many cells of which input
          neighbouring parts both read); whether it is reduced, and how partial results are
          combined when it is cut (its name in --shard); and why it can not be cut at all.
  time    what each kernel, or those of a name, takes on the machine of --machine, term by
          term: what it computes, what travels from which cache or memory, what it waits for;
          the config that would take least beside its own (another candidate, with threads or
          without, or loops), and where it would take more. The back end chooses configs by
          estimates of its own, so that one may be priced less, or by those of --cost-model.
          --json has the same.
  memory  what a program has in memory at most, part by part, with --machine for its
          threads; or where a tensor is (explain memory FILE TENSOR), from which step to
          which, and what computing it again where it is read last would save and take.
  transfer  what a --plan with a mesh, or a program of --devices, moves, or what it moves of a
          tensor or for an operation: why, by which collective, what that takes on
          --machine, and what else would.
  plan    A B: what two plan files ask for differently, in words.`

// Kernels gives the candidates of the kernels of a graph, or of those with a name, and what they take: by a model, if there is one.
func Kernels(ctx context.Context, g *ir.Graph, name string, choosers []tile.Chooser, model cost.Model) (string, error) {
	var b strings.Builder
	buffers, found := whole.Buffers(g), false
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
		if err := kernel(&b, g, n, nest.Analyze(k, buffers), choosers, model); err != nil {
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

func kernel(b *strings.Builder, g *ir.Graph, n *ir.Node, a *nest.Analysis, choosers []tile.Chooser, model cost.Model) error {
	k := a.Kernel
	fmt.Fprintf(b, "%s\n", g.Name(n.ID))
	d, ok := g.Node(k.Device).Body.(*schedule.Device)
	var explained []string
	for _, from := range choosers {
		device, target := from.Target()
		if !ok || d.Type != device {
			continue
		}
		all, err := tile.Consider(a, from, model)
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
		if c.Config != nil && len(c.Config.Workspaces) > 0 {
			what += ", " + schedule.WorkspaceText(c.Config.Workspaces)
		}
		if c.Chosen {
			mark = "*"
		}
		if c.Refused != nil {
			what = "refused: " + c.Refused.Error()
		}
		fmt.Fprintf(b, "  %s %s: %s\n", mark, &c, what)
	}
}

package figure

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/ir"
)

// mostSteps is how many steps of a definition are drawn.
const mostSteps = 16

// definition adds the box of a definition: its ports, and a line for each step.
func (b *builder) definition(n *ir.Node, d *definition.Definition) {
	var in, out []string
	for _, f := range d.Inputs {
		in = append(in, f.Port+" "+typed(f.DType, f.Range))
	}
	for _, f := range d.Outputs {
		out = append(out, f.Port+" = "+f.Value)
	}
	lines := in
	for i, s := range d.Steps {
		if i == mostSteps {
			lines = append(lines, fmt.Sprintf("and %d more steps", len(d.Steps)-i))
			break
		}
		var takes, makes []string
		for _, u := range s.Inputs {
			takes = append(takes, u.Value)
		}
		for _, m := range s.Makes {
			makes = append(makes, m.Value)
		}
		lines = append(lines, fmt.Sprintf("%s ← %s(%s)", strings.Join(makes, ", "), kernelWord(s.Kernel), strings.Join(takes, ", ")))
	}
	b.add(n, Item{Kind: Note, Title: "definition " + d.Name, Lines: append(lines, out...), Color: -1})
}

// branches says of the tensors that choices choose between which branches they are.
func (b *builder) branches() {
	for _, id := range b.flow.Ops {
		if !tensorops.OperationOf(b.graph, id).IsChoice() {
			continue
		}
		c, bad := tensorops.ChoiceOf(b.graph, id)
		if bad.HasErrors() {
			continue
		}
		i := 0
		tensorops.OperationOf(b.graph, id).Inputs.All(func(_, _ int, s *ir.Selection) {
			if at := b.of(s.Tensor); at >= 0 && i < len(c.Names) {
				b.Items[at].Lines = append(b.Items[at].Lines, "branch "+c.Names[i])
			}
			i++
		})
	}
}

package lowprecision

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/panels"
)

// packer names the function that packs blocks of the operand: lane by lane or group by group, and transposed if panels have it the other way.
func (o *operand) packer() string {
	c := o.converter()
	form, pack, variant := panels.Lines, c.Lines, "_lines"
	if o.neighbours() {
		form, pack, variant = panels.Across, c.Across, "_across"
	}
	macros := []string{"TAPC_BLOCK(from, step, fold, live, count, to) " + pack() + "(from, step, fold, live, count, to)"}
	if form != o.layout.Blocked.Form {
		variant += "_turned"
		macros = append(macros, "TAPC_TURNED 1", "TAPC_TURN(from, to) "+c.Transposed()+"(from, to)")
	}
	return c.V.Of(c.Form.From, c.Lanes).File(files, "panels.c", fmt.Sprintf("_%d%s", c.Form.Flip(), variant), macros...)("tapc_blocks")
}

// converter gives the writer of the functions that convert its elements.
func (o *operand) converter() *Converter {
	return &Converter{o.n.p.E.V, o.n.p.N, o.layout.Blocked}
}

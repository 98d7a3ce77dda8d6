package backends

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/passes/tile"
)

const codeOrder = "TAP0912"

// Ordered is an error if a kernel asks for partial sums of another size than the order of its sum has (docs/numerics.md), as a schedule
// out of a file may, and its device does not allow another order. By is the back end's name.
func Ordered(g *ir.Graph, by string, node *ir.Node, a *nest.Analysis) error {
	k := a.Kernel
	device, ok := g.Node(k.Device).Body.(*schedule.Device)
	want := tile.Sums(a.Forms)
	if k.Sums == 0 || k.Sums == want || ok && device.Allow.Has(permission.Reassociate) {
		return nil
	}
	return diag.Errorf(codeOrder, by, g.At(node, "/body/sums"), "%s adds up in another order than its operation does", g.Name(node.ID)).
		Want(fmt.Sprintf("partial sums of %d values", want), fmt.Sprint(k.Sums)).
		WithHint("leave sums out, or allow another order: with the flag --allow=reassociate, or lower{allow=reassociate}")
}

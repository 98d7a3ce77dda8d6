package cpu

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/passes/tile"
)

// checkSums refuses a kernel that asks for partial sums of another size than the order of its sum has (docs/numerics.md), as a schedule
// out of a file may, unless its device allows another order.
func (p *program) checkSums(node *ir.Node, k *schedule.Kernel, forms nest.Forms) error {
	device, ok := p.g.Node(k.Device).Body.(*schedule.Device)
	if k.Sums == 0 || ok && device.Allow.Has(permission.Reassociate) {
		return nil
	}
	want := int64(0)
	for _, f := range forms {
		if c, ok := f.(*nest.Contraction); ok && c.Sum.Type.IsFloat() {
			want = tile.PartialSum(c)
		}
	}
	if k.Sums == want {
		return nil
	}
	d := diag.Errorf("TAP0902", "cpu", p.g.At(node, "/body/sums"), "%s adds up in another order than its operation does", p.g.Name(node.ID))
	d.Expected, d.Found = fmt.Sprintf("partial sums of %d values", want), fmt.Sprint(k.Sums)
	d.Hint = "leave sums out, or allow another order: with the flag --allow=reassociate, or lower{allow=reassociate}"
	return d
}

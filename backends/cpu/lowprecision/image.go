package lowprecision

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
)

// imageTask writes the functions with which a thread copies some rows of the left operand: as the instructions take its elements,
// with its zero point around.
func (n *Kernel) imageTask() {
	c := n.left.converter()
	copied := &product.PaddedCopy{Text: n.Text, E: n.p.E, Operand: n.p.K.Operands[n.left.operand], Padded: n.p.C.Padded, Kept: c.v.W.Type(c.kept())}
	copied.Elements = product.Elements{Places: c.places, One: c.one,
		Run: func(from, to string, n int64) string { return fmt.Sprintf("%s(%s, %s, %d)", c.line(), from, to, n) }}
	copied.Fill = func() string { // the zero point in the signs that the copy has; numbers of bfloat16 that are 0 have such bytes too
		z := n.left.zero()
		if z.e == nil {
			return fmt.Sprint(z.plus)
		}
		n.zeroPointers(z.e)
		at := &point.Point{V: n.p.E.V, K: n.p.K, Views: n.p.C.Views, Along: -1, N: 1, Count: "1", Locals: map[int]vector.Value{}}
		return fmt.Sprintf("(int)(%s) + %d", n.p.E.V.Expr(z.e, 1, at).Text, z.plus)
	}
	copied.Write("as the instructions take it, with its zero point", fmt.Sprintf("%s_image_row", n.p.Name))
	unit.Task(n.Text, "", fmt.Sprintf("%s_image", n.p.Name), "tapc_narrow_part")
	n.Line("for (int64_t row = begin; row < end; row++) %s_image_row(b, row, (%s *)((char *)b[%d] + %d) + row * %d);", n.p.Name, copied.Kept, n.left.place.Slot, n.left.place.At,
		n.p.C.Padded.Elements()/product.PadRows(n.p.C.Padded))
	n.Close()
}

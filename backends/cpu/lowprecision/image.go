package lowprecision

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/vector"
)

// pad writes the function that copies a row of the left operand: as the instructions take its elements, with its zero point around.
func (n *Kernel) pad() {
	c := n.left.converter()
	copied := &product.PaddedCopy{Text: n.Text, E: n.p.E, Operand: n.p.K.Operands[n.left.operand], Padded: n.p.C.Padded, Kept: c.V.W.Type(kept(c.Form))}
	copied.Elements = product.Elements{Places: c.Places, One: c.One,
		Run: func(from, to string, n int64) string { return fmt.Sprintf("%s(%s, %s, %d)", c.Line(), from, to, n) }}
	copied.Fill = func() string { // the zero point in the signs that the copy has; numbers of bfloat16 that are 0 have such bytes too
		z := n.left.zero()
		if z.e == nil {
			return fmt.Sprint(z.plus)
		}
		n.zeroPointers(z.e)
		at := &point.Point{V: n.p.E.V, K: n.p.K, Views: n.p.C.Views, Along: -1, N: 1, Count: "1", Locals: map[int]vector.Value{}}
		return fmt.Sprintf("(int)(%s) + %d", n.p.E.V.Expr(z.e, 1, at).Text, z.plus)
	}
	copied.Write("as the instructions take it, with its zero point", fmt.Sprintf("%s_pad_row", n.p.Name))
}

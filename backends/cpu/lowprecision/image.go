package lowprecision

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/vector"
)

// imageTask writes the function with which a thread copies some rows of the left operand: as the instructions take its elements,
// with its zero point around.
func (n *Kernel) imageTask() {
	c := n.left.converter()
	copied := &product.PaddedCopy{Text: n.Text, E: n.p.E, Operand: n.p.K.Operands[n.left.operand], Dims: n.p.C.Padded.Dims, Kept: c.v.W.Type(c.kept()), Place: n.left.place}
	copied.Fill = func() string { // the zero point in the signs that the copy has; numbers of bfloat16 that are 0 have such bytes too
		z := n.left.zero()
		if z.e == nil {
			return fmt.Sprint(z.plus)
		}
		n.zeroPointers(z.e)
		at := &point.Point{V: n.p.E.V, K: n.p.K, Views: n.p.C.Views, Along: -1, N: 1, Count: "1", Locals: map[int]vector.Value{}}
		return fmt.Sprintf("(int)(%s) + %d", n.p.E.V.Expr(z.e, 1, at).Text, z.plus)
	}
	copied.Row = func(to string, live, m, stepAcross, stepInner int64) {
		across, inner := point.Number(stepAcross), point.Number(stepInner)
		switch {
		case stepInner == 1 && stepAcross == m:
			n.Line("%s(from, %s, %d);", c.line(), to, live*m)
		case stepInner == 1:
			n.Line("for (int64_t x = 0; x < %d; x++) %s(from + x * %s, %s + x * %d, %d);", live, c.line(), across, to, m, m)
		case stepAcross == 1:
			n.Line("%s(from, %s, %s, %d, %d);", c.places(), inner, to, live, m)
		default:
			n.Open("for (int64_t x = 0; x < %d; x++) {", live)
			n.Line("for (int64_t y = 0; y < %d; y++) (%s)[x * %d + y] = %s;", m, to, m, c.one(fmt.Sprintf("from[x * %s + y * %s]", across, inner)))
			n.Close()
		}
	}
	copied.Write("as the instructions take it, with its zero point", fmt.Sprintf("%s_image", n.p.Name), "tapc_narrow_part")
}

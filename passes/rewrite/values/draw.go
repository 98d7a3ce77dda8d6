package values

import (
	"math/rand/v2"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir"
)

// Other draws a value of a parameter of a kernel: its default, or another number, truth value or word within its limits.
func Other(rnd *rand.Rand, d *declaration.Kernel, name string, byDefault ir.AttrValue) ir.AttrValue {
	for _, a := range d.Attrs {
		if a.Name != name || rnd.IntN(2) == 0 {
			continue
		}
		switch a.Type {
		case declaration.BoolAttr:
			return ir.BoolAttr(rnd.IntN(2) == 0)
		case declaration.WordAttr:
			return ir.StringAttr(a.Words[rnd.IntN(len(a.Words))])
		case declaration.IntAttr, declaration.NumberAttr:
			n := byDefault.Int + rnd.Int64N(4) - 1
			if a.Least != nil {
				n = max(n, *a.Least)
			}
			if a.Most != nil {
				n = min(n, *a.Most)
			}
			if byDefault.Kind == ir.AttrFloat {
				return ir.FloatAttr(float64(n) + byDefault.Num)
			}
			return ir.IntAttr(n)
		}
	}
	return byDefault
}

package cpu

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/lowprecision"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/rows"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/passes/tile"
)

// considers lists what a kernel can be carried out as on the processors that loops are cut for by default.
func considers(a *nest.Analysis, allowed permission.Set) ([]tile.Candidate, error) {
	return tile.Default.Consider(a, allowed, func(f nest.Form) error {
		if !written(a, f) {
			return fmt.Errorf("it has values of a type that there are no vectors of, or may read outside of an operand")
		}
		return nil
	})
}

// written says whether a kernel can be written as a form.
func written(a *nest.Analysis, form nest.Form) bool {
	switch f := form.(type) {
	case *nest.LowPrecision:
		_, _, ok := lowprecision.Widened(a.Kernel, a.Buffers, f)
		return ok
	case *nest.Winograd:
		return point.VectorKernel(a.Kernel, a.Buffers, f.Image)
	case *nest.Contraction:
		return product.Fits(a.Kernel, a.Buffers, f)
	case *nest.Rows:
		return rows.Fits(a.Kernel)
	}
	return true
}

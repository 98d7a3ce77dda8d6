package portfiles

import (
	"fmt"
	"io"
	"math"
	"strings"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Show writes a tensor as programs do: all of it when small, else its ends and its distribution.
func Show(w io.Writer, name string, t tensorfile.Tensor) {
	const all, ends = 64, 3
	n := len(t.Data) / t.DType.Size()
	value := func(i int) scalar.Value { return scalar.Decode(t.DType, t.Data[i*t.DType.Size():]) }
	var words []string
	lo, hi, sum := math.Inf(1), math.Inf(-1), 0.0
	for i := range n {
		if v := value(i); n <= all || i < ends || i >= n-ends {
			words = append(words, v.Number())
		} else if i == ends {
			words = append(words, "...")
		}
		f := value(i).Float()
		lo, hi, sum = math.Min(lo, f), math.Max(hi, f), sum+f
	}
	fmt.Fprintf(w, "%s: %v, shape %s\n  %s\n", name, t.DType, strings.ReplaceAll(fmt.Sprint(t.Shape), " ", ", "), strings.Join(words, ", "))
	if n > all {
		fmt.Fprintf(w, "  min %.6g, max %.6g, mean %.6g\n", lo, hi, sum/float64(n))
	}
}

package layouts

import (
	"fmt"

	"tensortapestry.org/tapc/search/runs"
)

// repeated gives each operation a number that those have which are planned alike: operations at the same place of a run of equal parts that follow
// each other, as the layers of a network do. The list is told of the run.
func repeated(steps []step, list *runs.List) (class []int) {
	numbers, alone, kinds := runs.Numbers[string]{}, map[*step]int{}, make([]int, len(steps))
	for i, s := range steps {
		n, ok := alone[s.like]
		if !ok {
			n, _ = numbers.Of(s.op.text())
			alone[s.like] = n
		}
		kinds[i] = n
	}
	of := list.Repeat(kinds)
	class = make([]int, len(steps))
	for i := range class {
		class[i] = i
		if i >= of.From && i < of.From+of.Length {
			class[i] = of.From + (i-of.From)%of.Period
		}
	}
	return class
}

// terms writes what the graph says that an operation takes; "" of known kernels.
func (o *operation) terms() string {
	if o.said == nil {
		return ""
	}
	return fmt.Sprint(*o.said.Said())
}

// text is what of an operation its plans and prices depend on.
func (o *operation) text() string {
	b := fmt.Appendf(nil, "%v %v %s", o.dims, o.work, o.terms())
	for _, a := range o.operands {
		b = fmt.Appendf(b, "%v %v %v %v;", a.out, a.dims, a.halo, a.bytes)
	}
	return string(b)
}

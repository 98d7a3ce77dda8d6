package rows

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/unit"
)

// Write writes the whole kernel.
func (r *Kernel) Write() string {
	if part := r.decided.part; part > 0 {
		return partialOf(r).of(part).write()
	}
	parts := partsOf(r.r)
	for i := range parts {
		name := "cell"
		if len(parts) > 1 {
			r.p.Part, name = &parts[i], fmt.Sprintf("cell%d", i)
		}
		r.decided.jam.functions(r, name, (*Kernel).Cell)
	}
	r.task()
	r.e.Open(r.Text, r.name)
	region(r, r.e.Nanoseconds(r.k, unit.VectorRate*float64(r.p.N)))
	r.Close()
	return r.String()
}

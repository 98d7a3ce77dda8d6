package rows

import (
	"fmt"
	"slices"
)

// with gives a kernel whose cells are jammed so, or one by one.
func (j *jam) with(r *Kernel) *Kernel {
	out := *r
	out.decided.jam = j
	return &out
}

// count is how many cells are jammed: one if none are.
func (j *jam) count() int64 {
	if j == nil {
		return 1
	}
	return j.cells
}

// at writes something at one of the cells that are jammed, in a block of its own.
func (j *jam) at(r *Kernel, cell int64, write func()) {
	if j == nil {
		write()
		return
	}
	axes := r.p.Axes
	defer func() { r.p.Axes = axes }()
	r.p.Axes = slices.Clone(axes)
	a := &r.p.Axes[j.axis]
	a.Variable = fmt.Sprintf("(%s + %d)", a.Variable, cell)
	r.Open("{")
	write()
	r.Close()
}

// each writes something for each of the cells that are jammed, from the first on.
func (j *jam) each(r *Kernel, write func(cell int64)) {
	for c := range j.count() {
		j.at(r, c, func() { write(c) })
	}
}

// rest is how many cells are left behind whole groups of those that are jammed.
func (j *jam) rest(r *Kernel) int64 {
	if j == nil {
		return 0
	}
	return r.Outer[j.axis].Extent % j.cells
}

// functions writes a function for groups of jammed cells, and another, whose name has more to it, for what is left behind those.
func (j *jam) functions(r *Kernel, name string, write func(r *Kernel, name string)) {
	write(r, name)
	if rest := j.rest(r); rest > 0 {
		write((&jam{j.axis, rest}).with(r), name+"_rest")
	}
}

// call writes the call of a function that functions wrote.
func (j *jam) call(r *Kernel, name, arguments string) string {
	text := fmt.Sprintf("%s_%s(%s);", r.name, name, arguments)
	if j.rest(r) == 0 {
		return text
	}
	a := r.Outer[j.axis]
	return fmt.Sprintf("if (%s <= %d) %s else %s_%s_rest(%s);", a.Variable, a.Extent-j.cells, text, r.name, name, arguments)
}

package composite

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir/zspace"
)

// class is one dimension that the index of a definition may have: which dimension of each step it is, -1 for none, and what its points need of each value.
type class struct {
	name   string
	extent int64
	dims   []int
	needs  map[string]need
	why    string // it is no dimension of the index
}

// along follows a dimension of the first output back through the steps. The last output that is not cut along it, or the step that makes a result whole, is the reason why it
// is no dimension of the index.
func (x *deriver) along(first string, t int) class {
	box := x.box(first)
	c := class{name: fmt.Sprintf("%s.%d", x.d.Outputs[0].Port, t), extent: box.End[t] - box.Start[t], dims: slices.Repeat([]int{-1}, len(x.steps)), needs: map[string]need{}}
	if c.extent == 0 {
		c.why = "it is empty"
		return c
	}
	tied := x.tied(first, t)
	given := map[string]bool{}
	for _, o := range x.d.Outputs {
		b := x.box(o.Value)
		at := slices.IndexFunc(tied, func(p place) bool { return p.value == o.Value })
		if at < 0 {
			c.why = fmt.Sprintf("output %s has no such dimension", o.Port)
			return c
		}
		given[o.Value] = true
		c.needs[o.Value] = need{tied[at].dim, 1, b.Start[tied[at].dim], b.Start[tied[at].dim]}
	}
	for i := len(x.steps) - 1; i >= 0; i-- {
		if named := x.back(&c, i, given); named != "" {
			c.name = named
		}
		if c.why != "" {
			return c
		}
	}
	return c
}

// back cuts a step as its results need it, or finds that it is carried out whole, and adds what it needs in turn. It gives the name of the dimension, if the step makes the first output.
func (x *deriver) back(c *class, i int, given map[string]bool) (name string) {
	s, step := &x.steps[i], &x.d.Steps[i]
	d := x.cut(c, i)
	for _, m := range step.Makes {
		if m.Value == x.d.Outputs[0].Value && d >= 0 {
			name = s.names[d]
		}
		if d < 0 && given[m.Value] {
			c.why = fmt.Sprintf("step %d, %s, needs all of it at once", i, step.Kernel)
			if need, ok := c.needs[m.Value]; ok && need.at < 0 {
				c.why = "other steps need all of " + m.Value
			}
			return ""
		}
	}
	c.dims[i] = d
	for j, u := range step.Inputs {
		n := everything
		if d >= 0 {
			n = reads(s.uses[j], d)
		}
		if x.made[u.Value] && !n.exact(x.box(u.Value), c.extent) {
			n = everything
		}
		if before, there := c.needs[u.Value]; there {
			n = before.with(n)
		}
		c.needs[u.Value] = n
	}
	return name
}

// cut gives the dimension of a step that its results are needed along, one for one; -1 if they are not.
func (x *deriver) cut(c *class, i int) int {
	s := &x.steps[i]
	dim, needed := -1, false
	for j, m := range x.d.Steps[i].Makes {
		n, ok := c.needs[m.Value]
		if !ok {
			continue // nobody reads it
		}
		d := dimOf(s.makes[j], n.at)
		if n.at < 0 || d < 0 || needed && d != dim {
			return -1
		}
		dim, needed = d, true
	}
	if !needed || s.index.End[dim] != c.extent {
		return -1
	}
	for j, m := range x.d.Steps[i].Makes { // every result has the dimension, also one that nobody reads
		if n := reads(s.makes[j], dim); !n.exact(x.box(m.Value), c.extent) {
			return -1
		}
	}
	return dim
}

// dimOf gives the dimension of the index that is, alone, a dimension of what a map writes.
func dimOf(m zspace.ProjectionMap, at int) int {
	if at < 0 {
		return -1
	}
	for d, a := range m.AffineMap.Projection[at] {
		if a != 0 {
			return d
		}
	}
	return -1
}

// place is a dimension of a value, or of a step for value "".
type place struct {
	value     string
	step, dim int
}

// tied gives the dimensions of values and steps that are one for one the same as one of a value.
func (x *deriver) tied(value string, dim int) []place {
	links := map[place][]place{}
	for i, s := range x.steps {
		link := func(m zspace.ProjectionMap, value string) {
			for d := range s.index.Start {
				if n := reads(m, d); n.exact(x.box(value), s.index.End[d]) {
					a, b := place{value: value, dim: n.at}, place{step: i, dim: d}
					links[a], links[b] = append(links[a], b), append(links[b], a)
				}
			}
		}
		for j, u := range x.d.Steps[i].Inputs {
			link(s.uses[j], u.Value)
		}
		for j, m := range x.d.Steps[i].Makes {
			link(s.makes[j], m.Value)
		}
	}
	list, seen := []place{{value: value, dim: dim}}, map[place]bool{{value: value, dim: dim}: true}
	for i := 0; i < len(list); i++ {
		for _, to := range links[list[i]] {
			if !seen[to] {
				seen[to], list = true, append(list, to)
			}
		}
	}
	return list
}

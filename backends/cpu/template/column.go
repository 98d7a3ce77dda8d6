package template

import "slices"

// column is a column of a family's table: what slots have that have the same in all rows, as far as rows have them.
type column struct {
	kind   kind
	values []string // by row; "" where no slot has one
}

// columns gives the columns of a family's table, and which of them each slot reads; slots that have the same in all rows are not among them.
func (f *Family) columns() (out []column, of map[slot]int) {
	of = map[slot]int{}
	for t, x := range f.templates {
		for n, k := range x.values {
			p := slot{t, n}
			c := f.column(p, k)
			if c.constant() {
				continue
			}
			i := slices.IndexFunc(out, func(o column) bool { return o.fits(c) })
			if i < 0 {
				i = len(out)
				out = append(out, column{c.kind, make([]string, len(f.rows))})
			}
			out[i].merge(c)
			of[p] = i
		}
	}
	return out, of
}

// column gives what a slot has in each row.
func (f *Family) column(p slot, k kind) column {
	c := column{k, make([]string, len(f.rows))}
	for i, r := range f.rows {
		c.values[i] = r.value(p)
	}
	return c
}

// constant says whether all values are one.
func (c column) constant() bool {
	first := ""
	for _, v := range c.values {
		if v == "" {
			continue
		}
		if first == "" {
			first = v
		}
		if v != first {
			return false
		}
	}
	return true
}

// fits says whether a column has no other value than another where both have one.
func (c column) fits(o column) bool {
	if c.kind != o.kind {
		return false
	}
	for i, v := range c.values {
		if v != "" && o.values[i] != "" && v != o.values[i] {
			return false
		}
	}
	return true
}

func (c column) merge(o column) {
	for i, v := range o.values {
		if v != "" {
			c.values[i] = v
		}
	}
}

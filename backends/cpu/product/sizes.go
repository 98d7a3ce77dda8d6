package product

import "tensortapestry.org/tapc/backends/cnest"

// EachSize does something for the sizes that tiles of a dimension have: whole ones, and what is left at its end.
func EachSize(size, extent int64, do func(size int64)) {
	if extent >= size {
		do(size)
	}
	if rest := extent % size; rest > 0 {
		do(rest)
	}
}

// AtEdge writes something for the size of the tile that begins at a variable: a whole one, or what is left at the end of its dimension.
func AtEdge(t *cnest.Text, variable string, size, extent int64, write func(size int64)) {
	rest := extent % size
	switch {
	case rest == 0:
		write(size)
	case extent < size:
		write(rest)
	default:
		t.Open("if (%s + %d <= %d) {", variable, size, extent)
		write(size)
		t.Else()
		write(rest)
		t.Close()
	}
}

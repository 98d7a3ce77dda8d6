package product

// EachSize does something for the sizes that tiles of a dimension have: whole ones, and what is left at its end.
func EachSize(size, extent int64, do func(size int64)) {
	if extent >= size {
		do(size)
	}
	if rest := extent % size; rest > 0 {
		do(rest)
	}
}

package zspace

import "slices"

// Matrix is an integer matrix by rows: one row per output (tensor) dimension,
// one column per input (index) dimension. Each row must have the same length. A
// matrix without rows has no stated width and fits any number of inputs.
type Matrix [][]int64

// Identity returns the n×n identity matrix.
func Identity(n int) Matrix {
	m := makeMatrix(n, n)
	for i := range m {
		m[i][i] = 1
	}
	return m
}

func makeMatrix(rows, cols int) Matrix {
	buf := make([]int64, rows*cols)
	m := make(Matrix, rows)
	for i := range m {
		m[i] = buf[i*cols : (i+1)*cols : (i+1)*cols]
	}
	return m
}

// Rows is the number of output dimensions.
func (m Matrix) Rows() int { return len(m) }

// Cols is the number of input dimensions: the length of row 0, 0 without rows.
func (m Matrix) Cols() int {
	if len(m) == 0 {
		return 0
	}
	return len(m[0])
}

// Fits reports whether the map takes points of that rank: Cols equals rank, or
// there are no rows.
func (m Matrix) Fits(rank int) bool { return len(m) == 0 || len(m[0]) == rank }

// Validate returns a *[RaggedError] unless all rows have the same length.
func (m Matrix) Validate() error {
	for i, row := range m {
		if len(row) != len(m[0]) {
			return &RaggedError{Row: i, Want: len(m[0]), Got: len(row)}
		}
	}
	return nil
}

// Equal reports whether both matrices have the same rows.
func (m Matrix) Equal(o Matrix) bool {
	return slices.EqualFunc(m, o, func(a, b []int64) bool { return slices.Equal(a, b) })
}

// Clone returns a copy that shares no memory with m and is never nil.
func (m Matrix) Clone() Matrix {
	out := make(Matrix, len(m))
	for i, row := range m {
		out[i] = Point(row).Clone()
	}
	return out
}

// PermuteInput reorders the columns: column j of the result is column perm[j] of
// m. A matrix without rows accepts any permutation.
func (m Matrix) PermuteInput(perm []int) (Matrix, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	cols := m.Cols()
	if len(m) == 0 {
		cols = len(perm)
	}
	if err := checkPerm(perm, cols); err != nil {
		return nil, err
	}
	out := make(Matrix, len(m))
	for i, row := range m {
		out[i] = permuted(row, perm)
	}
	return out, nil
}

// PermuteOutput reorders the rows: row i of the result is row perm[i] of m.
func (m Matrix) PermuteOutput(perm []int) (Matrix, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if err := checkPerm(perm, len(m)); err != nil {
		return nil, err
	}
	return Matrix(permuted(m, perm)).Clone(), nil
}

package zspace

import "fmt"

// MaxParts is the largest number of ranges that a split gives. A larger request
// is an error, so that a number in a file cannot ask for unbounded memory.
const MaxParts = 1 << 22

// Split cuts one dimension (negative dim counts from the end) into chunks of the
// given size, the last one smaller if it must be: ceiling(extent/chunk) parts in
// ascending order that tile r. A chunk not smaller than the extent, so also any
// chunk of an empty dimension, gives r alone. chunk must be positive.
func (r Range) Split(dim int, chunk int64) ([]Range, error) {
	dim, err := r.dim(dim)
	if err != nil {
		return nil, err
	}
	if chunk <= 0 {
		return nil, &SplitError{Dim: dim, Reason: fmt.Sprintf("chunk size %d, expected 1 or more", chunk)}
	}
	extent := r.extent(dim)
	if chunk >= extent {
		return []Range{r.Clone()}, nil
	}
	n := extent / chunk
	if extent%chunk != 0 {
		n++
	}
	if n > MaxParts {
		return nil, tooMany(dim, n)
	}
	sizes := make([]int64, n)
	for i := range sizes {
		sizes[i] = chunk
	}
	sizes[n-1] = extent - chunk*(n-1)
	return r.cut(dim, sizes), nil
}

// SplitSizes cuts one dimension (negative dim counts from the end) into parts of
// the given sizes, in ascending order. All sizes must be positive and their sum
// must be the extent; an empty dimension therefore takes only the empty list,
// and gives no parts.
func (r Range) SplitSizes(dim int, sizes []int64) ([]Range, error) {
	dim, err := r.dim(dim)
	if err != nil {
		return nil, err
	}
	extent, rest := r.extent(dim), r.extent(dim)
	for i, s := range sizes {
		if s <= 0 {
			return nil, &SplitError{Dim: dim, Reason: fmt.Sprintf("size %d of part %d, expected 1 or more", s, i)}
		}
		if s > rest {
			return nil, &SplitError{Dim: dim, Reason: fmt.Sprintf("sizes exceed the extent %d at part %d", extent, i)}
		}
		rest -= s
	}
	if rest != 0 {
		return nil, &SplitError{Dim: dim, Reason: fmt.Sprintf("sizes sum to %d, expected the extent %d", extent-rest, extent)}
	}
	return r.cut(dim, sizes), nil
}

// SplitCount cuts one dimension (negative dim counts from the end) into exactly
// n parts in ascending order whose sizes differ by at most one, larger parts
// first. When n exceeds the extent the last parts are empty. n must be positive.
func (r Range) SplitCount(dim int, n int64) ([]Range, error) {
	dim, err := r.dim(dim)
	if err != nil {
		return nil, err
	}
	sizes, err := evenSizes(dim, r.extent(dim), n)
	if err != nil {
		return nil, err
	}
	return r.cut(dim, sizes), nil
}

// Grid cuts every dimension i into counts[i] parts as [Range.SplitCount] does,
// and gives the blocks in row-major order. There must be one count per
// dimension; a range without dimensions gives itself.
func (r Range) Grid(counts []int64) ([]Range, error) {
	if len(counts) != r.Rank() {
		return nil, &RankError{What: "grid counts", Want: r.Rank(), Got: len(counts)}
	}
	total := int64(1)
	for dim, n := range counts {
		if n <= 0 {
			return nil, &SplitError{Dim: dim, Reason: fmt.Sprintf("count %d, expected 1 or more", n)}
		}
		if n > MaxParts/total {
			return nil, tooMany(dim, n)
		}
		total *= n
	}
	blocks := []Range{r.Clone()}
	for dim, n := range counts {
		sizes, err := evenSizes(dim, r.extent(dim), n)
		if err != nil {
			return nil, err
		}
		next := make([]Range, 0, len(blocks)*len(sizes))
		for _, b := range blocks {
			next = append(next, b.cut(dim, sizes)...)
		}
		blocks = next
	}
	return blocks, nil
}

// evenSizes divides extent into n parts that differ by at most one.
func evenSizes(dim int, extent, n int64) ([]int64, error) {
	if n <= 0 {
		return nil, &SplitError{Dim: dim, Reason: fmt.Sprintf("count %d, expected 1 or more", n)}
	}
	if n > MaxParts {
		return nil, tooMany(dim, n)
	}
	sizes := make([]int64, n)
	for i := range sizes {
		sizes[i] = extent / n
		if int64(i) < extent%n {
			sizes[i]++
		}
	}
	return sizes, nil
}

// cut gives consecutive parts of one dimension. The sizes are not negative and
// sum to the extent. All parts share one allocation, but no two a coordinate.
func (r Range) cut(dim int, sizes []int64) []Range {
	rank := r.Rank()
	buf := make(Point, 0, 2*rank*len(sizes))
	out := make([]Range, len(sizes))
	at := r.Start[dim]
	for i, s := range sizes {
		n := len(buf)
		buf = append(append(buf, r.Start...), r.End...)
		out[i] = Range{Start: buf[n : n+rank : n+rank], End: buf[n+rank : n+2*rank : n+2*rank]}
		out[i].Start[dim] = at
		at += s
		out[i].End[dim] = at
	}
	return out
}

// dim resolves a dimension number that may count from the end.
func (r Range) dim(d int) (int, error) {
	n := r.Rank()
	if d < -n || d >= n {
		return 0, &DimError{Dim: d, Rank: n}
	}
	if d < 0 {
		d += n
	}
	return d, nil
}

func tooMany(dim int, n int64) error {
	return fmt.Errorf("split of dimension %d into %d parts, at most %d: %w", dim, n, MaxParts, ErrTooMany)
}

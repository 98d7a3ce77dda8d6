package zspace

import (
	"errors"
	"fmt"
)

// ErrOverflow is matched (errors.Is) by every error that says that an exact
// result does not fit in an int64.
var ErrOverflow = errors.New("result does not fit in 64 bits")

// ErrEmpty is matched by errors that say that an operation needs a range with at
// least one cell, or a list with at least one range.
var ErrEmpty = errors.New("empty")

// ErrTooMany is matched by errors that say that a result would have more than
// [MaxParts] parts.
var ErrTooMany = errors.New("too many parts")

// RankError says that two things that must have the same number of dimensions
// do not.
type RankError struct {
	What string // what has the wrong rank, for example "index"
	Want int
	Got  int
}

// Error names the thing, and the expected and found number of dimensions.
func (e *RankError) Error() string {
	return fmt.Sprintf("%s: expected %d dimensions, found %d", e.What, e.Want, e.Got)
}

// ExtentError says that a range begins after its end in one dimension.
type ExtentError struct {
	Dim        int
	Start, End int64
}

// Error names the dimension and both bounds.
func (e *ExtentError) Error() string {
	return fmt.Sprintf("dimension %d: start %d is beyond end %d", e.Dim, e.Start, e.End)
}

// NegativeError says that a number that may not be negative is.
type NegativeError struct {
	What  string // "shape", for example
	Dim   int
	Value int64
}

// Error names the position and the value found.
func (e *NegativeError) Error() string {
	return fmt.Sprintf("%s: dimension %d is %d, expected 0 or more", e.What, e.Dim, e.Value)
}

// RaggedError says that a matrix has rows of different length.
type RaggedError struct {
	Row       int // the first row that differs from row 0
	Want, Got int
}

// Error names the row, its length, and the length of row 0.
func (e *RaggedError) Error() string {
	return fmt.Sprintf("matrix row %d has %d entries, expected %d as in row 0", e.Row, e.Got, e.Want)
}

// PermutationError says that a list is not a permutation of 0 … Rank-1.
type PermutationError struct {
	Perm   []int
	Rank   int
	Reason string // which entry is wrong, and how
}

// Error shows the list and what is wrong with it.
func (e *PermutationError) Error() string {
	return fmt.Sprintf("%v is not a permutation of %d dimensions: %s", e.Perm, e.Rank, e.Reason)
}

// DimError says that a dimension number does not exist. Valid numbers are
// -Rank … Rank-1; negative ones count from the end.
type DimError struct {
	Dim, Rank int
}

// Error names the number and the rank.
func (e *DimError) Error() string {
	return fmt.Sprintf("no dimension %d in %d dimensions", e.Dim, e.Rank)
}

// SplitError says that a range cannot be split as asked.
type SplitError struct {
	Dim    int
	Reason string
}

// Error names the dimension and the reason.
func (e *SplitError) Error() string {
	return fmt.Sprintf("split of dimension %d: %s", e.Dim, e.Reason)
}

// ParseError says where a text stops being what was expected.
type ParseError struct {
	Offset int    // byte offset into the text
	Want   string // what was expected there
	Found  string // a short piece of what is there; "end of text" at the end
	Cause  error  // ErrOverflow for a number that does not fit, else nil
}

// Unwrap returns Cause.
func (e *ParseError) Unwrap() error { return e.Cause }

// Error names the offset, what was expected and what was found.
func (e *ParseError) Error() string {
	return fmt.Sprintf("at byte %d: expected %s, found %s", e.Offset, e.Want, e.Found)
}

func overflow(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrOverflow)
}

func emptyError(what string) error { return fmt.Errorf("%s: %w", what, ErrEmpty) }

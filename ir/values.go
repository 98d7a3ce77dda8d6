package ir

import (
	"errors"
	"fmt"

	"tensortapestry.org/tapc/ir/zspace"
)

// Ids of the two stages that come before every constraint, as diagnostics carry them: what is wrong with a file's form, and
// with values that the form allows but that mean nothing.
const (
	StageParse = "parse"
	StageValue = "value"
)

// Codes of the value stage, the same in every form of the IR.
const (
	CodeLengths  = "TAP2201" // start and end, or a matrix and its offset and shape, do not have the same length
	CodeReversed = "TAP2202" // a range starts beyond its end
	CodeTooLarge = "TAP2203" // a number does not fit in 64 bits
	CodeRagged   = "TAP2204" // the rows of a matrix differ in length
	CodeNegative = "TAP2205" // an extent is negative
	CodeMeaning  = "TAP2206" // a word or an expression that means nothing where it stands
)

// ValueProblem turns an error about a range or a map into what a diagnostic of the value stage needs: its code, and what was
// expected and found.
func ValueProblem(err error) (code, expected, found string) {
	var rank *zspace.RankError
	var extent *zspace.ExtentError
	var ragged *zspace.RaggedError
	var negative *zspace.NegativeError
	switch {
	case errors.As(err, &rank):
		return CodeLengths, fmt.Sprintf("%s with %s", rank.What, count(rank.Want, "entry", "entries")), fmt.Sprint(rank.Got)
	case errors.As(err, &extent):
		return CodeReversed, "a start not beyond its end", fmt.Sprintf("%d:%d in dimension %d", extent.Start, extent.End, extent.Dim)
	case errors.As(err, &ragged):
		return CodeRagged, fmt.Sprintf("rows of %s, as row 0", count(ragged.Want, "entry", "entries")),
			fmt.Sprintf("%d in row %d", ragged.Got, ragged.Row)
	case errors.As(err, &negative):
		return CodeNegative, "an extent of 0 or more", fmt.Sprintf("%d in dimension %d", negative.Value, negative.Dim)
	case errors.Is(err, zspace.ErrOverflow):
		return CodeTooLarge, "a number of 64 bits", err.Error()
	}
	return CodeMeaning, "a valid value", err.Error()
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Package permission names what a program may do to numbers besides what its operations say, as sets.
//
// A set only ever allows: a program that makes no use of it is right too. Flags name sets and add up to one; the pass lower writes that
// on the devices of the schedule, and the pass tile gives each kernel the part that it may use. docs/numerics.md says what each
// permission is worth, and in what order numbers are summed without any. This package must not import another of tapc.
package permission

import (
	"fmt"
	"math/bits"
	"strings"
)

// Set is a set of permissions. The zero Set is exact: the values that the operations define, with sums of floats in their fixed order.
type Set uint16

// The permissions, each a set of one.
const (
	Reassociate Set = 1 << iota
	LostNaN
	Reciprocal
	TransformedTiles
	BF16
	TF32
	IntegerSums
	FoldedWeights
)

// Sets that flags name.
const (
	// FastMath is what --fast-math allows: all but rounded operands. Reassociate is part of it, as transformed tiles give up the order
	// of sums already, and a rounding in another order is the least of what the others may do.
	FastMath = Reassociate | LostNaN | Reciprocal | TransformedTiles | IntegerSums | FoldedWeights

	all = FoldedWeights<<1 - 1
)

// Row is a permission with its name and what it allows.
type Row struct {
	Set    Set
	Name   string
	Allows string // one sentence
	Used   string // by what, or that nothing uses it
}

// Table lists the permissions in the order in which sets are written.
var Table = []Row{
	{Reassociate, "reassociate", "Sums of floats may be taken in another order than their tree.", "programs whose schedules ask for that, the pass split"},
	{LostNaN, "lost-nan", "A least or greatest value may be the other of two values if one is NaN, and either of -0 and 0.", "kernels on a CPU"},
	{Reciprocal, "reciprocal", "A quotient may be a product with the reciprocal of a divisor that many numbers share.", "kernels on a CPU"},
	{TransformedTiles, "transformed-tiles", "A convolution may be carried out on transformed tiles (Winograd).", "kernels on a CPU"},
	{BF16, "bf16", "Products of float32 may be computed from operands rounded to bfloat16.", "kernels on a CPU"},
	{TF32, "tf32", "Products of float32 may be computed from operands rounded to 11 bits of significand (TF32).", "nothing yet"},
	{IntegerSums, "integer-sums", "Products of dequantized numbers may be summed as integers.", "the pass simplify"},
	{FoldedWeights, "folded-weights", "Constant factors and terms behind a product may be multiplied into its weights.", "the pass simplify"},
}

// Precisions are the words of --precision, with what each allows.
var Precisions = []struct {
	Word string
	Set  Set
}{{"exact", 0}, {"bf16", BF16}, {"tf32", TF32}}

// Words gives the names of a set's permissions in the order of Table.
func (s Set) Words() []string {
	words := make([]string, 0, bits.OnesCount16(uint16(s)))
	for _, r := range Table {
		if s&r.Set != 0 {
			words = append(words, r.Name)
		}
	}
	return words
}

// String gives the names with commas between; that of the empty set is "".
func (s Set) String() string { return strings.Join(s.Words(), ",") }

// Has says whether all of some permissions are in the set.
func (s Set) Has(some Set) bool { return s&some == some }

// Names gives the names of all permissions.
func Names() []string { return Set(all).Words() }

// Parse reads what String writes, in any order.
func Parse(text string) (Set, error) {
	set := Set(0)
	if text == "" {
		return set, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		one, ok := named(word)
		if !ok {
			return 0, fmt.Errorf("expected permissions with commas between, of %s; found %q", strings.Join(Names(), ", "), word)
		}
		set |= one
	}
	return set, nil
}

func named(word string) (Set, bool) {
	for _, r := range Table {
		if r.Name == word {
			return r.Set, true
		}
	}
	return 0, false
}

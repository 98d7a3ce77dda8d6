// Package dims reads what --dim says of the sizes of dimensions: one size, a list, or a range.
package dims

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir/diag"
)

// Dim is a dimension with several sizes.
type Dim struct {
	Name  string
	Sizes []int64 // ascending, each once
}

// Most bounds how many sizes a range has.
const Most = 1 << 16

// Single reads flags of one size: NAME=8.
func Single(flags []string) (map[string]int64, error) {
	out := map[string]int64{}
	for _, text := range flags {
		i := strings.LastIndexByte(text, '=')
		if i < 1 {
			return nil, diag.Usage("--dim %q: expected NAME=SIZE", text)
		}
		n, err := strconv.ParseInt(text[i+1:], 10, 64)
		if err != nil || n < 0 || text[i+1] == '+' {
			return nil, diag.Usage("--dim %q: expected a size of at least 0", text)
		}
		if _, twice := out[text[:i]]; twice {
			return nil, diag.Usage("--dim %s is given twice", text[:i])
		}
		out[text[:i]] = n
	}
	return out, nil
}

// Split separates flags of one size, which it gives as they are, from those of several: NAME=1,8,32, NAME=1..8, or a list with ranges. The
// syntax of the former is for others to check.
func Split(flags []string) (one []string, several []Dim, err error) {
	for _, text := range flags {
		i := strings.LastIndexByte(text, '=')
		if i < 1 || !strings.ContainsAny(text[i:], ",.") {
			one = append(one, text)
			continue
		}
		d := Dim{Name: text[:i]}
		if slices.ContainsFunc(several, func(o Dim) bool { return o.Name == d.Name }) {
			return nil, nil, diag.Usage("--dim %s is given twice", d.Name)
		}
		if d.Sizes, err = sizes(text, text[i+1:]); err != nil {
			return nil, nil, err
		}
		several = append(several, d)
	}
	for _, d := range several {
		if slices.ContainsFunc(one, func(text string) bool { return strings.HasPrefix(text, d.Name+"=") }) {
			return nil, nil, diag.Usage("--dim %s is given twice", d.Name)
		}
	}
	return one, several, nil
}

// sizes reads a list of sizes and ranges.
func sizes(flag, list string) (out []int64, err error) {
	for _, item := range strings.Split(list, ",") {
		first, last, isRange := strings.Cut(item, "..")
		if !isRange {
			last = first
		}
		low, err := size(flag, first)
		if err != nil {
			return nil, err
		}
		high, err := size(flag, last)
		if err != nil {
			return nil, err
		}
		switch {
		case high < low:
			return nil, diag.Usage("--dim %q: expected a range that ends where it begins or behind, found %d..%d", flag, low, high)
		case high-low >= Most || len(out) >= Most:
			return nil, diag.Usage("--dim %q: expected at most %d sizes", flag, Most)
		}
		for n := low; n <= high; n++ {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	for i := range out[1:] {
		if out[i] == out[i+1] {
			return nil, diag.Usage("--dim %q: the size %d is there twice", flag, out[i])
		}
	}
	return out, nil
}

func size(flag, text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || text[0] == '+' || n == math.MaxInt64 {
		return 0, diag.Usage("--dim %q: expected sizes of at least 0, as 1,8,32 or 1..8, found %q", flag, text)
	}
	return n, nil
}

// Greatest gives flags of one size, and of the greatest of each dimension with several.
func Greatest(one []string, several []Dim) []string {
	out := slices.Clone(one)
	for _, d := range several {
		out = append(out, d.Name+"="+strconv.FormatInt(d.Sizes[len(d.Sizes)-1], 10))
	}
	return out
}

// Combinations gives the sizes of all dimensions together, those of the last the fastest, so that the greatest are last; an error if they
// are more than some number.
func Combinations(several []Dim, most int) ([][]int64, error) {
	all := [][]int64{nil}
	for _, d := range several {
		if len(all)*len(d.Sizes) > most {
			var names []string
			for _, d := range several {
				names = append(names, d.Name+" has "+strconv.Itoa(len(d.Sizes)))
			}
			return nil, diag.Usage("--dim: expected at most %d sizes of all dimensions together, as a program has a version for each: %s", most, strings.Join(names, ", "))
		}
		var next [][]int64
		for _, at := range all {
			for _, n := range d.Sizes {
				next = append(next, append(slices.Clone(at), n))
			}
		}
		all = next
	}
	return all, nil
}

// Spans writes ascending numbers, neighbours as a range.
func Spans(list []int64) string {
	var out []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		text := strconv.FormatInt(list[i], 10)
		if j > i {
			text += ".." + strconv.FormatInt(list[j], 10)
		}
		out = append(out, text)
		i = j + 1
	}
	return strings.Join(out, ", ")
}

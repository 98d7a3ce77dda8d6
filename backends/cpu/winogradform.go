package cpu

import (
	"fmt"
	"math"
	"strings"
)

// winogradForm is F(m×m, 3×3): the results of a tile are resultᵀ((filter·g·filterᵀ) ⊙ (imageᵀ·d·image))result, where g is a filter and
// d the elements under the tile. The matrices come from the points 0, 1, -1 and infinity, for m = 4 also 2 and -2; image and
// result are kept transposed, as they are applied from the left.
type winogradForm struct {
	image  [][]float64 // m+2 by m+2
	filter [][]float64 // m+2 by 3
	result [][]float64 // m by m+2
}

// winogradForms are the forms by m.
var winogradForms = map[int64]winogradForm{
	2: {
		image:  [][]float64{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
		filter: [][]float64{{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}},
		result: [][]float64{{1, 1, 1, 0}, {0, 1, -1, -1}},
	},
	4: {
		image: [][]float64{{4, 0, -5, 0, 1, 0}, {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0},
			{0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}},
		filter: [][]float64{{1. / 4, 0, 0}, {-1. / 6, -1. / 6, -1. / 6}, {-1. / 6, 1. / 6, -1. / 6},
			{1. / 24, 1. / 12, 1. / 6}, {1. / 24, -1. / 12, 1. / 6}, {0, 0, 1}},
		result: [][]float64{{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}},
	},
}

// factor is a multiple of something with a name.
type factor struct {
	times float64
	name  string
}

// transform gives C declarations of the values name(0), name(1) and so on that a matrix makes of some others, and of what rows share:
// sums and differences of two others whose factors differ at most in sign, and the two parts of two rows that differ only in signs.
// Shared values are called like part and a number.
func transform(matrix [][]float64, in []string, part string, name func(int) string) []string {
	var lines []string
	shared := 0
	share := func(terms []factor) string {
		if len(terms) == 1 && terms[0].times == 1 {
			return terms[0].name
		}
		text := fmt.Sprintf("%s%d", part, shared)
		lines = append(lines, text+" = "+sumText(terms))
		shared++
		return text
	}
	rows := byColumns(matrix, in, share)
	for r := 0; r < len(rows); r++ {
		same, other, ok := []factor(nil), []factor(nil), r+1 < len(rows)
		if ok {
			same, other, ok = parts(rows[r], rows[r+1])
		}
		if !ok {
			lines = append(lines, name(r)+" = "+sumText(rows[r]))
			continue
		}
		a, b := share(same), share(other)
		lines = append(lines, name(r)+" = "+a+" + "+b, name(r+1)+" = "+a+" - "+b)
		r++
	}
	return lines
}

// byColumns gives the terms of each row, with sums and differences of neighbouring columns that differ only in signs in their place.
func byColumns(matrix [][]float64, in []string, share func([]factor) string) [][]factor {
	rows := make([][]factor, len(matrix))
	add := func(r int, times float64, name string) {
		if times != 0 {
			rows[r] = append(rows[r], factor{times, name})
		}
	}
	for c := 0; c < len(in); c++ {
		pair := c+1 < len(in)
		for _, row := range matrix {
			pair = pair && math.Abs(row[c]) == math.Abs(row[c+1])
		}
		if !pair {
			for r, row := range matrix {
				add(r, row[c], in[c])
			}
			continue
		}
		sum := share([]factor{{1, in[c]}, {1, in[c+1]}})
		difference := share([]factor{{1, in[c]}, {-1, in[c+1]}})
		for r, row := range matrix {
			if row[c] == row[c+1] {
				add(r, row[c], sum)
			} else {
				add(r, row[c], difference)
			}
		}
		c++
	}
	return rows
}

// parts gives the terms that two rows have alike and those that they have with opposite signs, if both have nothing else and there
// are some of either.
func parts(a, b []factor) (same, opposite []factor, ok bool) {
	if len(a) != len(b) {
		return nil, nil, false
	}
	for i, x := range a {
		switch y := b[i]; {
		case x.name != y.name || math.Abs(x.times) != math.Abs(y.times):
			return nil, nil, false
		case x.times == y.times:
			same = append(same, x)
		default:
			opposite = append(opposite, x)
		}
	}
	return same, opposite, len(same) > 0 && len(opposite) > 0
}

// sumText writes a sum, a term without a sign first if there is one.
func sumText(terms []factor) string {
	var plus, minus strings.Builder
	for _, t := range terms {
		text := t.name
		if x := math.Abs(t.times); x != 1 {
			text = fmt.Sprintf("%.1ff * %s", x, t.name)
		}
		switch {
		case t.times < 0:
			minus.WriteString(" - " + text)
		case plus.Len() > 0:
			plus.WriteString(" + " + text)
		default:
			plus.WriteString(text)
		}
	}
	return strings.TrimPrefix(plus.String()+minus.String(), " ")
}

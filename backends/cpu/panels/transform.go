package panels

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// winogradForm is F(m×m, 3×3): the results of a tile are result·((filter·g·filterᵀ) ⊙ (image·d·imageᵀ))·resultᵀ, where g is a filter
// and d the elements under the tile.
type winogradForm struct {
	Image  [][]float64 // m+2 by m+2
	Filter [][]float64 // m+2 by 3
	Result [][]float64 // m by m+2
}

// WinogradForms are the forms by m. Results of four tiles take five points beside infinity; 0, ±5/8 and ±3/2 give errors with a maximum of a
// quarter of that with 0, ±1 and ±2, which are usual, and all factors of the image and of the results are float32 numbers.
var WinogradForms = map[int64]winogradForm{
	2: formOf(0, 1, -1),
	4: formOf(0, 5./8, -5./8, 3./2, -3./2),
}

// formOf gives the form that comes from the values of polynomials at some points and at infinity (A. Toom and S. Cook's way to
// multiply, transposed).
func formOf(points ...float64) winogradForm {
	n := len(points)
	f := winogradForm{Result: make([][]float64, n-1)}
	for i, p := range points {
		row, at := []float64{1}, 1.0
		for j, q := range points {
			if j != i {
				row, at = timesRoot(row, q), at*(p-q)
			}
		}
		f.Image = append(f.Image, append(row, 0))
		f.Filter = append(f.Filter, []float64{1 / at, p / at, p * p / at})
		for k := range f.Result {
			f.Result[k] = append(f.Result[k], math.Pow(p, float64(k)))
		}
	}
	last := []float64{1}
	for _, q := range points {
		last = timesRoot(last, q)
	}
	f.Image, f.Filter = append(f.Image, last), append(f.Filter, []float64{0, 0, 1})
	for k := range f.Result {
		f.Result[k] = append(f.Result[k], 0)
	}
	f.Result[n-2][n] = 1
	return f
}

// timesRoot multiplies a polynomial, its constant first, with x - root.
func timesRoot(polynomial []float64, root float64) []float64 {
	out := append([]float64{0}, polynomial...)
	for i, c := range polynomial {
		out[i] -= root * c
	}
	return out
}

// factor is a multiple of something with a name.
type factor struct {
	times float64
	name  string
}

// Transform gives C declarations of the values name(0), name(1) and so on that a matrix makes of some others, and of what rows have in common:
// sums and differences of two others whose factors differ at most in sign, and the two parts of two rows that differ only in signs.
// Shared values are called like part and a number.
func Transform(matrix [][]float64, in []string, part string, name func(int) string) []string {
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
		lead := math.Abs(other[len(other)-1].times) // what is left is exact for the forms that there are
		for i := range other {
			other[i].times /= lead
		}
		a, b := factor{1, share(same)}, share(other)
		lines = append(lines, name(r)+" = "+sumText([]factor{a, {lead, b}}), name(r+1)+" = "+sumText([]factor{a, {-lead, b}}))
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
			number := strconv.FormatFloat(x, 'f', -1, 64)
			if !strings.Contains(number, ".") {
				number += ".0"
			}
			text = number + "f * " + t.name
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

package panels

import "math"

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

package panels

import (
	"encoding/binary"
	"io"
	"math"
	"slices"
)

// WinogradFilters says that panels hold filters of 3 by 3 float32 transformed for tiles of size by size results: each group of panels
// has panels for one point of the transformed space behind those of the other. down and across are the steps of a filter's taps.
type WinogradFilters struct {
	Size         int64 // 0: panels hold the elements themselves
	Down, Across int64
}

func (f WinogradFilters) points() int64 { return (f.Size + 2) * (f.Size + 2) }

// packWinograd writes the panels of an array's bytes. Filters are transformed in float64 and rounded once.
func (l Layout) packWinograd(w io.Writer, data []byte) error {
	taps := offsets([]Stride{{3, l.Winograd.Down}, {3, l.Winograd.Across}})
	fold := offsets(l.Reduced)
	everything := offsets(append(slices.Clone(l.Reduced), Stride{3, l.Winograd.Down}, Stride{3, l.Winograd.Across}))
	panel := make([]byte, int64(len(fold))*l.Width*4)
	matrix := WinogradForms[l.Winograd.Size].Filter
	for _, group := range offsets(l.Groups) {
		first := l.Base + group
		if err := l.inside(first*4, everything, l.Columns, data); err != nil {
			return err
		}
		for _, a := range matrix {
			for _, b := range matrix {
				factors, at := tapFactors(a, b, taps)
				for column := int64(0); column < l.Columns; column += l.Width {
					clear(panel)
					live := min(l.Width, l.Columns-column)
					for k, from := range fold {
						for x := range live {
							start, sum := first+from+(column+x)*l.Step, 0.0
							for i, f := range factors {
								sum += f * float64(math.Float32frombits(binary.LittleEndian.Uint32(data[(start+at[i])*4:])))
							}
							binary.LittleEndian.PutUint32(panel[(int64(k)*l.Width+x)*4:], math.Float32bits(float32(sum)))
						}
					}
					if _, err := w.Write(panel); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// tapFactors gives the factors of a filter's taps in the point of two rows of the filters' matrix, and their offsets; none that are 0.
func tapFactors(a, b []float64, taps []int64) (factors []float64, at []int64) {
	for i, x := range a {
		for j, y := range b {
			if x*y != 0 {
				factors, at = append(factors, x*y), append(at, taps[i*3+j])
			}
		}
	}
	return factors, at
}

package cpu

import (
	"encoding/binary"
	"io"
	"math"
	"slices"
)

// winogradFilters says that panels hold filters of 3 by 3 float32 transformed for tiles of size by size results: each group of panels
// has panels for one point of the transformed space behind those of the other. down and across are the steps of a filter's taps.
type winogradFilters struct {
	size         int64 // 0: panels hold the elements themselves
	down, across int64
}

func (f winogradFilters) points() int64 { return (f.size + 2) * (f.size + 2) }

// packWinograd writes the panels of an array's bytes. Filters are transformed in float64 and rounded once.
func (l panelLayout) packWinograd(w io.Writer, data []byte) error {
	taps := offsets([]stride{{3, l.winograd.down}, {3, l.winograd.across}})
	fold := offsets(l.fold)
	everything := offsets(append(slices.Clone(l.fold), stride{3, l.winograd.down}, stride{3, l.winograd.across}))
	panel := make([]byte, int64(len(fold))*l.width*4)
	matrix := winogradForms[l.winograd.size].filter
	for _, group := range offsets(l.groups) {
		first := l.base + group
		if err := l.inside(first*4, everything, l.columns, data); err != nil {
			return err
		}
		for _, a := range matrix {
			for _, b := range matrix {
				factors, at := tapFactors(a, b, taps)
				for column := int64(0); column < l.columns; column += l.width {
					clear(panel)
					live := min(l.width, l.columns-column)
					for k, from := range fold {
						for x := range live {
							start, sum := first+from+(column+x)*l.step, 0.0
							for i, f := range factors {
								sum += f * float64(math.Float32frombits(binary.LittleEndian.Uint32(data[(start+at[i])*4:])))
							}
							binary.LittleEndian.PutUint32(panel[(int64(k)*l.width+x)*4:], math.Float32bits(float32(sum)))
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

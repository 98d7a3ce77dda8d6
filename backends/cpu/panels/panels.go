// Package panels says how constants are laid out in a program: as they are, or in panels for a contraction, whose numbers may be grouped for
// dot products, rounded, or transformed; and it makes them when a program is built. It writes no C; it must not import backends/cpu. Read next:
// panels.go, block.go.
package panels

import (
	"fmt"
	"io"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/zspace"
)

// Stride is one dimension of an array: how many values, and how far apart in elements.
type Stride struct{ Extent, Step int64 }

// Layout says how panels are made from the elements of an array: for each group, panels of some columns; in each, for every
// point of the fold in row-major order, the elements of the panel's columns; zeros where there are no columns.
type Layout struct {
	Size     int   // bytes of an element
	Width    int64 // columns of a panel
	Base     int64 // first element
	Groups   []Stride
	Reduced  []Stride
	Columns  int64
	Step     int64 // from column to column
	Blocked  Blocked
	Winograd WinogradFilters
}

// equal says whether two layouts are the same.
func (l Layout) equal(m Layout) bool {
	return l.Size == m.Size && l.Width == m.Width && l.Base == m.Base && l.Columns == m.Columns && l.Step == m.Step && l.Blocked == m.Blocked &&
		l.Winograd == m.Winograd && slices.Equal(l.Groups, m.Groups) && slices.Equal(l.Reduced, m.Reduced)
}

// InOrder gives the layout of a constant buffer that is not row-major: its elements one by one, in the order in which they stand.
// For those that are, it gives nil.
func InOrder(b *schedule.Buffer) *Layout {
	dims, ok := b.Order()
	if !ok || b.RowMajor() {
		return nil
	}
	l := &Layout{Size: b.Type().Size(), Width: 1, Columns: 1}
	shape := b.Range.Shape()
	from := zspace.RowMajor(shape)
	for _, d := range dims {
		l.Reduced = append(l.Reduced, Stride{shape[d], from[d]})
	}
	return l
}

// Extents is the product of the extents of some dimensions.
func Extents(list []Stride) int64 {
	n := int64(1)
	for _, s := range list {
		n *= s.Extent
	}
	return n
}

// Bytes is the size of all panels.
func (l Layout) Bytes() int64 {
	if l.Blocked.Form != wide {
		return l.groupedBytes()
	}
	n := Extents(l.Groups) * ((l.Columns + l.Width - 1) / l.Width) * Extents(l.Reduced) * l.Width * int64(l.Size)
	if l.Winograd.Size > 0 {
		n *= l.Winograd.points()
	}
	return n
}

// offsets gives the element offsets of the points of some dimensions, in row-major order.
func offsets(list []Stride) []int64 {
	out := []int64{0}
	for _, s := range list {
		next := make([]int64, 0, int64(len(out))*s.Extent)
		for _, at := range out {
			for i := range s.Extent {
				next = append(next, at+i*s.Step)
			}
		}
		out = next
	}
	return out
}

// pack writes the panels of an array's bytes.
func (l Layout) pack(w io.Writer, data []byte) error {
	if l.Blocked.Form != wide {
		return l.packGrouped(w, data)
	}
	if l.Winograd.Size > 0 {
		return l.packWinograd(w, data)
	}
	reduced, size := offsets(l.Reduced), int64(l.Size)
	panel := make([]byte, int64(len(reduced))*l.Width*size)
	return l.eachPanel(w, data, panel, reduced, func(first, live int64) {
		if live < l.Width {
			clear(panel)
		}
		run := int64(1) // columns that are neighbours
		if l.Step == 1 {
			run = live
		}
		for k, at := range reduced {
			for x := int64(0); x < live; x += run {
				copy(panel[(int64(k)*l.Width+x)*size:][:run*size], data[first+(at+x*l.Step)*size:])
			}
		}
	})
}

// eachPanel writes a panel again and again, each time that it is filled with some live columns, of which the first begins at a byte.
func (l Layout) eachPanel(w io.Writer, data, panel []byte, reduced []int64, fill func(first, live int64)) error {
	for _, group := range offsets(l.Groups) {
		for column := int64(0); column < l.Columns; column += l.Width {
			live := min(l.Width, l.Columns-column)
			first := (l.Base + group + column*l.Step) * int64(l.Size)
			if err := l.inside(first, reduced, live, data); err != nil {
				return err
			}
			fill(first, live)
			if _, err := w.Write(panel); err != nil {
				return err
			}
		}
	}
	return nil
}

// inside checks that a panel's elements are in the array.
func (l Layout) inside(first int64, fold []int64, live int64, data []byte) error {
	size := int64(l.Size)
	lo, hi := int64(0), int64(0)
	for _, at := range fold {
		lo, hi = min(lo, at), max(hi, at)
	}
	across := (live - 1) * l.Step
	lo, hi = lo+min(0, across), hi+max(0, across)
	if len(fold) > 0 && (first+lo*size < 0 || first+(hi+1)*size > int64(len(data))) {
		return fmt.Errorf("cpu: panels reach outside their constant of %d bytes", len(data))
	}
	return nil
}

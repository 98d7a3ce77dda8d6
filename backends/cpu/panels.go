package cpu

import (
	"fmt"
	"io"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/zspace"
)

// stride is one dimension of an array: how many values, and how far apart in elements.
type stride struct{ extent, step int64 }

// panelLayout says how panels are made from the elements of an array: for each group, panels of some columns; in each, for every
// point of the fold in row-major order, the elements of the panel's columns; zeros where there are no columns.
type panelLayout struct {
	size     int   // bytes of an element
	width    int64 // columns of a panel
	base     int64 // first element
	groups   []stride
	fold     []stride
	columns  int64
	step     int64 // from column to column
	narrow   narrowLayout
	winograd winogradFilters
}

// equal says whether two layouts are the same.
func (l panelLayout) equal(m panelLayout) bool {
	return l.size == m.size && l.width == m.width && l.base == m.base && l.columns == m.columns && l.step == m.step && l.narrow == m.narrow &&
		l.winograd == m.winograd && slices.Equal(l.groups, m.groups) && slices.Equal(l.fold, m.fold)
}

// inOrder gives the layout of a constant buffer that is not row-major: its elements one by one, in the order in which they stand.
// For those that are, it gives nil.
func inOrder(b *schedule.Buffer) *panelLayout {
	dims, ok := b.Order()
	if !ok || b.RowMajor() {
		return nil
	}
	l := &panelLayout{size: b.Type().Size(), width: 1, columns: 1}
	shape := b.Range.Shape()
	from := zspace.RowMajor(shape)
	for _, d := range dims {
		l.fold = append(l.fold, stride{shape[d], from[d]})
	}
	return l
}

func extents(list []stride) int64 {
	n := int64(1)
	for _, s := range list {
		n *= s.extent
	}
	return n
}

// bytes is the size of all panels.
func (l panelLayout) bytes() int64 {
	if l.narrow.form != wide {
		return l.narrowBytes()
	}
	n := extents(l.groups) * ((l.columns + l.width - 1) / l.width) * extents(l.fold) * l.width * int64(l.size)
	if l.winograd.size > 0 {
		n *= l.winograd.points()
	}
	return n
}

// offsets gives the element offsets of the points of some dimensions, in row-major order.
func offsets(list []stride) []int64 {
	out := []int64{0}
	for _, s := range list {
		next := make([]int64, 0, int64(len(out))*s.extent)
		for _, at := range out {
			for i := range s.extent {
				next = append(next, at+i*s.step)
			}
		}
		out = next
	}
	return out
}

// pack writes the panels of an array's bytes.
func (l panelLayout) pack(w io.Writer, data []byte) error {
	if l.narrow.form != wide {
		return l.packNarrow(w, data)
	}
	if l.winograd.size > 0 {
		return l.packWinograd(w, data)
	}
	width, size := l.width, int64(l.size)
	fold := offsets(l.fold)
	panel := make([]byte, int64(len(fold))*width*size)
	for _, group := range offsets(l.groups) {
		for column := int64(0); column < l.columns; column += width {
			live := min(width, l.columns-column)
			first := (l.base + group + column*l.step) * size
			if err := l.inside(first, fold, live, data); err != nil {
				return err
			}
			if live < width {
				clear(panel)
			}
			for x := range live {
				l.packColumn(panel[x*size:], data, first+x*l.step*size, fold, x, live)
				if l.step == 1 {
					break // the first call has copied all columns
				}
			}
			if _, err := w.Write(panel); err != nil {
				return err
			}
		}
	}
	return nil
}

// packColumn copies one column, or all live ones if they are neighbours.
func (l panelLayout) packColumn(to, data []byte, first int64, fold []int64, x, live int64) {
	size, n := int64(l.size), int64(l.size)
	if l.step == 1 {
		n *= live
	}
	for k, at := range fold {
		from, row := first+at*size, int64(k)*l.width*size
		copy(to[row:row+n], data[from:from+n])
	}
}

// inside checks that a panel's elements are in the array.
func (l panelLayout) inside(first int64, fold []int64, live int64, data []byte) error {
	size := int64(l.size)
	lo, hi := int64(0), int64(0)
	for _, at := range fold {
		lo, hi = min(lo, at), max(hi, at)
	}
	across := (live - 1) * l.step
	lo, hi = lo+min(0, across), hi+max(0, across)
	if len(fold) > 0 && (first+lo*size < 0 || first+(hi+1)*size > int64(len(data))) {
		return fmt.Errorf("cpu: panels reach outside their constant of %d bytes", len(data))
	}
	return nil
}

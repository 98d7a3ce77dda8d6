package layered

const (
	gapSegment = 56 // between segments of a row
	gapLine    = 46 // between rows
)

// Rows lets segments follow each other in rows of a width, as words in lines, and gives the places of their upper left corners and the size
// of all. Segments of a row stand on one middle line. A segment wider than the row has one of its own.
func (l *Layout) Rows(width int) (at []Point, size Point) {
	at = make([]Point, len(l.Segments))
	first, x, y := 0, 0, 0
	finish := func(end int) {
		height := 0
		for i := first; i < end; i++ {
			height = max(height, l.Shapes[l.Segments[i].Shape].Height)
		}
		for i := first; i < end; i++ {
			at[i].Y = y + (height-l.Shapes[l.Segments[i].Shape].Height)/2
		}
		size.Y = y + height
		first, x, y = end, 0, y+height+gapLine
	}
	for i, seg := range l.Segments {
		w := l.Shapes[seg.Shape].Width
		if x > 0 && x+w > width {
			finish(i)
		}
		at[i].X = x
		size.X = max(size.X, x+w)
		x += w + gapSegment
	}
	finish(len(l.Segments))
	return at, size
}

// Width gives the width of rows for which all of them fill a page that is half as wide again as it is high.
func (l *Layout) Width() int {
	widest := 600
	for _, seg := range l.Segments {
		widest = max(widest, l.Shapes[seg.Shape].Width)
	}
	best, least := widest, 0
	for width := widest; width < widest*16; width += width / 6 {
		_, size := l.Rows(width)
		if page := max(2*size.X, 3*size.Y); least == 0 || page < least {
			best, least = width, page
		}
	}
	return best
}

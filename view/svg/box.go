package svg

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/view/figure"
)

// The colours of the paper's figures.
const (
	tensorFill   = "#d0d0ff"
	sourceFill   = "#e5e8e8"
	selectorFill = "#a0d0d0"
	kernelFill   = "#d0ffd0"
	matrixFill   = "#ffffd0"
	sequenceFill = "#b4f8c8"
	prunedFill   = "#d3d3d3"
)

// Palette has the colours of operations, by class; classes beyond its end begin anew.
var Palette = []string{"#f6b26b", "#93c47d", "#76a5e8", "#b4a0e6", "#e08fb3", "#6fc3c9", "#d9c35a", "#c79a7b", "#9fb0c3", "#8fce9b"}

// colour is the fill of an item.
func colour(it *figure.Item) string {
	switch {
	case it.Has(figure.Pruned):
		return prunedFill
	case it.Kind == figure.Tensor || it.Kind == figure.Buffer:
		return tensorFill
	case it.Kind == figure.Selector:
		return selectorFill
	case it.Kind == figure.Sequence:
		return sequenceFill
	case it.Kind == figure.Note:
		return "#ffffff"
	case it.Color >= 0 && (it.Kind == figure.Operation || it.Kind == figure.Kernel):
		return Palette[it.Color%len(Palette)]
	}
	return sourceFill
}

// box draws an item: its shape, its words, the parts that it is cut into, and its matrices.
func (p *picture) box(it *figure.Item, x, y, w, h int) {
	var words strings.Builder
	fmt.Fprintf(&words, "%s %s", it.Kind, it.Title)
	for _, f := range it.Facts {
		fmt.Fprintf(&words, "\n%s: %s", f.Name, f.Value)
	}
	p.printf(`<g><title>%s</title>`, escapeLines(words.String()))
	inner := w
	if it.Has(figure.Observed) {
		inner = w - 26
		cx, cy := x+w-11, y+h/2
		p.printf(`<circle class="o" cx="%d" cy="%d" r="10"/><circle class="o" cx="%d" cy="%d" r="7"/>`, cx, cy, cx, cy)
	}
	p.outline(it, x, y, inner, h)
	top := y + padY
	for i, l := range Lines(it) {
		kind, step, down := "s", lineStep, 11
		if i == 0 {
			kind = "t"
		}
		if Small(it) {
			kind, step, down = "s", smallStep, 5
		}
		p.printf(`<text class="%s" x="%d" y="%d" text-anchor="middle">%s</text>`, kind, x+(inner-tip(it))/2, top+down, escape(l))
		top += step
	}
	if Cells(it) {
		p.cells(it, x+(inner-tip(it)-cellsWide)/2, top+3)
		top += cellsHigh + padY
	}
	for _, m := range it.Matrices {
		p.matrix(m, x+padX, top)
		top += sizeOf(m).Y
	}
	p.out.WriteString("</g>\n")
}

// tip is how much of the width of a box its point takes.
func tip(it *figure.Item) int {
	switch it.Kind {
	case figure.Operation:
		return 12
	case figure.Source, figure.Sink, figure.Constant:
		return 7
	}
	return 0
}

// escapeLines is escape for a text of several lines.
func escapeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = escape(l)
	}
	return strings.Join(lines, "\n")
}

// outline draws the shape of an item's kind.
func (p *picture) outline(it *figure.Item, x, y, w, h int) {
	fill := colour(it)
	path := func(format string, args ...any) {
		p.printf(`<path class="b" fill="%s" d="%s"/>`, fill, fmt.Sprintf(format, args...))
	}
	switch it.Kind {
	case figure.Tensor, figure.Buffer: // a box with depth
		path("M%d %dl4 -4h%dv%dl-4 4h-%dz", x, y+4, w-4, h-4, w-4)
		p.printf(`<path class="b" fill="none" d="M%d %dh%dv%dm0 -%dl4 -4"/>`, x, y+4, w-4, h-4, h-4)
	case figure.Source, figure.Sink, figure.Constant: // a tag with a point
		path("M%d %dh%dl7 %dl-7 %dh-%dz", x, y, w-7, h/2, h-h/2, w-7)
	case figure.Operation: // an arrow
		path("M%d %dh%dv-4l12 %dl-12 %dv-4h-%dz", x, y+4, w-12, h/2, h-h/2, w-12)
	case figure.Selector, figure.Transfer: // a parallelogram
		path("M%d %dh%dl-8 %dh-%dz", x+8, y, w-8, h, w-8)
	case figure.Kernel, figure.Sequence: // a box with cut corners
		path("M%d %dh%dl6 6v%dl-6 6h-%dl-6 -6v-%dz", x+6, y, w-12, h-12, w-12, h-12)
	default:
		p.printf(`<rect class="b" fill="%s" x="%d" y="%d" width="%d" height="%d"/>`, fill, x, y, w, h)
	}
	if it.Has(figure.Pruned) {
		p.printf(`<text class="s" x="%d" y="%d" text-anchor="middle">pruned</text>`, x+w/2, y+h-5)
	}
}

// CutDims gives the two dimensions along which parts differ most, the first of them down and the second across; -1 for none.
func CutDims(it *figure.Item) (down, across int) {
	down, across = -1, -1
	for d := range it.Whole.Start {
		cut := false
		for _, part := range it.Parts {
			if d < len(part.Range.Start) && (part.Range.Start[d] != it.Whole.Start[d] || part.Range.End[d] != it.Whole.End[d]) {
				cut = true
				break
			}
		}
		switch {
		case cut && down < 0:
			down = d
		case cut && across < 0:
			across = d
		}
	}
	if down > 0 && across < 0 {
		down, across = across, down // what is cut along the last dimension alone lies side by side
	}
	return down, across
}

// span is where a part lies along a dimension, in pixels of so many.
func span(whole, part zspace.Range, d, pixels int) (from, to int) {
	if d < 0 || d >= len(part.Start) {
		return 0, pixels
	}
	n := whole.End[d] - whole.Start[d]
	if n <= 0 {
		return 0, pixels
	}
	at := func(c int64) int { return int(float64(c-whole.Start[d]) / float64(n) * float64(pixels)) }
	from, to = max(0, at(part.Start[d])), min(pixels, at(part.End[d]))
	return from, max(to, min(from+1, pixels))
}

// mostCells is how many parts a picture shows.
const mostCells = 256

// cells draws the parts of a tensor or an index to scale: shards in the colour of their operation, each a little darker than the one before.
func (p *picture) cells(it *figure.Item, x, y int) {
	p.printf(`<rect fill="#fff" stroke="#39434f" x="%d" y="%d" width="%d" height="%d"/>`, x, y, cellsWide, cellsHigh)
	down, across := CutDims(it)
	parts := it.Parts[:min(len(it.Parts), mostCells)]
	for i, part := range parts {
		top, bottom := span(it.Whole, part.Range, down, cellsHigh)
		left, right := span(it.Whole, part.Range, across, cellsWide)
		opacity := 90
		if len(parts) > 1 {
			opacity = 35 + 60*(i%8)/8
		}
		p.printf(`<rect class="c" fill="%s" fill-opacity=".%02d" x="%d" y="%d" width="%d" height="%d"/>`, Palette[max(part.Color, 0)%len(Palette)], opacity, x+left, y+top, right-left, bottom-top)
	}
}

// matrix draws a projection: its name, the matrix in brackets, the offset behind a plus and the shape behind a colon.
func (p *picture) matrix(m figure.Matrix, x, y int) {
	size, step := sizeOf(m), digits(m)
	p.printf(`<rect fill="%s" stroke="#b3a04a" x="%d" y="%d" width="%d" height="%d"/><text class="s" x="%d" y="%d">%s</text>`, matrixFill, x-4, y, size.X+8, size.Y-2, x, y+11, escape(m.Name))
	top := y + lineStep
	left := x
	column := func(values [][]int64, wide int) {
		height := max(1, len(values)) * 12
		p.printf(`<path class="o" d="M%d %dh-3v%dh3M%d %dh3v%dh-3"/>`, left+3, top, height, left+wide+3, top, height)
		for r, row := range values {
			for c, v := range row {
				p.printf(`<text class="m" x="%d" y="%d" text-anchor="end">%d</text>`, left+(c+1)*step, top+r*12+10, v)
			}
		}
		left += wide + 10
	}
	wide := 0
	for _, r := range m.Rows {
		wide = max(wide, len(r)*step)
	}
	column(m.Rows, wide)
	p.printf(`<text class="m" x="%d" y="%d">+</text>`, left, top+10)
	left += 9
	column(upright(m.Offset), step)
	p.printf(`<text class="m" x="%d" y="%d">:</text>`, left-2, top+10)
	left += 6
	column(upright(m.Shape), step)
}

// upright is a vector as a matrix of one column.
func upright(v []int64) (rows [][]int64) {
	for _, x := range v {
		rows = append(rows, []int64{x})
	}
	return rows
}

// Package svg draws figures as SVG: the same bytes for the same graph, without Graphviz or any other program.
//
// Shapes and colours are those of the figures of the Tapestry paper: tensors are lavender boxes with depth, what brings them in or takes them
// out is a tag with a point, operations are arrows, what only moves cells is a parallelogram, kernels are boxes with cut corners, and signatures
// are pale yellow components with matrices; what is observed has two circles, what is pruned is grey. Boxes have the sizes that Measure gives,
// which view/page uses too. It must not know a dialect. Read next: boxes.go, then svg.go.
package svg

import (
	"hash/fnv"
	"strconv"
	"unicode/utf8"

	"tensortapestry.org/tapc/view/figure"
	"tensortapestry.org/tapc/view/layered"
)

// What text takes, in pixels: characters of the fixed width that is asked for, with room for fonts that are a little wider.
const (
	charWidth = 7
	lineStep  = 15
	padX      = 14
	padY      = 7
	longest   = 30 // characters of a line; longer ones lose their middle
	smallChar = 6  // and what constants take, which are drawn smaller
	smallStep = 12
	shortest  = 22
	cellsHigh = 34 // of the picture of parts
	cellsWide = 84
)

// clip shortens a line in the middle to so many characters.
func clip(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	r := []rune(s)
	return string(r[:most/2-1]) + "…" + string(r[len(r)-most/2:])
}

// Small says whether a box is drawn smaller than others.
func Small(it *figure.Item) bool { return it.Kind == figure.Constant }

// Lines gives the lines of a box: its title, and what is below.
func Lines(it *figure.Item) []string {
	most := longest
	if Small(it) {
		most = shortest
	}
	lines := []string{clip(it.Title, most)}
	for _, l := range it.Lines {
		lines = append(lines, clip(l, most))
	}
	return lines
}

// Brief is what a reference to a box says.
func Brief(it *figure.Item) string { return clip(it.Title, shortest) }

// Cells says whether a box shows the parts that it is cut into.
func Cells(it *figure.Item) bool {
	return len(it.Parts) > 0 && len(it.Whole.Start) > 0 && !it.Whole.Empty()
}

// Measure gives the box of an item to a layout.
func Measure(it *figure.Item) layered.Box {
	lines := Lines(it)
	widest := 0
	for _, l := range lines {
		widest = max(widest, utf8.RuneCountInString(l))
	}
	b := layered.Box{Width: widest*charWidth + 2*padX, Height: len(lines)*lineStep + 2*padY, Brief: utf8.RuneCountInString(Brief(it))*smallChar + 18, Class: class(it)}
	if Small(it) {
		b.Width, b.Height, b.Late = widest*smallChar+padX+8, len(lines)*smallStep+6, true
	}
	if Cells(it) {
		b.Width, b.Height = max(b.Width, cellsWide+2*padX), b.Height+cellsHigh+padY
	}
	for _, m := range it.Matrices {
		s := sizeOf(m)
		b.Width, b.Height = max(b.Width, s.X+2*padX+8), b.Height+s.Y
	}
	if it.Has(figure.Observed) {
		b.Width += 26
	}
	if it.Has(figure.Pruned) {
		b.Width, b.Height = max(b.Width, 6*smallChar+2*padX), b.Height+smallStep
	}
	switch it.Kind {
	case figure.Tensor, figure.Buffer, figure.Constant, figure.Source, figure.Sink:
	default:
		b.Apart = 3
	}
	return b
}

// class is equal for boxes that look alike but for names.
func class(it *figure.Item) uint64 {
	h := fnv.New64a()
	put := func(words ...string) {
		for _, w := range words {
			h.Write([]byte(w))
			h.Write([]byte{0})
		}
	}
	put(string(it.Kind), strconv.Itoa(it.Color), strconv.Itoa(int(it.Marks)), strconv.Itoa(len(it.Parts)), it.Whole.Text())
	if len(it.Lines) > 0 && (it.Kind == figure.Tensor || it.Kind == figure.Constant || it.Kind == figure.Buffer || it.Kind == figure.Kernel) {
		put(it.Lines...)
	} else {
		put(it.Title)
	}
	for _, f := range it.Facts {
		if f.Name == "parameters" || f.Name == "loops" {
			put(f.Value)
		}
	}
	return h.Sum64()
}

// Measured gives a figure to a layout.
func Measured(f *figure.Figure) *layered.Graph {
	g := &layered.Graph{}
	for i := range f.Items {
		g.Boxes = append(g.Boxes, Measure(&f.Items[i]))
	}
	for _, j := range f.Joins {
		g.Edges = append(g.Edges, layered.Edge{From: j.From, To: j.To})
	}
	return g
}

// sizeOf is the size of the picture of a matrix, with its name above.
func sizeOf(m figure.Matrix) layered.Point {
	rows := max(1, len(m.Rows))
	return layered.Point{X: max(utf8.RuneCountInString(m.Name)*charWidth, matrixWidth(m)), Y: rows*12 + lineStep + 4}
}

// matrixWidth is that of the numbers of a matrix, with brackets, and of the offset and the shape beside it.
func matrixWidth(m figure.Matrix) int {
	w := 0
	for _, row := range m.Rows {
		w = max(w, len(row)*digits(m))
	}
	return w + 2*digits(m) + 40
}

// digits is the width of the longest number.
func digits(m figure.Matrix) int {
	n := 1
	count := func(list []int64) {
		for _, x := range list {
			n = max(n, len(strconv.FormatInt(x, 10)))
		}
	}
	for _, r := range m.Rows {
		count(r)
	}
	count(m.Offset)
	count(m.Shape)
	return n*6 + 6
}

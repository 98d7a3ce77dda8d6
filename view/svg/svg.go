package svg

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"tensortapestry.org/tapc/view/figure"
	"tensortapestry.org/tapc/view/layered"
)

const margin = 24

// Write draws a figure. The error is the writer's.
func Write(w io.Writer, f *figure.Figure) error {
	l := layered.Of(Measured(f))
	at, size := l.Rows(l.Width())
	p := &picture{figure: f, layout: l, at: at}
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="%[3]s">`+"\n",
		size.X+2*margin, size.Y+2*margin+lineStep, escape(f.Name))
	p.printf("<title>%s</title>\n<style>%s</style>\n", escape(f.Name), style)
	p.printf(`<rect class="page" width="%d" height="%d"/>`+"\n<g transform=\"translate(%d %d)\">\n", size.X+2*margin, size.Y+2*margin+lineStep, margin, margin)
	p.draw()
	p.out.WriteString("</g>\n</svg>\n")
	_, err := w.Write(p.out.Bytes())
	return err
}

const style = `text{font:12px "DejaVu Sans Mono",Menlo,Consolas,monospace;fill:#16202c}` +
	`.page{fill:#fff}.t{font-weight:bold}.s{font-size:10px;fill:#4a5563}.m{font-size:10px}` +
	`.e{fill:none;stroke:#5d6b7a;stroke-width:1.3}.h{fill:#5d6b7a}.b{stroke:#39434f;stroke-width:1}.f{fill:none;stroke:#b3a04a;stroke-dasharray:5 4}` +
	`.r{fill:#fff;stroke:#8b97a5;stroke-dasharray:3 2}.o{fill:none;stroke:#16202c;stroke-width:1.3}.c{stroke:#fff;stroke-width:.6}`

// picture is a drawing in the making.
type picture struct {
	out    bytes.Buffer
	figure *figure.Figure
	layout *layered.Layout
	at     []layered.Point // of segments
}

func (p *picture) printf(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// escape writes a text for SVG; what no file of it may hold becomes a question mark.
func escape(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0xfffe && r <= 0xffff {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return escapes.Replace(s)
}

// draw writes all segments: lines below boxes.
func (p *picture) draw() {
	p.continuations()
	for i := range p.layout.Segments {
		p.segment(i)
	}
}

// boxOf gives the box of the figure that a number in a shape stands for.
func boxOf(s *layered.Segment, i int) int {
	if i < len(s.Boxes) {
		return s.Boxes[i]
	}
	return s.Refs[i-len(s.Boxes)]
}

func (p *picture) segment(number int) {
	s := &p.layout.Segments[number]
	shape, at := p.layout.Shapes[s.Shape], p.at[number]
	if s.Block.Instances > 0 {
		p.frame(s, shape, at)
	}
	for _, line := range shape.Lines {
		p.line(line, at)
	}
	for i := range shape.At {
		x, y, w, h := at.X+shape.At[i].X, at.Y+shape.At[i].Y, shape.Size[i].X, shape.Size[i].Y
		if i < len(s.Boxes) {
			p.box(&p.figure.Items[s.Boxes[i]], x, y, w, h)
		} else {
			p.reference(&p.figure.Items[boxOf(s, i)], x, y, w, h)
		}
	}
}

// frame is drawn around an instance of a block, with which of how many it is.
func (p *picture) frame(s *layered.Segment, shape *layered.Shape, at layered.Point) {
	b := s.Block
	words := fmt.Sprintf("block %d: %d of %d", b.Number, b.Instance+1, b.Instances)
	if b.Pieces > 1 {
		words += fmt.Sprintf(", part %d of %d", b.Piece+1, b.Pieces)
	}
	p.printf(`<rect class="f" x="%d" y="%d" width="%d" height="%d" rx="6"/><text class="s" x="%d" y="%d">%s</text>`+"\n",
		at.X-12, at.Y-10, shape.Width+24, shape.Height+20, at.X-6, at.Y+shape.Height+20, words)
}

// line draws an edge as curves between its places, with an arrowhead at its end.
func (p *picture) line(l layered.Line, at layered.Point) {
	pts := l.Points
	var d strings.Builder
	fmt.Fprintf(&d, "M%d %d", at.X+pts[0].X, at.Y+pts[0].Y)
	for i := 1; i < len(pts); i++ {
		a, b := pts[i-1], pts[i]
		if a.Y == b.Y {
			fmt.Fprintf(&d, "H%d", at.X+b.X)
			continue
		}
		middle := (a.X + b.X) / 2
		fmt.Fprintf(&d, "C%d %d %d %d %d %d", at.X+middle, at.Y+a.Y, at.X+middle, at.Y+b.Y, at.X+b.X, at.Y+b.Y)
	}
	end := pts[len(pts)-1]
	p.printf(`<path class="e" d="%s"/><path class="h" d="M%d %dl-6 -3.5v7z"/>`+"\n", d.String(), at.X+end.X, at.Y+end.Y)
}

// continuations join a segment to the one before it in a row: from a box there to the reference to it.
func (p *picture) continuations() {
	for i := 1; i < len(p.layout.Segments); i++ {
		s, before := &p.layout.Segments[i], &p.layout.Segments[i-1]
		if p.at[i].X == 0 {
			continue
		}
		last := map[int]int{}
		for k, box := range before.Boxes {
			last[box] = k
		}
		from, to := p.layout.Shapes[before.Shape], p.layout.Shapes[s.Shape]
		for r, ref := range s.Refs {
			k, ok := last[ref]
			if !ok || from.At[k].X+from.Size[k].X < from.Width-4 || to.At[len(s.Boxes)+r].X > 4 {
				continue
			}
			a := layered.Point{X: p.at[i-1].X + from.At[k].X + from.Size[k].X, Y: p.at[i-1].Y + from.At[k].Y + from.Size[k].Y/2}
			g := to.At[len(s.Boxes)+r]
			b := layered.Point{X: p.at[i].X + g.X, Y: p.at[i].Y + g.Y + layered.RefHeight/2}
			p.line(layered.Line{Points: []layered.Point{a, b}}, layered.Point{})
		}
	}
}

// reference draws the small box that stands for one elsewhere.
func (p *picture) reference(it *figure.Item, x, y, w, h int) {
	p.printf(`<g><title>%s</title><rect class="r" x="%d" y="%d" width="%d" height="%d" rx="%d"/><text class="s" x="%d" y="%d" text-anchor="middle">%s</text></g>`+"\n",
		escape(it.Title), x, y, w, h, h/2, x+w/2, y+h/2+4, escape(Brief(it)))
}

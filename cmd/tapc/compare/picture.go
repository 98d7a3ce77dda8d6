package compare

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// Sizes of the picture, in pixels.
const (
	pictureWidth = 720
	barLeft      = 230
	barRight     = 600
	barHeight    = 20
	rowHeight    = 28
)

// The colours of tapc's program and of the other side.
var sideColours = [2]string{"#2b6cb0", "#c05621"}

// picture is an SVG that is being drawn from top to bottom.
type picture struct {
	strings.Builder
	y int
}

// WritePicture draws the report as SVG: bars for speed, time to start and memory, with whiskers where they lie with a confidence of 95 %, and the error
// of each tensor on a logarithmic scale.
func (r *Report) WritePicture(to io.Writer) error {
	p := &picture{y: 30}
	p.text(20, "title", "start", shortened(r.Model, 60))
	p.y += 22
	p.text(20, "small", "start", shortened(r.Ours+" against "+r.Against, 90))
	titles := [2]string{r.Ours, r.Against}
	for _, x := range []struct {
		name string
		c    *Contest
	}{{"milliseconds of a run", r.Speed}, {"milliseconds of a process that runs once", r.Startup}} {
		if x.c != nil {
			p.bars(x.name, titles, [2]Interval{x.c.Ours, x.c.Against})
			p.y += 20
			p.text(barLeft, "small", "start", fmt.Sprintf("ratio %v, of tapc's program to itself %v", x.c.Ratio, x.c.Same[0]))
		}
	}
	if m := r.Memory; m != nil && m.Ours > 0 && m.Against > 0 {
		a, b := float64(m.Ours)/(1<<20), float64(m.Against)/(1<<20)
		p.bars("MiB of memory at most", titles, [2]Interval{{a, a, a}, {b, b, b}})
	}
	p.errors("error of outputs, relative to scale", r.Values.Outputs, r.Values.Tolerance)
	if len(r.Values.Inside) > 0 {
		p.errors("error of tensors inside, in the order of the graph", r.Values.Inside, r.Values.Tolerance)
	}
	_, err := fmt.Fprintf(to, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d">
<style>text{font:13px sans-serif;fill:#1a202c}.title{font-size:18px;font-weight:bold}.head{font-weight:bold}.small{font-size:12px;fill:#4a5568}</style>
<rect width="100%%" height="100%%" fill="#fff"/>
%s</svg>
`, pictureWidth, p.y+30, p.String())
	return err
}

func (p *picture) text(x int, class, anchor, s string) {
	fmt.Fprintf(p, "<text x=\"%d\" y=\"%d\" class=\"%s\" text-anchor=\"%s\">%s</text>\n", x, p.y, class, anchor, html.EscapeString(s))
}

func (p *picture) head(s string) {
	p.y += 40
	p.text(20, "head", "start", s)
	p.y += 10
}

// bars draws one bar for each side.
func (p *picture) bars(name string, titles [2]string, values [2]Interval) {
	p.head(name)
	most := max(values[0].High, values[1].High)
	at := func(v float64) float64 { return barLeft + v/most*(barRight-barLeft) }
	for i, v := range values {
		fmt.Fprintf(p, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", barLeft, p.y, at(v.Median)-barLeft, barHeight, sideColours[i])
		if v.Low < v.High {
			middle := p.y + barHeight/2
			fmt.Fprintf(p, "<path d=\"M%.1f %dH%.1fM%.1f %dv10M%.1f %dv10\" stroke=\"#1a202c\" stroke-width=\"1.5\"/>\n", at(v.Low), middle, at(v.High),
				at(v.Low), middle-5, at(v.High), middle-5)
		}
		p.y += barHeight - 5
		p.text(barLeft-10, "small", "end", shortened(titles[i], 30))
		p.text(barRight+10, "small", "start", fmt.Sprintf("%.4g", v.Median))
		p.y += rowHeight - barHeight + 5
	}
	p.y -= 14
}

// The scale of errors: from 1e-9 at the bottom to 1.
const (
	errorDecades = 9
	errorHeight  = 90
	namedErrors  = 8 // tensors up to which each has its name under its bar
)

// errors draws a thin bar for each tensor, and a line at the tolerance.
func (p *picture) errors(name string, list []Agreement, tolerance float64) {
	p.head(name)
	bottom, width := p.y+errorHeight, float64(barRight-60)/float64(max(1, len(list)))
	height := func(e float64) float64 {
		if e <= 0 {
			return 0
		}
		return max(1, min(1, (math.Log10(e)+errorDecades)/errorDecades)*errorHeight)
	}
	for decade := -errorDecades; decade <= 0; decade += 3 {
		y := float64(bottom) - height(math.Pow10(decade))
		fmt.Fprintf(p, "<path d=\"M60 %.1fH%d\" stroke=\"#e2e8f0\"/><text x=\"54\" y=\"%.1f\" class=\"small\" text-anchor=\"end\">1e%d</text>\n", y, barRight, y+4, decade)
	}
	for i, a := range list {
		colour, h := sideColours[0], height(a.Scaled)
		if a.Parts {
			colour = "#c53030"
		}
		if a.Fault != "" {
			h = errorHeight
		}
		fmt.Fprintf(p, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\"><title>%s</title></rect>\n", 60+float64(i)*width, float64(bottom)-h,
			max(0.5, min(width*0.8, 40)), h, colour, html.EscapeString(fmt.Sprintf("%s: %.3g", a.Name, a.Scaled)))
		if len(list) <= namedErrors {
			p.below(60+int(float64(i)*width), bottom, int(width), a)
		}
	}
	y := float64(bottom) - height(tolerance)
	fmt.Fprintf(p, "<path d=\"M60 %.1fH%d\" stroke=\"#c53030\" stroke-dasharray=\"4 3\"/><text x=\"%d\" y=\"%.1f\" class=\"small\">tolerance</text>\n", y, barRight, barRight+10, y+4)
	p.y = bottom
	if len(list) <= namedErrors {
		p.y += 16
	}
}

// below writes the name of a tensor under its bar or, for one without errors, where it would be.
func (p *picture) below(left, bottom, width int, a Agreement) {
	p.y = bottom + 16
	p.text(left, "small", "start", shortened(a.Name, max(3, width/8)))
	if a.Scaled <= 0 && a.Fault == "" {
		p.y = bottom - 4
		p.text(left, "small", "start", "exact")
	}
}

func shortened(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

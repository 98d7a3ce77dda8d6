// Package page writes a page for a browser, in one file that needs no network: a program's graph at every stage, the text of its kernels, when
// they run, and what is in memory meanwhile.
//
// What is drawn is laid out here, by view/layered, and is data in the page; the scripts in assets/ draw it on a canvas and write it as text. They are
// plain, without libraries and without a build step. It must not compile anything. Read next: data.go, then assets/view.js.
package page

import (
	"embed"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/view/figure"
)

//go:embed assets
var assets embed.FS

// scripts are the parts of the program in the page, in order.
var scripts = []string{"state.js", "overlays.js", "draw.js", "words.js", "charts.js", "plot.js", "view.js"}

// Page is what a page shows: one program, or several side by side.
type Page struct {
	Title    string
	Version  string
	Stages   []*figure.Figure // with a column for each program, if there are several
	Programs []Program
	Machine  string          // that prices are for; "" for none
	Plans    json.RawMessage // points of a frontier, nil for none
}

// Program is what a page knows of a program beside its figures.
type Program struct {
	File   string         // that the graph was read from
	Lines  map[int]string // of the file that boxes come from, if it is a text
	Code   []Code
	Steps  []Step
	Blocks []Block
}

// Code is the text of a kernel, as its back end writes it.
type Code struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Step is a kernel or transfer of a schedule, in the order in which they run.
type Step struct {
	Node     ir.NodeID `json:"-"`
	Name     string    `json:"name"`
	Device   string    `json:"device"`
	Start    float64   `json:"start"` // seconds; steps where there is no machine
	Time     float64   `json:"time"`
	Price    *Price    `json:"price,omitempty"`
	Measured float64   `json:"measured,omitempty"` // seconds; 0 where nobody measured
}

// Price is what a kernel is thought to take, in seconds.
type Price struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Roof  float64 `json:"roof"`
	Bound string  `json:"bound"`
	Form  string  `json:"form"`
	Work  float64 `json:"operations"`
	Bytes float64 `json:"bytes"`
	Terms []Term  `json:"terms"`
}

// Term is a part of a price.
type Term struct {
	What string  `json:"what"`
	Time float64 `json:"time"`
}

// Block is a buffer of the arena: where it is, and from which step to which.
type Block struct {
	Node   ir.NodeID `json:"-"`
	Name   string    `json:"name"`
	Device string    `json:"device"`
	Offset int64     `json:"offset"`
	Bytes  int64     `json:"bytes"`
	First  int64     `json:"first"`
	Last   int64     `json:"last"`
}

// Write writes a page. The error is the writer's, or that of a file that is no part of the program.
func Write(w io.Writer, p *Page) error {
	text := func(name string) string {
		data, err := assets.ReadFile("assets/" + name)
		if err != nil {
			panic(err) // not embedded: any test shows it
		}
		return string(data)
	}
	data, err := json.Marshal(encode(p))
	if err != nil {
		return err
	}
	var code strings.Builder
	for _, name := range scripts {
		code.WriteString(text(name))
	}
	page := strings.NewReplacer("{{title}}", html.EscapeString(p.Title), "{{style}}", text("style.css"), "{{data}}", string(data), "{{script}}", code.String()).
		Replace(text("page.html"))
	_, err = io.WriteString(w, page)
	return err
}

// CodeOf cuts the text of a program at the comments that begin its kernels, and gives the parts of the kernels of some names, each once.
func CodeOf(program string, names []string) (out []Code) {
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	lines, at, from := strings.Split(program, "\n"), "", 0
	flush := func(end int) {
		if at != "" {
			out = append(out, Code{at, clipText(strings.Join(lines[from:end], "\n"))})
		}
		at = ""
	}
	for i, l := range lines {
		name, ok := strings.CutPrefix(l, "// ")
		if !ok || strings.HasPrefix(name, " ") || i+1 >= len(lines) || !strings.HasPrefix(lines[i+1], "//   for ") {
			continue
		}
		if flush(i); wanted[name] {
			at, from = name, i
			wanted[name] = false
		}
	}
	flush(len(lines))
	return out
}

// mostText is how many bytes of the text of one kernel are shown.
const mostText = 12000

func clipText(s string) string {
	s = strings.TrimRight(s, "\n")
	if len(s) <= mostText {
		return s
	}
	cut := strings.LastIndexByte(s[:mostText], '\n')
	return fmt.Sprintf("%s\n… and %d bytes more (tapc build --emit=c)", s[:max(cut, 0)], len(s)-cut)
}

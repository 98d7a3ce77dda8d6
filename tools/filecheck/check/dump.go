package check

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// DumpMode says when the input is dumped.
type DumpMode int

const (
	DumpFail   DumpMode = iota // after a mismatch
	DumpNever                  // never; verbose messages are then printed one by one
	DumpAlways                 // after every run
	dumpHelp                   // explain the dump and stop
)

// DumpFilter says which lines of the input a dump shows, beside the lines around them; greater ones show more.
type DumpFilter int

const (
	FilterDefault        DumpFilter = iota // FilterAll for DumpAlways, else FilterError
	FilterError                            // where the mark of an error starts
	FilterAnnotation                       // where a mark starts
	FilterAnnotationFull                   // with a mark
	FilterAll                              // all
)

// Dump says when and how the input is shown with marks for what was and was not found. Context is the number of
// lines shown around each: 0 is 5, less than 0 is none.
type Dump struct {
	Mode    DumpMode
	Filter  DumpFilter
	Context int
}

func (d Dump) wanted(status int) bool {
	return d.Mode == DumpAlways || d.Mode == DumpFail && status == StatusMismatch
}

func (d Dump) context() int {
	if d.Context == 0 {
		return 5
	}
	return max(d.Context, 0)
}

func (d Dump) filter() DumpFilter {
	switch {
	case d.Filter != FilterDefault:
		return d.Filter
	case d.Mode == DumpAlways:
		return FilterAll
	}
	return FilterError
}

// markStyles gives each kind of mark its first character, color, note and whether it marks an error.
var markStyles = [...]struct {
	lead  byte
	color string
	note  string
	error bool
}{
	markGood:      {'^', green, "", false},
	markExcluded:  {'!', red, "error: no match expected", true},
	markWrongLine: {'!', red, "error: match on wrong line", true},
	markDiscarded: {'!', cyan, "discard: overlaps earlier match", false},
	markAbsent:    {'X', green, "", false},
	markMissing:   {'X', red, "error: no match found", true},
	markInvalid:   {'X', red, "error: match failed for invalid pattern", true},
	markFuzzy:     {'?', magenta, "possible intended match", true},
}

// annotation is the part of a mark on one line of the input.
type annotation struct {
	label  string
	kind   markKind
	lead   byte
	note   string
	line   int
	lo, hi int  // columns from one, hi exclusive; hi may be beyond the line
	first  bool // the mark starts on this line
}

// dumper writes the input and its annotations.
type dumper struct {
	*printer
	opts  *Options
	notes []annotation // sorted by line
	width int          // of the column of line numbers and labels
}

// dump writes the input with its marks.
func (p *printer) dump(opts *Options, checkName string, input *source, marks []mark) {
	name := checkName
	fmt.Fprintf(p.w, "\nInput file: %s\nCheck file: %s\n\n", input.name, name)
	p.w.WriteString("-dump-input=help explains the following input dump.\n\nInput was:\n<<<<<<\n")
	d := &dumper{printer: p, opts: opts, notes: annotate(marks)}
	lines := strings.SplitAfter(input.text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	d.width = len(strconv.Itoa(max(1, len(lines))))
	for _, a := range d.notes {
		d.width = max(d.width, len(a.label))
	}
	d.width += 3
	d.lines(lines)
	p.w.WriteString(">>>>>>\n")
}

// annotate breaks marks into annotations of single lines and sorts them by line.
func annotate(marks []mark) []annotation {
	count := map[span]int{}
	for _, m := range marks {
		count[m.pattern.at]++
	}
	seen := map[span]int{}
	var out []annotation
	for _, m := range marks {
		label := m.pattern.label()
		if count[m.pattern.at] > 1 {
			label += "'" + strconv.Itoa(seen[m.pattern.at])
			seen[m.pattern.at]++
		}
		out = append(out, m.annotations(label)...)
	}
	slices.SortStableFunc(out, func(a, b annotation) int { return a.line - b.line })
	return out
}

// label names a pattern in the dump: its kind and its line, or which implicit pattern it is.
func (p *pattern) label() string {
	if p.implicit > 0 {
		return p.short() + ":imp" + strconv.Itoa(p.implicit)
	}
	line, _ := p.at.src.position(p.at.lo)
	return p.short() + ":" + strconv.Itoa(line)
}

func (m mark) annotations(label string) []annotation {
	style := markStyles[m.kind]
	line, col := m.at.src.position(m.at.lo)
	endLine, endCol := m.at.src.position(m.at.hi)
	a := annotation{label: label, kind: m.kind, lead: style.lead, note: style.note, line: line, lo: col, first: true}
	if m.note != "" {
		a.note = m.note
		if m.at.empty() {
			a.lead = ' ' // the place is that of the search, not of what the note is about
		}
	}
	if line == endLine {
		a.hi = max(col+1, endCol)
		return []annotation{a}
	}
	a.hi = math.MaxInt
	out := []annotation{a}
	for l := line + 1; l <= endLine; l++ {
		b := annotation{label: label, kind: m.kind, lead: '~', line: l, lo: 1, hi: math.MaxInt}
		if l == endLine {
			if b.hi = endCol; endCol == 1 {
				break
			}
		}
		out = append(out, b)
	}
	return out
}

// lines writes the lines that the filter selects and those around them, and dots for the others.
func (d *dumper) lines(lines []string) {
	around := d.opts.Dump.context()
	last, next := math.MinInt, 0 // nearest selected lines before and after
	var elided []string
	notes := d.notes
	for n := 1; n <= len(lines) || len(notes) > 0; n++ {
		if next < n {
			next = d.selected(n, notes)
		}
		if next == n {
			last = n
		}
		text := ""
		if n <= len(lines) {
			text = lines[n-1]
		}
		var mine []annotation
		for len(notes) > 0 && notes[0].line == n {
			mine, notes = append(mine, notes[0]), notes[1:]
		}
		out := d.line(n, text, mine)
		if (last == math.MinInt || n-last > around) && next-n > around {
			elided = append(elided, out...)
			continue
		}
		d.elide(&elided)
		d.w.WriteString(strings.Join(out, ""))
	}
	d.elide(&elided)
}

// selected returns the first line from n on that the filter selects.
func (d *dumper) selected(n int, notes []annotation) int {
	filter := d.opts.Dump.filter()
	if filter == FilterAll {
		return n
	}
	for _, a := range notes {
		isError := a.first && markStyles[a.kind].error
		if filter == FilterAnnotationFull || filter == FilterAnnotation && a.first || filter == FilterError && isError {
			return a.line
		}
	}
	return math.MaxInt
}

// elide writes three dots for the lines held back, or the lines themselves if they take no more room.
func (d *dumper) elide(held *[]string) {
	if len(*held) <= 3 {
		d.w.WriteString(strings.Join(*held, ""))
	} else {
		for range 3 {
			d.paint(dim, fmt.Sprintf("%*s", d.width, "."))
			d.w.WriteString("\n")
		}
	}
	*held = nil
}

// line renders an input line and its annotations, one string each. A space stands for the line end.
func (d *dumper) line(n int, text string, notes []annotation) []string {
	body, cut := strings.CutSuffix(text, "\n")
	if cut {
		body += " "
	}
	out := []string{d.painted(dim, fmt.Sprintf("%*d: ", d.width, n)) + d.highlight(body, notes) + "\n"}
	for _, a := range notes {
		out = append(out, d.painted(markStyles[a.kind].color, a.render(d.width, len(text))+"\n"))
	}
	return out
}

// highlight shows what no directive matched, where colors and verbosity tell.
func (d *dumper) highlight(body string, notes []annotation) string {
	if !d.color || d.opts.Verbosity == 0 {
		return body
	}
	var out strings.Builder
	for i := 0; i < len(body); i++ {
		matched := slices.ContainsFunc(notes, func(a annotation) bool {
			return a.kind == markGood && a.lo <= i+1 && i+1 < a.hi
		})
		if matched {
			out.WriteByte(body[i])
		} else {
			out.WriteString(cyanBG + body[i:i+1] + reset)
		}
	}
	return out.String()
}

// render writes the label, the marked columns and the note behind the end of the input line.
func (a annotation) render(width, lineLen int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%-*s  %s%c", width, a.label, strings.Repeat(" ", a.lo-1), a.lead)
	col := a.lo + 1
	for ; col < a.hi && col <= lineLen; col++ {
		out.WriteByte('~')
	}
	if a.note != "" {
		out.WriteString(strings.Repeat(" ", max(0, lineLen+1-col)) + " " + a.note)
	}
	return out.String()
}

func (p *printer) painted(color, text string) string {
	if !p.color {
		return text
	}
	return color + text + reset
}

package check

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// severity is how bad a message is.
type severity int

const (
	sevError severity = iota
	sevNote
	sevRemark
)

var severities = [...]struct{ name, color string }{
	sevError:  {"error", red},
	sevNote:   {"note", dim},
	sevRemark: {"remark", blue},
}

// ANSI sequences, each starting from a reset.
const (
	bold    = "\x1b[1m"
	reset   = "\x1b[0m"
	red     = "\x1b[0;1;31m"
	green   = "\x1b[0;1;32m"
	blue    = "\x1b[0;1;34m"
	magenta = "\x1b[0;1;35m"
	cyan    = "\x1b[0;1;36m"
	cyanBG  = "\x1b[0;1;46m"
	dim     = "\x1b[0;1;30m"
)

// printer writes messages in the layout of LLVM's SourceMgr and remembers them.
type printer struct {
	w     *bytes.Buffer
	color bool
	seen  []Diagnostic
}

// paint writes text in a color, where colors are on.
func (p *printer) paint(color, text string) {
	if !p.color {
		p.w.WriteString(text)
		return
	}
	p.w.WriteString(color)
	p.w.WriteString(text)
	p.w.WriteString(reset)
}

// plain writes a message that has no place. A leading "error: " is its severity.
func (p *printer) plain(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.w.WriteString(text + "\n")
	p.seen = append(p.seen, Diagnostic{Severity: "error", Message: strings.TrimPrefix(text, "error: ")})
}

// message writes a message at the start of a span. Spans in marked are underlined.
func (p *printer) message(at span, sev severity, text string, marked ...span) {
	line, col := at.src.position(at.lo)
	name := at.src.name
	if name == "-" {
		name = "<stdin>"
	}
	p.seen = append(p.seen, Diagnostic{severities[sev].name, name, line, col, text})
	if name == "" {
		p.paint(bold, "")
	} else {
		p.paint(bold, fmt.Sprintf("%s:%d:%d: ", name, line, col))
	}
	p.paint(severities[sev].color, severities[sev].name+": ")
	p.paint(bold, text+"\n")
	start, end := at.src.lineAround(at.lo)
	p.excerpt(at.src.text[start:end], col-1, columns(start, end, marked))
}

// columns clips spans to the line at [start, end) and returns their zero-based column ranges.
func columns(start, end int, marked []span) [][2]int {
	var out [][2]int
	for _, m := range marked {
		lo, hi := max(m.lo, start), min(m.hi, end)
		if lo <= hi {
			out = append(out, [2]int{lo - start, hi - start})
		}
	}
	return out
}

// excerpt writes a source line and, under it, a caret and the marked columns.
func (p *printer) excerpt(line string, caret int, marked [][2]int) {
	p.w.WriteString(expandTabs(line, line) + "\n")
	if strings.ContainsFunc(line, func(r rune) bool { return r >= 0x80 }) {
		return // columns cannot be trusted
	}
	under := []byte(strings.Repeat(" ", len(line)+1))
	for _, m := range marked {
		for i := m[0]; i < m[1]; i++ {
			under[i] = '~'
		}
	}
	under[min(caret, len(line))] = '^'
	p.paint(green, expandTabs(strings.TrimRight(string(under), " "), line)+"\n")
}

// expandTabs writes the bytes of text so that they align with line, whose tabs advance to multiples of 8.
func expandTabs(text, line string) string {
	var out strings.Builder
	col := 0
	for i := 0; i < len(text); i++ {
		if i >= len(line) || line[i] != '\t' {
			out.WriteByte(text[i])
			col++
			continue
		}
		c := text[i]
		if c == '\t' {
			c = ' '
		}
		for ok := true; ok; ok = col%8 != 0 {
			out.WriteByte(c)
			col++
		}
	}
	return out.String()
}

// quoted escapes text for a message as a C string would.
func quoted(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' || c == '"':
			out.WriteString("\\" + string(c))
		case c == '\t':
			out.WriteString("\\t")
		case c == '\n':
			out.WriteString("\\n")
		case c < ' ' || c > '~':
			fmt.Fprintf(&out, "\\%03o", c)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// problem is an error with a place in the check file. LLVM writes an empty line after those of variables and
// expressions.
type problem struct {
	at     span
	text   string
	spaced bool
}

func problemf(at span, format string, args ...any) *problem {
	return &problem{at: at, text: fmt.Sprintf(format, args...)}
}

// spaced marks problems as those that an empty line follows.
func spaced(bad ...*problem) []*problem {
	for _, b := range bad {
		b.spaced = true
	}
	return bad
}

func (p *printer) problem(e *problem) {
	p.message(e.at, sevError, e.text)
	if e.spaced {
		p.w.WriteString("\n")
	}
}

// sortedUnique returns a sorted copy of names without repeats.
func sortedUnique(names []string) []string {
	out := slices.Clone(names)
	slices.Sort(out)
	return slices.Compact(out)
}

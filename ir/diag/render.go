package diag

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Source gives the text of an input file by name, for excerpts; ok is false when it is not at hand.
type Source func(file string) (text []byte, ok bool)

// maxExcerpt bounds the length of a source line shown under a diagnostic, in bytes.
const maxExcerpt = 160

// WriteText writes the diagnostics for people: each with its source line and a caret where the source is known, then
// expected and found, the notes and the hint.
func WriteText(w io.Writer, list List, src Source) error {
	var b bytes.Buffer
	for _, d := range list {
		writeOne(&b, d, src)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func writeOne(b *bytes.Buffer, d Diagnostic, src Source) {
	if at := d.Location.String(); at != "" {
		b.WriteString(at + ": ")
	}
	first, more, _ := strings.Cut(d.Message, "\n") // what others say may be behind it
	fmt.Fprintf(b, "%s: %s", d.Severity, first)
	if tag := d.tag(); tag != "" {
		fmt.Fprintf(b, " [%s]", tag)
	}
	b.WriteByte('\n')
	if more != "" {
		b.WriteString(strings.TrimSuffix(more, "\n") + "\n")
	}
	excerpt(b, d.Location, src)
	if d.Expected != "" || d.Found != "" {
		fmt.Fprintf(b, "  expected: %s\n  found:    %s\n", d.Expected, d.Found)
	}
	if d.Location.Node != "" {
		fmt.Fprintf(b, "  node:     %s\n", d.Location.Node)
	}
	if d.Location.Pointer != "" {
		fmt.Fprintf(b, "  pointer:  %s\n", d.Location.Pointer)
	}
	for _, n := range d.Notes {
		place := n.Location.String()
		if place != "" {
			place += ": "
		}
		fmt.Fprintf(b, "  note: %s%s\n", place, n.Message)
	}
	if d.Hint != "" {
		fmt.Fprintf(b, "  hint: %s\n", d.Hint)
	}
}

func excerpt(b *bytes.Buffer, at Location, src Source) {
	if src == nil || at.Line == 0 {
		return
	}
	text, ok := src(at.File)
	if !ok {
		return
	}
	line, ok := nthLine(text, at.Line)
	if !ok || len(line) > maxExcerpt {
		return
	}
	fmt.Fprintf(b, "  %s\n", line)
	if at.Column > 0 && at.Column <= len(line)+1 {
		pad := strings.Map(func(r rune) rune {
			if r == '\t' {
				return r
			}
			return ' '
		}, line[:at.Column-1])
		fmt.Fprintf(b, "  %s^\n", pad)
	}
}

func nthLine(text []byte, n int) (string, bool) {
	for ; n > 1; n-- {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			return "", false
		}
		text = text[i+1:]
	}
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return strings.TrimRight(string(text), "\r"), true
}

type jsonLocation struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Pointer string `json:"pointer,omitempty"`
	Node    string `json:"node,omitempty"`
}

type jsonNote struct {
	Message  string        `json:"message"`
	Location *jsonLocation `json:"location,omitempty"`
}

type jsonDiagnostic struct {
	Code       string        `json:"code"`
	Constraint string        `json:"constraint"`
	Severity   string        `json:"severity"`
	Message    string        `json:"message"`
	Location   *jsonLocation `json:"location,omitempty"`
	Expected   string        `json:"expected,omitempty"`
	Found      string        `json:"found,omitempty"`
	Notes      []jsonNote    `json:"notes,omitempty"`
	Hint       string        `json:"hint,omitempty"`
}

func toJSONLocation(l Location) *jsonLocation {
	if l == (Location{}) {
		return nil
	}
	j := jsonLocation(l)
	return &j
}

// WriteJSON writes {"diagnostics":[…]}, one diagnostic a line, for machines.
func WriteJSON(w io.Writer, list List) error {
	var b bytes.Buffer
	b.WriteString(`{"diagnostics":[`)
	for i, d := range list {
		j := jsonDiagnostic{Code: d.Code, Constraint: d.Constraint, Severity: d.Severity.String(), Message: d.Message,
			Location: toJSONLocation(d.Location), Expected: d.Expected, Found: d.Found, Hint: d.Hint}
		for _, n := range d.Notes {
			j.Notes = append(j.Notes, jsonNote{n.Message, toJSONLocation(n.Location)})
		}
		text, err := json.Marshal(j)
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(text)
	}
	if len(list) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("]}\n")
	_, err := w.Write(b.Bytes())
	return err
}

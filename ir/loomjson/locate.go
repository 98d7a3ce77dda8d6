package loomjson

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir/diag"
)

// Locate maps a JSON pointer (RFC 6901) to the place of the value in the text, line and column counted from 1; column counts
// bytes. ok is false if the text has no such value or is not JSON up to there.
func Locate(data []byte, pointer string) (line, col int, ok bool) {
	s := &scanner{data: data}
	if pointer != "" {
		tokens := strings.Split(pointer, "/")
		if tokens[0] != "" {
			return 0, 0, false
		}
		for _, token := range tokens[1:] {
			if !s.descend(unescape(token)) {
				return 0, 0, false
			}
		}
	}
	s.peek()
	if s.broken || s.pos >= len(data) {
		return 0, 0, false
	}
	line, col = place(data, s.pos)
	return line, col, true
}

func unescape(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// descend moves from a value to the member or the item that a token of a pointer names.
func (s *scanner) descend(token string) bool {
	switch s.peek() {
	case '{':
		s.open()
		for n := 0; s.more(n, '}'); n++ {
			if string(s.key()) == token && !s.broken {
				return true
			}
			s.skip()
		}
	case '[':
		want, err := strconv.Atoi(token)
		if err != nil || want < 0 || strconv.Itoa(want) != token {
			return false
		}
		s.open()
		for n := 0; s.more(n, ']'); n++ {
			if n == want {
				return true
			}
			s.skip()
		}
	}
	return false
}

// place gives the line and the column of an offset.
func place(data []byte, at int) (line, col int) {
	before := data[:at]
	return bytes.Count(before, newline) + 1, at - bytes.LastIndexByte(before, '\n')
}

// diagnostics gives the problems in the order of the document, with their places.
func (d *decoder) diagnostics() diag.List {
	slices.SortStableFunc(d.problems, func(a, b problem) int { return a.at - b.at })
	w := walker{scanner: scanner{data: d.data}, problems: d.problems}
	w.walk()
	w.settle(len(d.data) + 1)
	list := make(diag.List, len(d.problems))
	line, start, counted := 1, 0, 0
	for i, p := range d.problems {
		at := min(p.at, len(d.data))
		between := d.data[counted:at]
		if n := bytes.Count(between, newline); n > 0 {
			line += n
			start = counted + bytes.LastIndexByte(between, '\n') + 1
		}
		counted = at
		p.d.Location.File, p.d.Location.Line, p.d.Location.Column = d.file, line, at-start+1
		list[i] = p.d
	}
	return list
}

// walker goes over a document once and gives each problem the pointer of the innermost value that it lies in. A problem
// belongs to the last key or item that begins at or before it.
type walker struct {
	scanner
	problems []problem // still without a pointer, by offset
	path     []byte
}

// settle gives the present path to the problems before an offset.
func (w *walker) settle(before int) {
	for len(w.problems) > 0 && w.problems[0].at < before {
		w.problems[0].d.Location.Pointer = string(w.path)
		w.problems = w.problems[1:]
	}
}

func (w *walker) walk() {
	c := w.peek()
	if w.broken || len(w.problems) == 0 || c != '{' && c != '[' {
		if len(w.problems) > 0 {
			w.skip()
		}
		return
	}
	depth := len(w.path)
	w.open()
	for n := 0; w.more(n, c+2); n++ { // the closing brackets are two behind the opening ones
		w.peek()
		w.settle(w.pos)
		if c == '{' {
			w.path = append(append(w.path[:depth], '/'), escape(string(w.key()))...)
		} else {
			w.path = strconv.AppendInt(append(w.path[:depth], '/'), int64(n), 10)
		}
		w.walk()
		if len(w.problems) == 0 || w.broken {
			return
		}
		w.settle(w.pos)
		w.path = w.path[:depth]
	}
}

// Package cnest writes what is alike in C and CUDA: indented text, what is said of a kernel in comments, and the statements of tile trees. Read next: tree.go.
package cnest

import (
	"fmt"
	"strings"
)

// Text collects indented lines of code.
type Text struct {
	b     strings.Builder
	depth int
}

// String gives the text so far.
func (t *Text) String() string { return t.b.String() }

// Line adds one line. A new line before the format, where nothing is open, leaves one empty.
func (t *Text) Line(format string, args ...any) {
	t.b.WriteString(strings.Repeat("  ", t.depth))
	fmt.Fprintf(&t.b, format, args...)
	t.b.WriteByte('\n')
}

// Block adds lines, each indented.
func (t *Text) Block(format string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		t.b.WriteString(strings.Repeat("  ", t.depth))
		t.b.WriteString(line)
	}
}

// Open adds a line and indents what follows.
func (t *Text) Open(format string, args ...any) {
	t.Line(format, args...)
	t.depth++
}

// Close ends what Open began, with a brace; or so many of them.
func (t *Text) Close(several ...int) {
	for range append(several, 1)[0] {
		t.depth--
		t.Line("}")
	}
}

// Bare takes away the parentheses around a text: compilers take two around == for a mistyped =.
func Bare(s string) string {
	if !strings.HasPrefix(s, "(") {
		return s
	}
	depth := 0
	for i, c := range s {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 && i < len(s)-1 {
			return s
		}
	}
	return s[1 : len(s)-1]
}

// Else ends what Open began and opens the other branch.
func (t *Text) Else() {
	t.depth--
	t.Open("} else {")
}

// Clip makes a text fit for a comment of one line.
func Clip(s string) string {
	s = strings.ReplaceAll(s, "*/", "* /")
	if len(s) > 100 {
		return s[:100] + " ..."
	}
	return s
}

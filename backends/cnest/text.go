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

// Line adds one line.
func (t *Text) Line(format string, args ...any) {
	t.b.WriteString(strings.Repeat("  ", t.depth))
	fmt.Fprintf(&t.b, format, args...)
	t.b.WriteByte('\n')
}

// Open adds a line and indents what follows.
func (t *Text) Open(format string, args ...any) {
	t.Line(format, args...)
	t.depth++
}

// Close ends what Open began, with a brace.
func (t *Text) Close() {
	t.depth--
	t.Line("}")
}

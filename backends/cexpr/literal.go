package cexpr

import (
	"fmt"
	"strings"
)

// String writes a text as a literal.
func String(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c < ' ' || c >= 0x7f || c == '?':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// LongString writes a text as one literal a line, so that none is longer than compilers like.
func LongString(s string) string {
	var lines []string
	for _, l := range strings.SplitAfter(s, "\n") {
		for ; len(l) > 400; l = l[400:] {
			lines = append(lines, String(l[:400]))
		}
		if l != "" {
			lines = append(lines, String(l))
		}
	}
	return "\n    " + strings.Join(lines, "\n    ")
}

// Numbers writes the elements of an array of int64_t.
func Numbers(list []int64) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = fmt.Sprintf("INT64_C(%d)", n)
	}
	return strings.Join(words, ", ")
}

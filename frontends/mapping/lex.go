package mapping

import (
	"fmt"
	"strings"
)

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokName
	tokNumber
	tokString
	tokSymbol
)

type token struct {
	kind tokenKind
	text string
	line int
}

// String shows the token for messages.
func (t token) String() string {
	if t.kind == tokEnd {
		return "the end"
	}
	return fmt.Sprintf("%q", t.text)
}

// lex splits a table into tokens. A comment runs from # to the end of its line.
func lex(text string) ([]token, error) {
	var out []token
	line := 1
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\n':
			line++
			i++
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case c == '#':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case c == '"' || c == '\'':
			n := strings.IndexByte(text[i+1:], c)
			if n < 0 || strings.Contains(text[i+1:i+1+n], "\n") {
				return nil, fmt.Errorf("line %d: a string without an end", line)
			}
			out = append(out, token{tokString, text[i+1 : i+1+n], line})
			i += n + 2
		default:
			kind, n := measure(text[i:])
			if n == 0 {
				return nil, fmt.Errorf("line %d: unexpected %q", line, c)
			}
			out = append(out, token{kind, text[i : i+n], line})
			i += n
		}
	}
	return append(out, token{tokEnd, "", line}), nil
}

func measure(s string) (tokenKind, int) {
	letter := func(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	n := 0
	switch {
	case letter(s[0]):
		for n < len(s) && (letter(s[n]) || digit(s[n])) {
			n++
		}
		return tokName, n
	case digit(s[0]):
		for n < len(s) && (digit(s[n]) || s[n] == '.' && !strings.HasPrefix(s[n:], "..") || s[n] == 'e' ||
			(s[n] == '-' || s[n] == '+') && s[n-1] == 'e') {
			n++
		}
		return tokNumber, n
	}
	for _, two := range []string{"...", "->", "==", "!=", "<=", ">=", "//", ".."} {
		if strings.HasPrefix(s, two) {
			return tokSymbol, len(two)
		}
	}
	if strings.IndexByte("()[]{},:=<>+-*/%?@~", s[0]) >= 0 {
		return tokSymbol, 1
	}
	return tokSymbol, 0
}

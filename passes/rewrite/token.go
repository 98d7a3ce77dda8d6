package rewrite

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tokenKind is the kind of a token of the rule language.
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
	text string // without quotes
	line int
}

func (t token) String() string {
	switch t.kind {
	case tokEnd:
		return "the end of the file"
	case tokString:
		return strconv.Quote(t.text)
	}
	return fmt.Sprintf("%q", t.text)
}

// symbols of more than one character, longest first.
var symbols = []string{"...", "..", "=>", "!=", "<=", ">="}

// scan cuts a text into tokens. A comment runs from # to the end of the line.
func scan(text string) ([]token, error) {
	var out []token
	line := 1
	for text != "" {
		c := text[0]
		switch {
		case c == '\n':
			line++
			text = text[1:]
		case c == ' ' || c == '\t' || c == '\r':
			text = text[1:]
		case c == '#':
			text = strings.TrimPrefix(text, firstLine(text))
		default:
			t, rest, err := scanOne(text)
			if err != nil {
				return nil, fmt.Errorf("%d: %w", line, err)
			}
			t.line = line
			out = append(out, t)
			text = rest
		}
	}
	return append(out, token{kind: tokEnd, line: line}), nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func scanOne(s string) (token, string, error) {
	switch c := s[0]; {
	case isLetter(c):
		n := 1
		for n < len(s) && (isLetter(s[n]) || isDigit(s[n]) || s[n] == '-' && n+1 < len(s) && isLetter(s[n+1])) {
			n++
		}
		return token{kind: tokName, text: s[:n]}, s[n:], nil
	case isDigit(c) || c == '-' && len(s) > 1 && isDigit(s[1]):
		n := 1
		for n < len(s) && (isDigit(s[n]) || strings.IndexByte(".eE", s[n]) >= 0 || (s[n] == '-' || s[n] == '+') && (s[n-1] == 'e' || s[n-1] == 'E')) {
			if strings.HasPrefix(s[n:], "..") {
				break
			}
			n++
		}
		if _, err := strconv.ParseFloat(s[:n], 64); err != nil {
			return token{}, "", fmt.Errorf("%q is not a number", s[:n])
		}
		return token{kind: tokNumber, text: s[:n]}, s[n:], nil
	case c == '"':
		text, err := strconv.QuotedPrefix(firstLine(s))
		if err != nil {
			return token{}, "", fmt.Errorf("a text in quotes does not end on its line")
		}
		plain, err := strconv.Unquote(text)
		return token{kind: tokString, text: plain}, s[len(text):], err
	}
	for _, sym := range symbols {
		if strings.HasPrefix(s, sym) {
			return token{kind: tokSymbol, text: sym}, s[len(sym):], nil
		}
	}
	if strings.IndexByte("(){}:,|@=?<>", s[0]) >= 0 {
		return token{kind: tokSymbol, text: s[:1]}, s[1:], nil
	}
	_, n := utf8.DecodeRuneInString(s)
	return token{}, "", fmt.Errorf("unexpected character %q", s[:n])
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

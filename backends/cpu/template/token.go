package template

import (
	"fmt"
	"strconv"
	"strings"
)

// kind is what a token is.
type kind uint8

const (
	word     kind = iota // an identifier, a sign, a quoted text, a line of the preprocessor, or a number that is none of those below
	whole                // an int
	long                 // an int64_t
	single               // a float
	fraction             // a double
	function             // the name of a function that is called by its address
	address              // of data
)

// token is a token of C, with the white space before it.
type token struct {
	space, text string
	kind        kind
	at          int // of a name that an item declares: its number in the list of items, from 1 on
}

// scan cuts a text of C into tokens, without comments.
func scan(text string) ([]token, error) {
	s := scanner{text: text}
	for s.next() {
	}
	return s.out, s.err
}

type scanner struct {
	text string
	out  []token
	err  error
}

// next takes one token.
func (s *scanner) next() bool {
	space := ""
	for {
		rest := strings.TrimLeft(s.text, " \t\n")
		space += s.text[:len(s.text)-len(rest)]
		s.text = rest
		if !strings.HasPrefix(rest, "//") {
			break
		}
		_, rest, _ = strings.Cut(rest, "\n")
		s.text = "\n" + rest
	}
	if s.text == "" {
		return false
	}
	n, k, text := s.length()
	if s.err != nil {
		return false
	}
	if text == "" {
		text = s.text[:n]
	}
	s.out = append(s.out, token{space: space, text: text, kind: k})
	s.text = s.text[n:]
	return true
}

// length measures the token at the start, and gives its text where that is another.
func (s *scanner) length() (n int, k kind, text string) {
	c := s.text[0]
	switch {
	case c == '#':
		if n = strings.IndexByte(s.text, '\n'); n < 0 {
			n = len(s.text)
		}
	case c == '"' || c == '\'':
		for n = 1; n < len(s.text) && s.text[n] != c; n++ {
			if s.text[n] == '\\' {
				n++
			}
		}
		if n++; n > len(s.text) {
			s.err = fmt.Errorf("template: a quote that does not end: %.40q", s.text)
		}
	case isDigit(c) || c == '.' && len(s.text) > 1 && isDigit(s.text[1]):
		n = numberEnd(s.text)
		k = numberKind(s.text[:n])
	case isLetter(c):
		for n = 1; n < len(s.text) && (isLetter(s.text[n]) || isDigit(s.text[n])); n++ {
		}
		if inner, ok := strings.CutPrefix(s.text, "INT64_C("); ok {
			if end := strings.IndexByte(inner, ')'); end >= 0 && numberKind(inner[:end]) != word {
				return len("INT64_C()") + end, long, inner[:end]
			}
		}
	default:
		n = 1
	}
	return n, k, ""
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

// numberEnd measures a number.
func numberEnd(s string) int {
	exponents := "eE"
	if strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X") {
		exponents = "pP"
	}
	n := 1
	for n < len(s) {
		c := s[n]
		sign := (c == '+' || c == '-') && strings.IndexByte(exponents, s[n-1]) >= 0
		if !sign && !isDigit(c) && !isLetter(c) && c != '.' {
			break
		}
		n++
	}
	return n
}

// numberKind says what a number is: numbers of other types are words, which have to be the same everywhere.
func numberKind(s string) kind {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		switch {
		case len(s) > 1 && s[0] == '0' || s[0] == '-':
			return word // octal
		case n == int64(int32(n)):
			return whole
		}
		return long
	}
	hex := strings.HasPrefix(s, "0x")
	if !strings.ContainsAny(s, ".") && !(hex && strings.ContainsAny(s, "p")) {
		return word
	}
	text, isSingle := strings.CutSuffix(s, "f")
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return word
	}
	if isSingle {
		return single
	}
	return fraction
}

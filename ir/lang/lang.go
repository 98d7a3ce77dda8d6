// Package lang is the kit under tapc's hand-written languages of rules, mapping tables and dictionaries: tokens that know their
// places, and a cursor that parsers walk over them with.
//
// It must not import another package of tapc. ARCHITECTURE.md says which languages stay apart, and why. Read next:
// passes/rewrite/language/parse.go, which is built on it.
package lang

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens.
const (
	End Kind = iota
	Name
	Number
	String
	Symbol
)

// Place is a line and a column of a text, both from 1; columns count bytes.
type Place struct{ Line, Column int }

// String gives "line:column", as it follows a file's name in a message.
func (p Place) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// Token is a word of a text. A String's text is what it stands for, without quotes.
type Token struct {
	Kind Kind
	Text string
	Place
}

// String shows the token for messages.
func (t Token) String() string {
	if t.Kind == End {
		return "the end of the text"
	}
	return strconv.Quote(t.Text)
}

// Lexicon says what the tokens of a language are. Every language has names of letters, digits and _, numbers, texts in double
// quotes with Go's escapes, and comments from # to the end of the line.
type Lexicon struct {
	Symbols []string // where several fit, the longest is taken
	Single  bool     // texts in single quotes, without escapes
	Dashes  bool     // a name may have - before a letter
	Signed  bool     // a number may begin with -
}

// Scan cuts a text into tokens, the last one of the kind End. An error begins with its place.
func (l *Lexicon) Scan(text string) ([]Token, error) {
	var out []Token
	place := Place{1, 1}
	for text != "" {
		n := 1
		switch c := text[0]; c {
		case '\n':
			text = text[1:]
			place = Place{place.Line + 1, 1}
			continue
		case ' ', '\t', '\r':
		case '#':
			n = len(firstLine(text))
		default:
			t, length, err := l.token(text)
			if err != nil {
				return nil, fmt.Errorf("%v: %w", place, err)
			}
			t.Place, n = place, length
			out = append(out, t)
		}
		text = text[n:]
		place.Column += n
	}
	return append(out, Token{Kind: End, Place: place}), nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// token reads the token that a text begins with, and measures it.
func (l *Lexicon) token(s string) (Token, int, error) {
	c := s[0]
	switch {
	case isLetter(c):
		n := l.nameLength(s)
		return Token{Kind: Name, Text: s[:n]}, n, nil
	case isDigit(c) || l.Signed && c == '-' && len(s) > 1 && isDigit(s[1]):
		n := numberLength(s)
		if _, err := strconv.ParseFloat(s[:n], 64); err != nil {
			return Token{}, 0, fmt.Errorf("%q is not a number", s[:n])
		}
		return Token{Kind: Number, Text: s[:n]}, n, nil
	case c == '"' || c == '\'' && l.Single:
		text, n, ok := unquote(firstLine(s))
		if !ok {
			return Token{}, 0, fmt.Errorf("a text in quotes does not end on its line, or has an unknown escape")
		}
		return Token{Kind: String, Text: text}, n, nil
	}
	symbol := ""
	for _, x := range l.Symbols {
		if strings.HasPrefix(s, x) && len(x) > len(symbol) {
			symbol = x
		}
	}
	if symbol == "" {
		_, n := utf8.DecodeRuneInString(s)
		return Token{}, 0, fmt.Errorf("unexpected character %q", s[:n])
	}
	return Token{Kind: Symbol, Text: symbol}, len(symbol), nil
}

func (l *Lexicon) nameLength(s string) int {
	n := 1
	for n < len(s) && (isLetter(s[n]) || isDigit(s[n]) || l.Dashes && s[n] == '-' && n+1 < len(s) && isLetter(s[n+1])) {
		n++
	}
	return n
}

// numberLength measures a number, perhaps with a fraction and an exponent; ".." ends it.
func numberLength(s string) int {
	n := 1
	for n < len(s) && (isDigit(s[n]) || strings.IndexByte(".eE", s[n]) >= 0 || (s[n] == '-' || s[n] == '+') && s[n-1]|0x20 == 'e') {
		if strings.HasPrefix(s[n:], "..") {
			break
		}
		n++
	}
	return n
}

// unquote reads the text in quotes that a line begins with, and measures it with its quotes.
func unquote(line string) (text string, n int, ok bool) {
	if line[0] == '\'' {
		text, _, ok = strings.Cut(line[1:], "'")
		return text, len(text) + 2, ok
	}
	quoted, err := strconv.QuotedPrefix(line)
	if err != nil {
		return "", 0, false
	}
	text, err = strconv.Unquote(quoted)
	return text, len(quoted), err == nil
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

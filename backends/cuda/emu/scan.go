package emu

import "strings"

// token is an identifier, a number, or one character of punctuation. Comments, literals of text and
// preprocessor lines are left out.
type token struct {
	text       string
	begin, end int
}

// scan splits C++ text into tokens. It never fails: what is not understood is punctuation.
func scan(text string) []token {
	var tokens []token
	lineStart := true
	for i := 0; i < len(text); {
		c := text[i]
		if n := blank(text[i:], lineStart); n > 0 {
			lineStart = lineStart && strings.TrimLeft(text[i:i+n], " \t\r") == "" || strings.HasSuffix(text[i:i+n], "\n")
			i += n
			continue
		}
		lineStart = false
		n := 1
		if isWord(c) {
			for i+n < len(text) && isWord(text[i+n]) {
				n++
			}
		}
		tokens = append(tokens, token{text: text[i : i+n], begin: i, end: i + n})
		i += n
	}
	return tokens
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// blank returns the length of the white space, comment, literal or preprocessor line that text begins
// with, 0 if it begins with something else.
func blank(text string, lineStart bool) int {
	switch {
	case strings.IndexByte(" \t\r\n\f\v", text[0]) >= 0:
		return 1
	case strings.HasPrefix(text, "//"), text[0] == '#' && lineStart:
		return logicalLine(text)
	case strings.HasPrefix(text, "/*"):
		return through(text, 2, "*/")
	case strings.HasPrefix(text, `R"`):
		if open := strings.IndexByte(text, '('); open > 0 {
			return through(text, open, ")"+text[2:open]+`"`)
		}
	case text[0] == '"', text[0] == '\'':
		return literal(text)
	}
	return 0
}

// logicalLine returns the bytes before the line's end, counting lines that end in a backslash in.
func logicalLine(text string) int {
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' && (i == 0 || text[i-1] != '\\') {
			return i
		}
	}
	return len(text)
}

// through returns the bytes up to the end of the first mark at or after from.
func through(text string, from int, mark string) int {
	if at := strings.Index(text[from:], mark); at >= 0 {
		return from + at + len(mark)
	}
	return len(text)
}

// literal returns the bytes of a quoted literal, or 1 if its line ends first (a digit separator).
func literal(text string) int {
	for i := 1; i < len(text) && text[i] != '\n'; i++ {
		if text[i] == '\\' {
			i++
		} else if text[i] == text[0] {
			return i + 1
		}
	}
	return 1
}

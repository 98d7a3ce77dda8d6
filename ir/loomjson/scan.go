package loomjson

import (
	"encoding/binary"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner walks over JSON text. After the first syntax error it stands at the end of the text and every method returns at
// once; the error is in broken, brokenAt and the two texts.
type scanner struct {
	data     []byte
	pos      int
	depth    int
	unquoted []byte // the last string with escapes
	broken   bool
	brokenAt int
	code     string
	expected string
	found    string
}

// fail records a syntax error at an offset.
func (s *scanner) fail(at int, expected, found string) { s.failAs(codeSyntax, at, expected, found) }

func (s *scanner) failAs(code string, at int, expected, found string) {
	if !s.broken {
		s.broken, s.brokenAt, s.code, s.expected, s.found = true, at, code, expected, found
	}
	s.pos = len(s.data)
}

// failHere records that something else than expected stands at the cursor.
func (s *scanner) failHere(expected string) { s.fail(s.pos, expected, s.describe(s.pos)) }

// peek skips white space and gives the next byte, 0 at the end.
func (s *scanner) peek() byte {
	d := s.data
	for i := s.pos; i < len(d); i++ {
		switch d[i] {
		case ' ', '\t', '\r':
		case '\n':
			for i+9 <= len(d) && binary.LittleEndian.Uint64(d[i+1:]) == 0x2020202020202020 {
				i += 8
			}
		default:
			s.pos = i
			return d[i]
		}
	}
	s.pos = len(d)
	return 0
}

// take consumes a byte, after white space, if it is next.
func (s *scanner) take(c byte) bool {
	if s.peek() != c || s.pos == len(s.data) {
		return false
	}
	s.pos++
	return true
}

// open enters an array or an object; the opening bracket must be next.
func (s *scanner) open() {
	s.pos++
	if s.depth++; s.depth > maxDepth {
		s.failAs(codeDeep, s.pos-1, "at most "+strconv.Itoa(maxDepth)+" levels of nesting", "more")
	}
}

// more drives a list: true when an item follows, false after the closing bracket, which it consumes, or after an error. n
// counts the items so far.
func (s *scanner) more(n int, closing byte) bool {
	c := s.peek()
	switch {
	case s.broken:
		return false
	case c == closing:
		s.pos++
		s.depth--
		return false
	case n == 0:
		return true
	case c != ',':
		s.failHere(`"," or "` + string(closing) + `"`)
		return false
	}
	s.pos++
	if s.peek() == closing {
		s.failHere("another item after the comma")
		return false
	}
	return !s.broken
}

// key reads a member's name and the colon. The result is valid until the next string is read.
func (s *scanner) key() []byte {
	if s.peek() != '"' {
		s.failHere("a key in double quotes")
		return nil
	}
	k := s.text()
	if !s.take(':') && !s.broken {
		s.failHere(`":"`)
	}
	return k
}

// text reads a string; the opening quote must be next. The result is valid until the next string is read.
func (s *scanner) text() []byte {
	start := s.pos + 1
	d := s.data
	i := start
	for i < len(d) && plain[d[i]] {
		i++
	}
	if i < len(d) && d[i] == '"' {
		s.pos = i + 1
		return d[start:i]
	}
	return s.richText(start, i)
}

// plain tells the bytes that stand for themselves in a string: ASCII but controls, the quote and the backslash.
var plain = func() (t [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\'
	}
	t[0x7f] = true
	return t
}()

// richText goes on where text met a byte that needs care: it decodes escapes and checks UTF-8.
func (s *scanner) richText(start, i int) []byte {
	out := append(s.unquoted[:0], s.data[start:i]...)
	for i < len(s.data) {
		switch c := s.data[i]; {
		case c == '"':
			s.pos, s.unquoted = i+1, out
			return out
		case c < 0x20:
			s.fail(i, "a string without control characters (write \\u00XX)", "control character "+strconv.QuoteRune(rune(c)))
			return nil
		case c == '\\':
			r, n := s.escape(i)
			if n == 0 {
				return nil
			}
			out = utf8.AppendRune(out, r)
			i += n
		case c < 0x80:
			out = append(out, c)
			i++
		default:
			r, n := utf8.DecodeRune(s.data[i:])
			if r == utf8.RuneError && n <= 1 {
				s.fail(i, "UTF-8", "byte 0x"+strconv.FormatUint(uint64(c), 16))
				return nil
			}
			out = append(out, s.data[i:i+n]...)
			i += n
		}
	}
	s.fail(len(s.data), `the closing '"' of a string`, "the end of the text")
	return nil
}

const simpleEscapes = "\"\\/bfnrt"

// escape decodes the escape sequence at offset i and gives its length, 0 after an error.
func (s *scanner) escape(i int) (rune, int) {
	if i+1 < len(s.data) {
		for j := range len(simpleEscapes) {
			if s.data[i+1] == simpleEscapes[j] {
				return rune("\"\\/\b\f\n\r\t"[j]), 2
			}
		}
	}
	r := s.hex4(i)
	if utf16.IsSurrogate(r) {
		if full := utf16.DecodeRune(r, s.hex4(i+6)); full != utf8.RuneError {
			return full, 12
		}
		s.fail(i, "a surrogate pair such as \\ud83d\\ude00", "half of one")
		return 0, 0
	}
	if r < 0 {
		s.fail(i, "an escape sequence of JSON", s.clip(i, 6))
		return 0, 0
	}
	return r, 6
}

// hex4 decodes \uXXXX at offset i, -1 if it is not there.
func (s *scanner) hex4(i int) rune {
	if i+6 > len(s.data) || s.data[i] != '\\' || s.data[i+1] != 'u' {
		return -1
	}
	v, err := strconv.ParseUint(string(s.data[i+2:i+6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(v)
}

// number measures the number at the cursor and moves behind it; integer is false if it has a fraction or an exponent.
func (s *scanner) number() (text []byte, integer bool) {
	d, i := s.data, s.pos
	start := i
	digits := func() bool {
		from := i
		for i < len(d) && d[i] >= '0' && d[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(d) && d[i] == '-' {
		i++
	}
	zero := i < len(d) && d[i] == '0'
	from := i
	ok := digits() && !(zero && i > from+1)
	integer = true
	if ok && i < len(d) && d[i] == '.' {
		i++
		integer, ok = false, digits()
	}
	if ok && i < len(d) && (d[i] == 'e' || d[i] == 'E') {
		i++
		if i < len(d) && (d[i] == '+' || d[i] == '-') {
			i++
		}
		integer, ok = false, digits()
	}
	if !ok {
		s.fail(start, "a number of JSON", s.clip(start, 20))
		return nil, false
	}
	s.pos = i
	return d[start:i], integer
}

// smallInt reads an integer of up to 18 digits at the cursor; ok is false, with the cursor unmoved, if anything else is there.
func (s *scanner) smallInt() (v int64, ok bool) {
	d, i := s.data, s.pos
	negative := i < len(d) && d[i] == '-'
	if negative {
		i++
	}
	start := i
	for i < len(d) && d[i]-'0' <= 9 {
		v = v*10 + int64(d[i]-'0')
		i++
	}
	if n := i - start; n == 0 || n > 18 || i == len(d) || d[start] == '0' && n > 1 {
		return 0, false
	}
	if c := d[i]; c == '.' || c == 'e' || c == 'E' {
		return 0, false
	}
	s.pos = i
	if negative {
		v = -v
	}
	return v, true
}

// word takes a literal such as null if it is next.
func (s *scanner) word(w string) bool {
	if s.pos+len(w) > len(s.data) || string(s.data[s.pos:s.pos+len(w)]) != w {
		return false
	}
	s.pos += len(w)
	return true
}

// skip passes over a value of any kind, checking its syntax.
func (s *scanner) skip() {
	switch c := s.peek(); {
	case c == '"':
		s.text()
	case c == '{':
		s.open()
		for n := 0; s.more(n, '}'); n++ {
			s.key()
			s.skip()
		}
	case c == '[':
		s.open()
		for n := 0; s.more(n, ']'); n++ {
			s.skip()
		}
	case c == '-' || c >= '0' && c <= '9':
		s.number()
	case s.word("true") || s.word("false") || s.word("null"):
	default:
		s.failHere("a value")
	}
}

// describe names what stands at an offset, for messages.
func (s *scanner) describe(at int) string {
	if at >= len(s.data) {
		return "the end of the text"
	}
	switch c := s.data[at]; {
	case c == '{':
		return "an object"
	case c == '[':
		return "an array"
	case c == '"':
		return "the string " + s.clip(at, 40)
	case c == '-' || c >= '0' && c <= '9':
		return "the number " + s.clip(at, 40)
	}
	return s.clip(at, 20)
}

// clip gives the token at an offset, at most limit bytes of it, fit for a message.
func (s *scanner) clip(at, limit int) string {
	i, quoted := at, at < len(s.data) && s.data[at] == '"'
	for i < len(s.data) && i < at+limit {
		c := s.data[i]
		if c < 0x20 || !quoted && i > at && (c == ',' || c == ']' || c == '}' || c == ' ') {
			break
		}
		if i++; quoted && c == '"' && i > at+1 && s.data[i-2] != '\\' {
			break
		}
	}
	text := s.data[at:i]
	for len(text) > 0 && !utf8.Valid(text) {
		text = text[:len(text)-1]
	}
	if len(text) == 0 && at < len(s.data) {
		return "byte 0x" + strconv.FormatUint(uint64(s.data[at]), 16)
	}
	if i == at+limit && i < len(s.data) {
		return string(text) + "…"
	}
	return string(text)
}

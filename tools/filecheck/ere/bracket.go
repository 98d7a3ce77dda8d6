package ere

import (
	"math/bits"
	"strings"
)

// set is a set of bytes.
type set [4]uint64

func (s *set) add(c byte)      { s[c>>6] |= 1 << (c & 63) }
func (s *set) remove(c byte)   { s[c>>6] &^= 1 << (c & 63) }
func (s *set) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }

func (s *set) invert() {
	for i := range s {
		s[i] = ^s[i]
	}
}

func (s *set) union(t *set) {
	for i := range s {
		s[i] |= t[i]
	}
}

// foldCase adds the other case of every ASCII letter in the set.
func (s *set) foldCase() {
	for c := byte('a'); c <= 'z'; c++ {
		upper := c - 'a' + 'A'
		if s.has(c) || s.has(upper) {
			s.add(c)
			s.add(upper)
		}
	}
}

// single returns the only member of a one-element set.
func (s *set) single() (byte, bool) {
	n, at := 0, 0
	for i, w := range s {
		if w != 0 {
			n += bits.OnesCount64(w)
			at = i<<6 + bits.TrailingZeros64(w)
		}
	}
	return byte(at), n == 1
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isWord(c byte) bool  { return isAlpha(c) || isDigit(c) || c == '_' }

// classes gives the members of each named class in the C locale.
var classes = map[string]func(c byte) bool{
	"alnum":  func(c byte) bool { return isAlpha(c) || isDigit(c) },
	"alpha":  isAlpha,
	"blank":  func(c byte) bool { return c == ' ' || c == '\t' },
	"cntrl":  func(c byte) bool { return c < ' ' && c > 0 || c == 0x7f },
	"digit":  isDigit,
	"graph":  func(c byte) bool { return '!' <= c && c <= '~' },
	"lower":  func(c byte) bool { return 'a' <= c && c <= 'z' },
	"print":  func(c byte) bool { return ' ' <= c && c <= '~' },
	"punct":  func(c byte) bool { return '!' <= c && c <= '~' && !isAlpha(c) && !isDigit(c) },
	"space":  func(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' },
	"upper":  func(c byte) bool { return 'A' <= c && c <= 'Z' },
	"xdigit": func(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' },
}

// collating holds the POSIX names of single characters that have one; other elements are the character itself.
var collating = map[string]byte{
	"NUL": 0, "alert": '\a', "backspace": '\b', "tab": '\t', "newline": '\n', "vertical-tab": '\v',
	"form-feed": '\f', "carriage-return": '\r', "space": ' ', "exclamation-mark": '!', "quotation-mark": '"',
	"number-sign": '#', "dollar-sign": '$', "percent-sign": '%', "ampersand": '&', "apostrophe": '\'',
	"left-parenthesis": '(', "right-parenthesis": ')', "asterisk": '*', "plus-sign": '+', "comma": ',',
	"hyphen": '-', "hyphen-minus": '-', "period": '.', "full-stop": '.', "slash": '/', "solidus": '/',
	"zero": '0', "one": '1', "two": '2', "three": '3', "four": '4', "five": '5', "six": '6', "seven": '7',
	"eight": '8', "nine": '9', "colon": ':', "semicolon": ';', "less-than-sign": '<', "equals-sign": '=',
	"greater-than-sign": '>', "question-mark": '?', "commercial-at": '@', "left-square-bracket": '[',
	"backslash": '\\', "reverse-solidus": '\\', "right-square-bracket": ']', "circumflex": '^',
	"circumflex-accent": '^', "underscore": '_', "low-line": '_', "grave-accent": '`', "left-brace": '{',
	"left-curly-bracket": '{', "vertical-line": '|', "right-brace": '}', "right-curly-bracket": '}',
	"tilde": '~', "DEL": 0x7f,
}

// bracket parses what follows "[". "[[:<:]]" and "[[:>:]]" are the starts and ends of words.
func (p *parser) bracket() (*node, error) {
	if p.eat("[:<:]]") {
		return &node{op: opBOW}, nil
	}
	if p.eat("[:>:]]") {
		return &node{op: opEOW}, nil
	}
	s := &set{}
	negated := p.eat("^")
	if p.eat("]") {
		s.add(']')
	} else if p.eat("-") {
		s.add('-')
	}
	for p.more() && !p.peekIs("]") && !p.peekIs("-]") {
		if err := p.bracketTerm(s); err != nil {
			return nil, err
		}
	}
	if p.eat("-") {
		s.add('-')
	}
	if !p.eat("]") {
		return nil, p.fail("brackets ([ ]) not balanced")
	}
	p.finishBracket(s, negated)
	return &node{op: opSet, set: s}, nil
}

func (p *parser) finishBracket(s *set, negated bool) {
	if p.flags&FoldCase != 0 {
		s.foldCase()
	}
	if !negated {
		return
	}
	s.invert()
	if p.flags&Newline != 0 {
		s.remove('\n')
	}
}

func (p *parser) bracketTerm(s *set) error {
	switch {
	case p.peekIs("-"):
		return p.fail("invalid character range")
	case p.eat("[:"):
		return p.bracketClass(s)
	case p.eat("[="):
		return p.bracketEquivalence(s)
	}
	return p.bracketRange(s)
}

func (p *parser) bracketClass(s *set) error {
	start := p.pos
	for p.more() && isAlpha(p.text[p.pos]) {
		p.pos++
	}
	name := p.text[start:p.pos]
	if !p.more() {
		return p.fail("brackets ([ ]) not balanced")
	}
	member, ok := classes[name]
	if !ok || !p.eat(":]") {
		return p.fail("invalid character class")
	}
	for c := 0; c < 256; c++ {
		if member(byte(c)) {
			s.add(byte(c))
		}
	}
	return nil
}

func (p *parser) bracketEquivalence(s *set) error {
	c, err := p.collatingElement("=]")
	if err != nil {
		return err
	}
	s.add(c)
	return nil
}

func (p *parser) bracketRange(s *set) error {
	from, err := p.bracketSymbol()
	if err != nil {
		return err
	}
	to := from
	if p.peekIs("-") && p.pos+1 < len(p.text) && p.text[p.pos+1] != ']' {
		p.pos++
		if p.eat("-") {
			to = '-'
		} else if to, err = p.bracketSymbol(); err != nil {
			return err
		}
	}
	if from > to {
		return p.fail("invalid character range")
	}
	for c := int(from); c <= int(to); c++ {
		s.add(byte(c))
	}
	return nil
}

func (p *parser) bracketSymbol() (byte, error) {
	if !p.more() {
		return 0, p.fail("brackets ([ ]) not balanced")
	}
	if p.eat("[.") {
		return p.collatingElement(".]")
	}
	return p.next(), nil
}

// collatingElement parses a name up to end, which it consumes.
func (p *parser) collatingElement(end string) (byte, error) {
	n := strings.Index(p.text[p.pos:], end)
	if n < 0 {
		p.pos = len(p.text)
		return 0, p.fail("brackets ([ ]) not balanced")
	}
	name := p.text[p.pos : p.pos+n]
	c, ok := collating[name]
	if !ok && len(name) == 1 {
		c, ok = name[0], true
	}
	if !ok {
		return 0, p.fail("invalid collating element")
	}
	p.pos += n + len(end)
	return c, nil
}

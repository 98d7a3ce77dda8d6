package text

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// parser reads a text. After a problem with the form it stands at the end of what it may read, in bad, and every method
// returns at once, until the node loop mends it at the next node.
type parser struct {
	data     []byte
	pos      int
	bad      bool
	full     bool // the findings are full
	file     string
	node     []byte // name of the node that is read
	findings diag.List
	lines    int // ends of lines before counted
	lineAt   int // start of the line of counted
	counted  int // offset up to which lines are counted
}

// report adds a finding at an offset.
func (p *parser) report(at int, code, constraint, message, expected, found string) {
	if p.full {
		return
	}
	d := diag.Diagnostic{Code: code, Constraint: constraint, Message: message, Expected: expected, Found: found}
	if len(p.findings) == MaxFindings {
		p.full = true
		d = diag.Diagnostic{Code: codeMore, Constraint: ir.StageParse, Severity: diag.Remark,
			Message: "there are more problems; the rest of the text was not read"}
	}
	line, col := p.place(at)
	d.Location = diag.Location{File: p.file, Line: line, Column: col}
	if len(p.node) > 0 {
		d.Location.Node = "%" + string(p.node)
	}
	p.findings = append(p.findings, d)
}

// place gives the line and the column of an offset. It is quick when offsets grow.
func (p *parser) place(at int) (line, col int) {
	if at < p.counted {
		p.lines, p.lineAt, p.counted = 0, 0, 0
	}
	between := p.data[p.counted:at]
	if n := bytes.Count(between, newline); n > 0 {
		p.lines += n
		p.lineAt = p.counted + bytes.LastIndexByte(between, '\n') + 1
	}
	p.counted = at
	return p.lines + 1, at - p.lineAt + 1
}

var newline = []byte{'\n'}

// fail reports something else than expected at an offset and ends the reading of the node.
func (p *parser) fail(at int, expected string) {
	if !p.bad {
		p.report(at, codeSyntax, ir.StageParse, "something else is expected here", expected, p.describe(at))
	}
	p.bad = true
}

// failHere is fail at the next token.
func (p *parser) failHere(expected string) {
	p.peek()
	p.fail(p.pos, expected)
}

// describe names what stands at an offset.
func (p *parser) describe(at int) string {
	rest := p.data[at:]
	n := wordLength(rest, letter|digit)
	switch {
	case len(rest) == 0:
		return "the end of the text"
	case rest[0] == '\n':
		return "the end of the line"
	case n > 0:
		return quote(string(rest[:n]))
	case rest[0] == '"' || rest[0] == '%':
		end := 1
		for end < len(rest) && end < 40 && rest[end] != '\n' && (rest[0] == '"' && rest[end] != '"' || classes[rest[end]] != 0) {
			end++
		}
		return quote(string(rest[:end]))
	}
	_, n = utf8.DecodeRune(rest)
	return quote(string(rest[:n]))
}

// peek skips blanks and comments and gives the next byte, 0 at the end.
func (p *parser) peek() byte {
	d := p.data
	for i := p.pos; i < len(d); {
		switch c := d[i]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			i++
		case c == '/' && i+1 < len(d) && d[i+1] == '/':
			n := bytes.IndexByte(d[i:], '\n')
			if n < 0 {
				n = len(d) - i
			}
			i += n
		default:
			p.pos = i
			return c
		}
	}
	p.pos = len(d)
	return 0
}

// take consumes a byte if it is the next token.
func (p *parser) take(c byte) bool {
	if p.bad || p.peek() != c || p.pos == len(p.data) {
		return false
	}
	p.pos++
	return true
}

// expect consumes a byte that must be next.
func (p *parser) expect(c byte) {
	if !p.take(c) {
		p.failHere(strconv.Quote(string(c)))
	}
}

// arrow consumes "->" if it is next.
func (p *parser) arrow() bool {
	if p.bad || p.peek() != '-' || p.pos+1 >= len(p.data) || p.data[p.pos+1] != '>' {
		return false
	}
	p.pos += 2
	return true
}

// more drives a comma-separated list: true if an item follows, false after the closing bracket or a problem. n counts the
// items so far.
func (p *parser) more(n int, closing byte) bool {
	if p.take(closing) {
		return false
	}
	if n > 0 && !p.take(',') {
		p.failHere(`"," or "` + string(closing) + `"`)
	}
	return !p.bad
}

// word consumes a word if one is next; the result is valid as long as the text.
func (p *parser) word() []byte {
	if p.bad {
		return nil
	}
	p.peek()
	n := wordLength(p.data[p.pos:], letter)
	p.pos += n
	return p.data[p.pos-n : p.pos]
}

// isWordNext consumes a word if it is next.
func (p *parser) isWordNext(word string) bool {
	mark := p.pos
	if string(p.word()) == word {
		return true
	}
	p.pos = mark
	return false
}

// quotedEnd finds the end of the string in quotes at an offset, behind its closing quote; -1 if it does not end on its line.
func (p *parser) quotedEnd(at int) int {
	for i := at + 1; i < len(p.data); i++ {
		switch p.data[i] {
		case '"':
			return i + 1
		case '\n':
			return -1
		case '\\':
			i++
		}
	}
	return -1
}

// quoted reads a string in quotes, with the escapes of Go; the opening quote must be next.
func (p *parser) quoted() string {
	end := p.quotedEnd(p.pos)
	if end < 0 {
		p.fail(p.pos, `a string with a closing '"' on the same line`)
		return ""
	}
	text := p.data[p.pos:end]
	body := text[1 : len(text)-1]
	s, err := string(body), error(nil)
	if bytes.IndexByte(body, '\\') >= 0 {
		s, err = strconv.Unquote(string(text))
	}
	if err != nil || !utf8.Valid(body) || !utf8.ValidString(s) {
		p.fail(p.pos, "a string in UTF-8 with the escapes of Go")
		return ""
	}
	p.pos = end
	return s
}

// integer reads an integer.
func (p *parser) integer() int64 {
	if p.bad {
		return 0
	}
	p.peek()
	n := p.numberLength()
	text := p.data[p.pos : p.pos+n]
	if n == 0 || bytes.ContainsAny(text, ".eE") {
		p.fail(p.pos, "an integer")
		return 0
	}
	return p.parseInt(text)
}

func (p *parser) parseInt(text []byte) int64 {
	at := p.pos
	p.pos += len(text)
	if len(text) <= 18 {
		v, i := int64(0), 0
		if text[0] == '-' {
			i = 1
		}
		for ; i < len(text); i++ {
			v = v*10 + int64(text[i]-'0')
		}
		if text[0] == '-' {
			v = -v
		}
		return v
	}
	v, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		p.report(at, ir.CodeTooLarge, ir.StageValue, "a number is too large", "an integer of 64 bits", quote(string(text)))
	}
	return v
}

// numberLength measures the number at the cursor, with a fraction and an exponent if it has them; 0 if there is none.
func (p *parser) numberLength() int {
	d, i := p.data, p.pos
	if i < len(d) && d[i] == '-' {
		i++
	}
	start := i
	digits := func() {
		for i < len(d) && classes[d[i]] == digit {
			i++
		}
	}
	if digits(); i == start {
		return 0
	}
	if i+1 < len(d) && d[i] == '.' && classes[d[i+1]] == digit {
		i++
		digits()
	}
	if i < len(d) && (d[i] == 'e' || d[i] == 'E') {
		j := i + 1
		if j < len(d) && (d[j] == '+' || d[j] == '-') {
			j++
		}
		if j < len(d) && classes[d[j]] == digit {
			i = j
			digits()
		}
	}
	return i - p.pos
}

// number reads an integer or a number with a fraction or an exponent.
func (p *parser) number() ir.AttrValue {
	text := p.data[p.pos : p.pos+p.numberLength()]
	switch {
	case len(text) == 0:
		p.fail(p.pos, "a value")
		return ir.AttrValue{}
	case !bytes.ContainsAny(text, ".eE"):
		return ir.IntAttr(p.parseInt(text))
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil && math.IsInf(f, 0) {
		p.report(p.pos, ir.CodeTooLarge, ir.StageValue, "a number is too large", "a number of 64 bits", quote(string(text)))
	}
	p.pos += len(text)
	return ir.FloatAttr(f)
}

// uuid reads an id that follows at the cursor without a blank.
func (p *parser) uuid() (u ir.UUID, ok bool) {
	if p.pos+36 <= len(p.data) {
		u, ok = ir.UUIDFromText(p.data[p.pos : p.pos+36])
	}
	if ok {
		p.pos += 36
	}
	return u, ok
}

// skipValue passes over a value up to the comma or the bracket behind it, which must be on the outside of it.
func (p *parser) skipValue() {
	for depth := 0; !p.bad; {
		switch c := p.peek(); {
		case p.pos == len(p.data):
			p.fail(p.pos, "a closing bracket")
		case c == '"':
			if p.pos = p.quotedEnd(p.pos); p.pos < 0 {
				p.pos = len(p.data)
				p.fail(p.pos, `a closing '"'`)
			}
		case c == '(' || c == '[' || c == '{':
			depth++
			p.pos++
		case depth == 0 && (c == ',' || c == '}' || c == ']' || c == ')'):
			return
		case c == ')' || c == ']' || c == '}':
			depth--
			p.pos++
		default:
			p.pos += max(1, wordLength(p.data[p.pos:], letter|digit))
		}
	}
}

// recover moves to the next line that begins a node.
func (p *parser) recover() {
	p.bad = false
	for {
		n := bytes.IndexByte(p.data[p.pos:], '\n')
		if n < 0 {
			p.pos = len(p.data)
			return
		}
		p.pos += n + 1
		if p.pos < len(p.data) && (p.data[p.pos] == '%' || classes[p.data[p.pos]] == letter) {
			return
		}
	}
}

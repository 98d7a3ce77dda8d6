package zspace

import (
	"math"
	"strconv"
	"strings"
)

// maxParsedCells bounds rows × columns of a parsed map: a short text may name
// many dimensions and many rows, and their product is what is allocated.
const maxParsedCells = 1 << 20

// ParseRange reads the text of a range, with or without the prefix:
// "zr[0:2, -1:3]" or "[0:2, -1:3]"; "[]" has no dimensions. Spaces are allowed
// between the parts. Errors: *[ParseError] with the place, or as [NewRange].
func ParseRange(s string) (Range, error) {
	p := &scanner{text: s}
	p.accept("zr")
	p.expect("[")
	var start, end Point
	for i := 0; p.more(i, "]"); i++ {
		start = append(start, p.integer())
		p.expect(":")
		end = append(end, p.integer())
	}
	if err := p.finish(); err != nil {
		return Range{}, err
	}
	return NewRange(start, end)
}

// ParseAffineMap reads what [AffineMap.String] writes: "(d0, d1) -> (d0 + 10,
// 2*d1)". The dimensions must be named d0, d1, … in order. A dimension may occur
// more than once in a sum. Maps of more than a million matrix entries are
// refused.
func ParseAffineMap(s string) (AffineMap, error) {
	p := &scanner{text: s}
	a := p.affine("(", ")")
	if err := p.finish(); err != nil {
		return AffineMap{}, err
	}
	return NewAffineMap(a.Projection, a.Offset)
}

// ParseProjectionMap reads what [ProjectionMap.String] writes: "(d0, d1) -> [d0
// + 10, 2*d1] + [1, 5]", under the rules of [ParseAffineMap].
func ParseProjectionMap(s string) (ProjectionMap, error) {
	p := &scanner{text: s}
	a := p.affine("[", "]")
	p.expect("+")
	p.expect("[")
	var shape Point
	for i := 0; p.more(i, "]"); i++ {
		shape = append(shape, p.integer())
	}
	if err := p.finish(); err != nil {
		return ProjectionMap{}, err
	}
	return NewProjectionMap(a, shape)
}

// scanner reads a text from left to right. After the first error it stands still
// and every method returns at once.
type scanner struct {
	text string
	pos  int
	err  error
}

func (p *scanner) fail(want string) { p.failAs(want, nil) }

func (p *scanner) failAs(want string, cause error) {
	if p.err != nil {
		return
	}
	found := "end of text"
	if rest := p.text[p.pos:]; rest != "" {
		found = strconv.Quote(rest[:min(len(rest), 16)])
	}
	p.err = &ParseError{Offset: p.pos, Want: want, Found: found, Cause: cause}
}

// space skips blanks.
func (p *scanner) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// accept takes tok, after blanks, if it is next.
func (p *scanner) accept(tok string) bool {
	if p.err != nil {
		return false
	}
	p.space()
	if !strings.HasPrefix(p.text[p.pos:], tok) {
		return false
	}
	p.pos += len(tok)
	return true
}

func (p *scanner) expect(tok string) {
	if !p.accept(tok) {
		p.fail(strconv.Quote(tok))
	}
}

// more drives a comma-separated list: true when item i follows, false after the
// closing bracket or an error.
func (p *scanner) more(i int, closing string) bool {
	if p.accept(closing) {
		return false
	}
	if i > 0 && !p.accept(",") {
		p.fail(`"," or ` + strconv.Quote(closing))
	}
	return p.err == nil
}

// finish returns the first error, or one for text after the end.
func (p *scanner) finish() error {
	p.space()
	if p.err == nil && p.pos < len(p.text) {
		p.fail("end of text")
	}
	return p.err
}

// digits takes an unsigned decimal number; ok is false when none is next.
func (p *scanner) digits() (v uint64, ok bool) {
	start := p.pos
	for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
		p.pos++
	}
	v, err := strconv.ParseUint(p.text[start:p.pos], 10, 64)
	if err != nil && p.pos > start {
		p.pos = start
		p.failAs("a number of 64 bits", ErrOverflow)
	}
	return v, err == nil
}

// integer takes a signed decimal number.
func (p *scanner) integer() int64 {
	negative := p.accept("-")
	return p.signed(negative)
}

// signed takes the digits of a number whose sign is known.
func (p *scanner) signed(negative bool) int64 {
	if p.err != nil {
		return 0
	}
	p.space()
	start := p.pos
	m, ok := p.digits()
	switch {
	case !ok:
		p.fail("an integer")
	case negative && m <= 1<<63:
		return -int64(m)
	case !negative && m <= math.MaxInt64:
		return int64(m)
	default:
		p.pos = start
		p.failAs("a number of 64 bits", ErrOverflow)
	}
	return 0
}

// affine takes "(d0, …) -> " and the rows between the two brackets.
func (p *scanner) affine(open, closing string) AffineMap {
	cols := 0
	p.expect("(")
	for p.more(cols, ")") {
		p.space()
		if at := p.pos; p.dim(cols+1) != cols {
			p.pos = at
			p.fail("dimension d" + strconv.Itoa(cols))
		}
		cols++
	}
	p.expect("->")
	p.expect(open)
	var a AffineMap
	for k := 0; p.more(k, closing); k++ {
		if (k+1)*cols > maxParsedCells {
			p.fail("at most " + strconv.Itoa(maxParsedCells) + " matrix entries")
			break
		}
		row := make([]int64, cols)
		a.Offset = append(a.Offset, p.sum(row))
		a.Projection = append(a.Projection, row)
	}
	return a
}

// dim takes a dimension name below limit and returns its number, or -1.
func (p *scanner) dim(limit int) int {
	if !p.accept("d") {
		return -1
	}
	at := p.pos
	v, ok := p.digits()
	if !ok || v >= uint64(limit) || p.pos-at != len(strconv.FormatUint(v, 10)) {
		return -1
	}
	return int(v)
}

// sum takes one row, adds its coefficients to row, and returns the constant.
func (p *scanner) sum(row []int64) int64 {
	off := int64(0)
	negative := false
	for first := true; p.err == nil; first = false {
		if !first && !p.accept("+") {
			if !p.accept("-") {
				break
			}
			negative = true
		}
		if p.accept("-") {
			negative = !negative
		}
		p.term(row, &off, negative)
		negative = false
	}
	return off
}

// term takes "3", "d0" or "3*d0" and adds it where it belongs.
func (p *scanner) term(row []int64, off *int64, negative bool) {
	p.space()
	at, c := p.pos, int64(1)
	if negative {
		c = -1
	}
	into := off
	if !strings.HasPrefix(p.text[p.pos:], "d") {
		c = p.signed(negative)
		if p.err != nil || !p.accept("*") {
			p.add(into, c, at)
			return
		}
		p.space()
	}
	dimAt := p.pos
	j := p.dim(len(row))
	if j < 0 {
		p.pos = dimAt
		p.fail("a dimension below d" + strconv.Itoa(len(row)))
		return
	}
	p.add(&row[j], c, at)
}

func (p *scanner) add(into *int64, c int64, at int) {
	v, ok := addOK(*into, c)
	if !ok {
		p.pos = at
		p.failAs("a sum of 64 bits", ErrOverflow)
		return
	}
	*into = v
}

package check

import (
	"sort"
	"strings"
)

// source is a named text that messages can point into.
type source struct {
	name  string
	text  string
	lines []int // offset of the start of each line
}

func newSource(name, text string) *source {
	s := &source{name: name, text: text, lines: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// position returns the one-based line and column of an offset. Columns also start after a carriage return.
func (s *source) position(off int) (line, col int) {
	line = sort.SearchInts(s.lines, off+1)
	start, _ := s.lineAround(off)
	return line, off - start + 1
}

// lineAround returns the extent of the line that holds an offset, without its end.
func (s *source) lineAround(off int) (start, end int) {
	start = strings.LastIndexAny(s.text[:off], "\n\r") + 1
	end = len(s.text)
	if i := strings.IndexAny(s.text[off:], "\n\r"); i >= 0 {
		end = off + i
	}
	return start, end
}

func (s *source) all() span { return span{s, 0, len(s.text)} }

// span is a piece of a source: a string that knows where it stands. Its methods never change it.
type span struct {
	src    *source
	lo, hi int
}

func (s span) String() string { return s.src.text[s.lo:s.hi] }
func (s span) len() int       { return s.hi - s.lo }
func (s span) empty() bool    { return s.lo == s.hi }

// at returns the empty span at offset i of s.
func (s span) at(i int) span { return span{s.src, s.lo + i, s.lo + i} }

// from returns s without its first n bytes.
func (s span) from(n int) span { return span{s.src, s.lo + n, s.hi} }

// to returns the first n bytes of s.
func (s span) to(n int) span { return span{s.src, s.lo, s.lo + n} }

// slice returns bytes [i, j) of s.
func (s span) slice(i, j int) span { return span{s.src, s.lo + i, s.lo + j} }

// has tells whether s starts with prefix.
func (s span) has(prefix string) bool { return strings.HasPrefix(s.String(), prefix) }

// cut removes prefix where s starts with it.
func (s span) cut(prefix string) (span, bool) {
	if !s.has(prefix) {
		return s, false
	}
	return s.from(len(prefix)), true
}

// blank is the horizontal white space that canonicalization merges.
const blank = " \t"

func (s span) trimLeft() span {
	return s.from(s.len() - len(strings.TrimLeft(s.String(), blank)))
}

func (s span) trimRight() span {
	return s.to(len(strings.TrimRight(s.String(), blank)))
}

// index returns the offset of the first occurrence of text, or -1.
func (s span) index(text string) int { return strings.Index(s.String(), text) }

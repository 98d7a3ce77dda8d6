// Package ere matches POSIX extended regular expressions with back-references, the dialect of FileCheck patterns.
//
// A match is the leftmost one and, among those, the longest. Text is bytes, not runes. Sub-expressions take the
// longest text they can from left to right. There are no Perl classes and no lazy quantifiers.
//
// Patterns without back-references run in time linear in the text (a set-of-states simulation, sim.go) and their
// groups are found afterwards by splitting the match (dissect.go). Patterns with back-references run in a memoized
// backtracker (backtrack.go). Both stop with ErrBudget rather than run for ever.
//
// The package imports the standard library only and must stay that way: it is useful outside of filecheck.
// Read next: parse.go for the syntax, prog.go for the compiled form.
package ere

import (
	"errors"
	"strings"
)

// Flags change how a pattern is compiled.
type Flags uint8

const (
	// Newline makes the pattern line-oriented: '.' and negated brackets do not match "\n", and '^' and '$' also
	// match next to one.
	Newline Flags = 1 << iota
	// FoldCase matches ASCII letters without regard to case. Back-references still compare exactly.
	FoldCase
)

// ErrBudget reports that a match was given up because it needed more work than a pattern is allowed.
var ErrBudget = errors.New("regular expression needs too many steps")

// SyntaxError says what is wrong with a pattern. Offset is the byte at which parsing stopped.
type SyntaxError struct {
	Msg    string
	Offset int
}

// Error returns the message alone, in the wording of the POSIX regerror tradition.
func (e *SyntaxError) Error() string { return e.Msg }

// Regexp is a compiled pattern. It is immutable and safe for concurrent use.
type Regexp struct {
	prog   []inst
	root   *node
	groups int
	used   []int  // groups that back-references name, sorted
	prefix string // every match starts with this text
	first  *set   // every match starts with one of these bytes; nil when a match may be empty
}

// Compile parses a pattern. The error is a *SyntaxError.
func Compile(pattern string, flags Flags) (*Regexp, error) {
	p := &parser{text: pattern, flags: flags}
	tree, err := p.parse()
	if err != nil {
		return nil, err
	}
	return build(tree, p.groups)
}

// Groups returns the number of parenthesized groups, not counting the whole match.
func (re *Regexp) Groups() int { return re.groups }

// Find returns the leftmost-longest match in text as offset pairs: the whole match first, then each group (-1, -1
// where a group took no part). It returns nil where there is no match. The only error is ErrBudget.
func (re *Regexp) Find(text string) ([]int, error) {
	if len(re.used) > 0 {
		return re.backtrack(text)
	}
	m := newMachine(re, text)
	start, end, err := m.search()
	if err != nil || start < 0 {
		return nil, err
	}
	return m.groups(start, end)
}

// Escape returns a pattern that matches s and nothing else.
func Escape(s string) string {
	const special = `()^$|*+?.[]\{}`
	if !strings.ContainsAny(s, special) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(special, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

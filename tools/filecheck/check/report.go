package check

import (
	"fmt"
	"slices"
	"strings"
)

// markKind is what a mark in the dump of the input says.
type markKind int

const (
	markGood      markKind = iota // found, as expected
	markExcluded                  // found, but should not be there
	markWrongLine                 // found, but on the wrong line
	markDiscarded                 // found, but another match was there first
	markAbsent                    // not found, as expected
	markMissing                   // not found, but expected
	markInvalid                   // not searched: the pattern has no value
	markFuzzy                     // perhaps what was meant
)

// mark is one result of a search, to be shown in the dump of the input.
type mark struct {
	pattern *pattern
	kind    markKind
	at      span
	note    string
}

// dumping tells whether marks are wanted. Verbose messages then go into the dump alone.
func (m *matcher) dumping() bool { return m.opts.Dump.Mode != DumpNever }

func (m *matcher) mark(kind markKind, p *pattern, at span, note string) {
	if m.dumping() {
		m.marks = append(m.marks, mark{p, kind, at, note})
	}
}

// remark marks a result. With replace it instead changes the marks that the pattern's last search left.
func (m *matcher) remark(kind markKind, p *pattern, at span, replace bool) {
	if !replace {
		m.mark(kind, p, at, "")
		return
	}
	for i := len(m.marks) - 1; i >= 0 && m.marks[i].pattern.at == m.marks[len(m.marks)-1].pattern.at; i-- {
		m.marks[i].kind = kind
	}
}

// found reports a match: an error if it is not expected, else only when verbose.
func (m *matcher) found(p *pattern, expected bool, nth int, region span, h hit) {
	v := m.opts.Verbosity
	if expected && (v == 0 || v == 1 && p.kind == kindEOF) {
		return
	}
	kind, sev, what := markGood, sevRemark, "expected"
	if !expected {
		kind, sev, what = markExcluded, sevError, "excluded"
	}
	at := region.slice(h.pos, h.end)
	m.mark(kind, p, at, "")
	if m.dumping() {
		m.markDetails(kind, p, at)
		if expected {
			return
		}
	}
	text := fmt.Sprintf("%s: %s string found in input", p.describe(), what)
	m.out.message(p.at, sev, text+p.progress(nth))
	m.out.message(at, sevNote, "found here", at)
	for _, s := range p.substitutions(m.prog.vars) {
		m.out.message(at, sevNote, s)
	}
	for _, c := range p.captures(m.prog.vars) {
		m.out.message(c.at, sevNote, c.text(), c.at)
	}
}

func (m *matcher) markDetails(kind markKind, p *pattern, at span) {
	for _, s := range p.substitutions(m.prog.vars) {
		m.mark(kind, p, at.to(0), s)
	}
	for _, c := range p.captures(m.prog.vars) {
		m.mark(kind, p, c.at, c.text())
	}
}

// missing reports that nothing matched: an error if a match is expected or the pattern has problems, else only when
// very verbose. It returns whether all is well.
func (m *matcher) missing(p *pattern, expected bool, nth int, region span, bad []*problem) bool {
	kind, sev, what := markMissing, sevError, "expected"
	if !expected {
		kind, sev, what = markAbsent, sevRemark, "excluded"
	}
	for _, b := range bad {
		kind = markInvalid
		m.out.problem(b)
	}
	good := !expected && len(bad) == 0
	if good && m.opts.Verbosity < 2 {
		return true
	}
	m.mark(kind, p, region, "")
	if m.dumping() {
		for _, b := range bad {
			m.mark(kind, p, region.to(0), b.text)
		}
		for _, s := range p.substitutions(m.prog.vars) {
			m.mark(kind, p, region.to(0), s)
		}
		if good {
			return true
		}
	}
	if len(bad) == 0 {
		text := fmt.Sprintf("%s: %s string not found in input", p.describe(), what)
		m.out.message(p.at, sev, text+p.progress(nth))
		m.out.message(region, sevNote, "scanning from here")
	}
	for _, s := range p.substitutions(m.prog.vars) {
		m.out.message(region, sevNote, s)
	}
	if expected {
		m.suggest(p, region)
	}
	return good
}

// suggest points at what the pattern may have meant.
func (m *matcher) suggest(p *pattern, region span) {
	if i := closest(p.example(), region.String()); i > 0 {
		m.mark(markFuzzy, p, region.at(i), "")
		m.out.message(region.at(i), sevNote, "possible intended match here")
	}
}

// discarded reports that a DAG's match was dropped because of an earlier one at old.
func (m *matcher) discarded(p *pattern, old span) {
	if m.opts.Verbosity < 2 {
		return
	}
	if m.dumping() {
		m.remark(markDiscarded, p, old, true)
		return
	}
	m.out.message(old, sevNote, "match discarded, overlaps earlier DAG match here", old)
}

// progress says which of several matches a COUNT is at.
func (p *pattern) progress(nth int) string {
	if p.count <= 1 {
		return ""
	}
	return fmt.Sprintf(" (%d out of %d)", nth, p.count)
}

// substitutions describes the values that filled the pattern's holes.
func (p *pattern) substitutions(vars *scope) []string {
	var out []string
	for _, part := range p.parts {
		if part.hole == nil {
			continue
		}
		if value, failed := part.hole.value(vars); failed == nil {
			out = append(out, fmt.Sprintf("with \"%s\" equal to \"%s\"", quoted(part.hole.from.String()), quoted(value)))
		}
	}
	return out
}

// captured is a variable and where its value was found.
type captured struct {
	name string
	at   span
}

func (c captured) text() string { return `captured var "` + c.name + `"` }

// captures returns what the pattern captured, in the order of the input.
func (p *pattern) captures(vars *scope) []captured {
	var out []captured
	for name := range p.strings {
		out = append(out, captured{name, vars.text[name]})
	}
	for n := range p.numbers {
		if n.text.src != nil {
			out = append(out, captured{n.name, n.text})
		}
	}
	slices.SortFunc(out, func(a, b captured) int {
		if a.at.lo != b.at.lo {
			return a.at.lo - b.at.lo
		}
		return strings.Compare(a.name, b.name)
	})
	return out
}

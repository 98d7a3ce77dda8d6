package check

import (
	"math/big"
	"strings"
)

func intValue(n int) *big.Int { return big.NewInt(int64(n)) }

// matcher runs a program over an input.
type matcher struct {
	opts  *Options
	out   *printer
	prog  *program
	input *source
	marks []mark
}

// match checks the whole input. Labels divide it into blocks: each label is searched first, and then the block that
// ends with it is checked on its own, so that one failure does not hide another block's.
func (m *matcher) match() bool {
	good := true
	rest := m.input.all()
	done := 0
	for next := 0; ; {
		for next < len(m.prog.steps) && m.prog.steps[next].kind != kindLabel {
			next++
		}
		block := rest
		if next < len(m.prog.steps) {
			_, end, ok := m.occurrences(m.prog.steps[next], rest, 0)
			if !ok {
				return false
			}
			block, rest = rest.to(end), rest.from(end)
			next++
		}
		if done != 0 && m.opts.Rules.VarScope {
			m.prog.vars.forget()
		}
		good = m.block(m.prog.steps[done:next], block) && good
		done = next
		if next == len(m.prog.steps) {
			return good
		}
	}
}

// block checks steps in order within one region.
func (m *matcher) block(steps []*step, region span) bool {
	for _, s := range steps {
		end, ok := m.step(s, region)
		if !ok {
			return false
		}
		region = region.from(end)
	}
	return true
}

// step matches one positive directive with the DAGs and NOTs before it and returns where it ends.
func (m *matcher) step(s *step, region span) (end int, ok bool) {
	from, nots, ok := m.before(s.before, region)
	if !ok {
		return 0, false
	}
	pos, end, ok := m.occurrences(s, region, from)
	if !ok {
		return 0, false
	}
	skipped := region.slice(from, pos)
	if bad := m.lineRule(s, skipped); bad {
		m.remark(markWrongLine, s.pattern, region.slice(pos, end), m.opts.Verbosity > 0)
		return 0, false
	}
	if !m.absent(nots, skipped) {
		return 0, false
	}
	return end, true
}

// maxRepeats is how many times a COUNT reports the same empty match.
const maxRepeats = 1000

// occurrences finds s.count matches in region from an offset on. It returns the start of the first and the end of
// the last one.
func (m *matcher) occurrences(s *step, region span, from int) (pos, end int, ok bool) {
	pos, end = from, from
	for i := 1; i <= max(s.count, 1); i++ {
		rest := region.from(end)
		found, bad, err := s.search(rest, m.prog.vars)
		if err != nil {
			m.missing(s.pattern, true, i, rest, bad)
			return 0, 0, false
		}
		m.found(s.pattern, true, i, rest, found)
		if i == 1 {
			pos = end + found.pos
		}
		if found.end == 0 && i > maxRepeats {
			break // an empty match: all the others are the same
		}
		end += found.end
	}
	return pos, end, true
}

// absent checks that none of the patterns occurs in region.
func (m *matcher) absent(nots []*pattern, region span) bool {
	good := true
	for _, p := range nots {
		found, bad, err := p.search(region, m.prog.vars)
		if err == nil {
			m.found(p, false, 1, region, found)
			good = false
		} else if !m.missing(p, false, 1, region, bad) {
			good = false
		}
	}
	return good
}

// lineRule checks how many lines a NEXT, SAME or EMPTY may be away from the previous match. It tells whether the rule
// is broken.
func (m *matcher) lineRule(s *step, skipped span) (broken bool) {
	if s.kind != kindNext && s.kind != kindSame && s.kind != kindEmpty {
		return false
	}
	lines, first := countLines(skipped)
	name := s.prefix + kinds[s.kind].suffix
	var fault string
	switch {
	case s.kind == kindSame && lines != 0:
		fault = ": is not on the same line as the previous match"
	case s.kind != kindSame && lines == 0:
		fault = ": is on the same line as previous match"
	case s.kind != kindSame && lines > 1:
		fault = ": is not on the line after the previous match"
	default:
		return false
	}
	m.out.message(s.at, sevError, name+fault)
	m.out.message(skipped.from(skipped.len()), sevNote, "'next' match was here")
	m.out.message(skipped, sevNote, "previous match ended here")
	if s.kind != kindSame && lines > 1 {
		m.out.message(first, sevNote, "non-matching line after previous match is here")
	}
	return true
}

// countLines counts the line ends in s and returns the place after the first one. "\r\n" and "\n\r" count once.
func countLines(s span) (n int, first span) {
	for {
		i := strings.IndexAny(s.String(), "\n\r")
		if i < 0 {
			return n, first
		}
		n++
		text := s.String()
		skip := i + 1
		if skip < len(text) && (text[skip] == '\n' || text[skip] == '\r') && text[skip] != text[i] {
			skip++
		}
		s = s.from(skip)
		if n == 1 {
			first = s
		}
	}
}

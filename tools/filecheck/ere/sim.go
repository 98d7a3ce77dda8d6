package ere

import "strings"

// One match may execute baseSteps instructions and stepsPerByte more for each byte of text.
const (
	baseSteps    = 1 << 26
	stepsPerByte = 64
)

// machine runs one pattern over one text as a set of states.
type machine struct {
	re    *Regexp
	text  string
	steps int // executed so far
	limit int
	cur   states
	nxt   states
	stack []int32
}

// states is an ordered set of instructions, each with the position at which its match started.
type states struct {
	sparse []int32
	dense  []thread
}

type thread struct {
	pc    int32
	start int32
}

func newMachine(re *Regexp, text string) *machine {
	n := len(re.prog) + 1
	return &machine{
		re: re, text: text, limit: baseSteps + stepsPerByte*len(text),
		cur: states{sparse: make([]int32, n), dense: make([]thread, 0, n)},
		nxt: states{sparse: make([]int32, n), dense: make([]thread, 0, n)},
	}
}

func (s *states) has(pc int32) bool {
	i := s.sparse[pc]
	return int(i) < len(s.dense) && s.dense[i].pc == pc
}

func (s *states) add(t thread) {
	s.sparse[t.pc] = int32(len(s.dense))
	s.dense = append(s.dense, t)
}

func (s *states) clear() { s.dense = s.dense[:0] }

// holds tells whether an assertion is true at pos.
func holds(kind op, text string, pos int) bool {
	before := pos > 0 && isWord(text[pos-1])
	after := pos < len(text) && isWord(text[pos])
	switch kind {
	case opStart:
		return pos == 0
	case opEnd:
		return pos == len(text)
	case opBOL:
		return pos == 0 || text[pos-1] == '\n'
	case opEOL:
		return pos == len(text) || text[pos] == '\n'
	case opBOW:
		return !before && after
	default:
		return before && !after
	}
}

// enter adds pc and all that follows from it without consuming text, staying inside of [lo, hi]; hi itself is kept as
// the sign that the range has been matched.
func (m *machine) enter(to *states, t thread, pos, lo, hi int) {
	m.stack = append(m.stack[:0], t.pc)
	for len(m.stack) > 0 {
		pc := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		if int(pc) < lo || int(pc) > hi || to.has(pc) {
			continue
		}
		m.steps++
		to.add(thread{pc, t.start})
		if int(pc) == hi {
			continue
		}
		switch in := m.re.prog[pc]; in.op {
		case iSplit:
			m.stack = append(m.stack, in.y, in.x)
		case iJump:
			m.stack = append(m.stack, in.x)
		case iSave:
			m.stack = append(m.stack, pc+1)
		case iAssert:
			if holds(op(in.n), m.text, pos) {
				m.stack = append(m.stack, pc+1)
			}
		}
	}
}

// search finds the leftmost-longest match, or start -1.
func (m *machine) search() (start, end int, err error) {
	start, end = -1, -1
	last := len(m.re.prog) - 1
	m.cur.clear()
	for pos := 0; pos <= len(m.text); pos++ {
		if m.steps > m.limit {
			return -1, -1, ErrBudget
		}
		if len(m.cur.dense) == 0 {
			if start >= 0 {
				break
			}
			if pos = m.skip(pos); pos < 0 {
				break
			}
		}
		if start < 0 {
			m.enter(&m.cur, thread{0, int32(pos)}, pos, 0, last)
		}
		m.nxt.clear()
		for _, t := range m.cur.dense {
			if start >= 0 && int(t.start) > start {
				break
			}
			if int(t.pc) == last {
				start, end = int(t.start), pos
				continue
			}
			m.advance(t, pos, 0, last)
		}
		m.cur, m.nxt = m.nxt, m.cur
	}
	return start, end, nil
}

// advance moves t over the byte at pos into the next set of states.
func (m *machine) advance(t thread, pos, lo, hi int) {
	in := &m.re.prog[t.pc]
	if in.op == iSet && pos < len(m.text) && in.set.has(m.text[pos]) {
		m.enter(&m.nxt, thread{t.pc + 1, t.start}, pos+1, lo, hi)
	}
}

// skip returns the next position at which a match can start, or -1.
func (m *machine) skip(pos int) int { return m.re.skip(m.text, pos) }

func (re *Regexp) skip(text string, pos int) int {
	if re.prefix != "" {
		i := strings.Index(text[pos:], re.prefix)
		if i < 0 {
			return -1
		}
		return pos + i
	}
	if re.first == nil {
		return pos
	}
	for ; pos < len(text); pos++ {
		if re.first.has(text[pos]) {
			return pos
		}
	}
	return -1
}

// longest returns the greatest q <= limit such that instructions [lo, hi) match text[from:q] and accept(q), or -1.
func (m *machine) longest(lo, hi, from, limit int, accept func(int) bool) int {
	best := -1
	m.cur.clear()
	m.enter(&m.cur, thread{int32(lo), 0}, from, lo, hi)
	for pos := from; len(m.cur.dense) > 0; pos++ {
		m.nxt.clear()
		for _, t := range m.cur.dense {
			if int(t.pc) == hi {
				if accept(pos) {
					best = pos
				}
				continue
			}
			if pos < limit {
				m.advance(t, pos, lo, hi)
			}
		}
		m.cur, m.nxt = m.nxt, m.cur
	}
	return best
}

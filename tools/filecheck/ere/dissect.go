package ere

// Dissection finds what each group captured once the ends of the whole match are known. A concatenation gives each
// part in turn the longest text that still lets the rest match; an alternative is the first that matches all of the
// text; a repetition captures its last turn.

// table records for some instructions the positions from which the end of a range of text can be reached.
type table struct {
	base int
	rows map[int][]uint64
}

func (t *table) has(pc, pos int) bool {
	i := pos - t.base
	row := t.rows[pc]
	return i>>6 < len(row) && row[i>>6]&(1<<(i&63)) != 0
}

func (t *table) set(pc, pos int) {
	i := pos - t.base
	t.rows[pc][i>>6] |= 1 << (i & 63)
}

// groups returns the captures of a match of the whole pattern.
func (m *machine) groups(start, end int) ([]int, error) {
	caps := make([]int, 2*m.re.groups+2)
	for i := range caps {
		caps[i] = -1
	}
	caps[0], caps[1] = start, end
	m.dissect(m.re.root, start, end, caps)
	if m.steps > m.limit {
		return nil, ErrBudget
	}
	return caps, nil
}

func (m *machine) dissect(n *node, i, j int, caps []int) {
	if !n.marked || m.steps > m.limit {
		return
	}
	switch n.op {
	case opMark:
		caps[n.n] = i
	case opCat:
		m.dissectCat(n, i, j, caps)
	case opAlt:
		m.dissectAlt(n, i, j, caps)
	case opStar:
		m.dissectStar(n, i, j, caps)
	}
}

func (m *machine) dissectCat(n *node, i, j int, caps []int) {
	pcs := make([]int, len(n.subs))
	for k, sub := range n.subs {
		pcs[k] = sub.hi
	}
	reach := m.reach(n.lo, n.hi, i, j, pcs)
	for _, sub := range n.subs {
		q := m.longest(sub.lo, sub.hi, i, j, func(p int) bool { return reach.has(sub.hi, p) })
		if q < 0 {
			return // only when the budget ran out
		}
		m.dissect(sub, i, q, caps)
		i = q
	}
}

func (m *machine) dissectAlt(n *node, i, j int, caps []int) {
	for _, sub := range n.subs {
		if m.longest(sub.lo, sub.hi, i, j, func(p int) bool { return p == j }) == j {
			m.dissect(sub, i, j, caps)
			return
		}
	}
}

func (m *machine) dissectStar(n *node, i, j int, caps []int) {
	sub := n.subs[0]
	if i == j {
		if m.longest(sub.lo, sub.hi, i, j, func(int) bool { return true }) == j {
			m.dissect(sub, i, j, caps)
		}
		return
	}
	reach := m.reach(n.lo, n.hi, i, j, []int{sub.hi})
	from := i
	for pos := i; pos < j; {
		q := m.longest(sub.lo, sub.hi, pos, j, func(p int) bool { return reach.has(sub.hi, p) })
		if q <= pos {
			break
		}
		from, pos = pos, q
		if q == j {
			m.dissect(sub, from, q, caps)
		}
	}
}

// reach computes, for each instruction of pcs, from which positions in [i, j] instructions [lo, hi) can consume the
// text up to exactly j. It runs the range backwards.
func (m *machine) reach(lo, hi, i, j int, pcs []int) *table {
	t := &table{base: i, rows: map[int][]uint64{}}
	for _, pc := range pcs {
		t.rows[pc] = make([]uint64, (j-i)>>6+1)
	}
	after := make([]bool, hi-lo+1)
	here := make([]bool, hi-lo+1)
	for pos := j; pos >= i && m.steps <= m.limit; pos-- {
		m.reachAt(here, after, lo, pos, j)
		for pc := range t.rows {
			if here[pc-lo] {
				t.set(pc, pos)
			}
		}
		here, after = after, here
	}
	return t
}

// reachAt fills here with the instructions that lead to the end from pos, given those that do from pos+1.
func (m *machine) reachAt(here, after []bool, lo, pos, end int) {
	hi := lo + len(here) - 1
	clear(here)
	here[len(here)-1] = pos == end
	for changed := true; changed; {
		changed = false
		for pc := hi - 1; pc >= lo; pc-- {
			if here[pc-lo] {
				continue
			}
			if m.leads(here, after, pc, lo, pos, end) {
				here[pc-lo] = true
				changed = true
			}
		}
		m.steps += len(here)
	}
}

func (m *machine) leads(here, after []bool, pc, lo, pos, end int) bool {
	in := &m.re.prog[pc]
	in2 := func(x int32) bool {
		k := int(x) - lo
		return k >= 0 && k < len(here) && here[k]
	}
	switch in.op {
	case iSet:
		return pos < end && in.set.has(m.text[pos]) && after[pc+1-lo]
	case iSplit:
		return in2(in.x) || in2(in.y)
	case iJump:
		return in2(in.x)
	case iAssert:
		return holds(op(in.n), m.text, pos) && here[pc+1-lo]
	}
	return here[pc+1-lo]
}

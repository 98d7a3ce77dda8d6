package check

import "slices"

// before matches the DAGs in list and the NOTs between them. It returns where the step's own pattern may start, and
// the NOTs that must be absent from there to it.
func (m *matcher) before(list []*pattern, region span) (from int, nots []*pattern, ok bool) {
	for i := 0; i < len(list); {
		if list[i].kind == kindNot {
			nots = append(nots, list[i])
			i++
			continue
		}
		end := i
		for end < len(list) && list[end].kind == kindDag {
			end++
		}
		taken, ok := m.group(list[i:end], region, from)
		if !ok || !m.absent(nots, region.slice(from, max(from, taken[0].pos))) {
			return 0, nil, false
		}
		nots = nil
		from = taken[len(taken)-1].end
		i = end
	}
	return from, nots, true
}

// group matches consecutive DAGs, each anywhere behind from but not over another. It returns the ranges that they
// took, sorted; at least one.
func (m *matcher) group(dags []*pattern, region span, from int) (taken []hit, ok bool) {
	for _, p := range dags {
		at, h, ok := m.fit(p, region, from, taken)
		if !ok {
			return nil, false
		}
		if m.opts.Rules.DagOverlap && len(taken) > 0 {
			taken[0] = hit{min(taken[0].pos, h.pos), max(taken[0].end, h.end)}
		} else {
			taken = slices.Insert(taken, at, h)
		}
		if m.opts.Verbosity < 2 {
			m.found(p, true, 1, region, h)
		}
	}
	return taken, true
}

// fit finds the first match of p at or behind from that overlaps none of taken, and its place among them.
func (m *matcher) fit(p *pattern, region span, from int, taken []hit) (at int, h hit, ok bool) {
	for {
		rest := region.from(from)
		found, bad, err := p.search(rest, m.prog.vars)
		if err != nil {
			m.missing(p, true, 1, rest, bad)
			return 0, hit{}, false
		}
		if m.opts.Verbosity >= 2 {
			m.found(p, true, 1, rest, found)
		}
		h = hit{from + found.pos, from + found.end}
		if m.opts.Rules.DagOverlap {
			return 0, h, true
		}
		for at < len(taken) && taken[at].end <= h.pos {
			at++
		}
		if at == len(taken) || h.end <= taken[at].pos {
			return at, h, true
		}
		m.discarded(p, region.slice(taken[at].pos, taken[at].end))
		from = taken[at].end
		at++
	}
}

package language

import (
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/rewrite"
)

// compiled is a rule of the language, ready to match.
type compiled struct {
	patterns []*pattern
	guard    condition    // nil for none
	results  []resultExpr // alternatives
	slots    int
}

// binding is what a variable stands for.
type binding struct {
	bound bool
	sel   ir.Selection
	seq   []ir.Selection
	attr  ir.AttrValue
	rest  ir.Attrs
}

// match is one look of a rule at a site, and what it has bound so far. The next look uses its memory again, as nearly every one finds nothing.
type match struct {
	*rewrite.Site
	slots  []binding
	trail  []int // slots in the order in which they were bound
	from   []ir.NodeID
	result ir.Selection
}

func (m *match) start(slots int) {
	m.undo(0)
	if len(m.slots) < slots {
		m.slots = make([]binding, slots)
	}
	m.from = m.from[:0]
}

// undo unbinds what was bound since the trail was mark long.
func (m *match) undo(mark int) {
	for _, i := range m.trail[mark:] {
		m.slots[i].bound = false
	}
	m.trail = m.trail[:mark]
}

func (m *match) set(slot int) *binding {
	b := &m.slots[slot]
	b.bound = true
	m.trail = append(m.trail, slot)
	return b
}

// match is the Match of a rule of the language. The rule never fits an operation with another number of outputs than one.
func (c *compiled) match(site *rewrite.Site) (rewrite.Result, bool) {
	out, ok := site.Result()
	if !ok {
		return rewrite.Result{}, false
	}
	m, ok := site.Scratch.(*match)
	if !ok {
		m = &match{Site: site}
		site.Scratch = m
	}
	m.result = out
	for _, p := range c.patterns {
		if p.kernel != site.Kernel() {
			continue
		}
		m.start(c.slots)
		root := rewrite.Def{Node: site.Node, Op: site.Op, Kernel: p.kernel, Inputs: site.Op.Inputs}
		if !m.matchOp(p, root, out) || c.guard != nil && !c.guard(m) {
			continue
		}
		var all []rewrite.Result
		for i := range c.results {
			if o, ok := c.results[i].build(m); ok {
				all = append(all, rewrite.One(o, slices.Clone(m.from)...))
			}
		}
		if len(all) > 0 {
			all[0].Others = all[1:]
			return all[0], true
		}
	}
	return rewrite.Result{}, false
}

// matchOp matches an operation that computes sel. Ports are matched in order; what one port has bound is not taken back for
// the next.
func (m *match) matchOp(p *pattern, d rewrite.Def, sel ir.Selection) bool {
	if p.as >= 0 && !m.bindSelection(p.as, sel) {
		return false
	}
	ports := 0
	for i := range p.ports {
		var sels []ir.Selection
		if port := d.Inputs.OneOf(p.ports[i].names); port != nil {
			sels = port.Sel
			ports++
		}
		if !m.matchItems(p.ports[i].items, sels) {
			return false
		}
	}
	if ports != d.Inputs.Len() || !m.matchAttrs(p, d.Op.Params) {
		return false
	}
	if d.Node != m.Node {
		m.from = append(m.from, d.Node.ID)
	}
	return true
}

// matchItems matches the entries of a port; sequences take as few as they can.
func (m *match) matchItems(items []item, sels []ir.Selection) bool {
	if len(items) == 0 {
		return len(sels) == 0
	}
	it, rest := &items[0], items[1:]
	switch {
	case it.slot >= 0 && it.kind == sequenceVar && len(rest) == 0:
		m.set(it.slot).seq = sels
		return true
	case it.slot >= 0 && it.kind == sequenceVar:
		mark, from := len(m.trail), len(m.from)
		for n := range len(sels) + 1 {
			m.set(it.slot).seq = sels[:n]
			if m.matchItems(rest, sels[n:]) {
				return true
			}
			m.undo(mark)
			m.from = m.from[:from]
		}
		return false
	case it.slot >= 0 && it.kind == optionalVar:
		n := min(1, len(sels))
		m.set(it.slot).seq = sels[:n]
		return m.matchItems(rest, sels[n:])
	}
	return len(sels) > 0 && m.matchOne(it, sels[0]) && m.matchItems(rest, sels[1:])
}

func (m *match) matchOne(it *item, sel ir.Selection) bool {
	switch {
	case it.slot >= 0:
		return m.bindSelection(it.slot, sel)
	case it.number != nil:
		v, ok := m.Splat(sel)
		if !ok {
			return false
		}
		w, err := scalar.Literal(v.DType, *it.number)
		return err == nil && v.Same(w)
	}
	d, ok := m.DefBy(it.sub.kernel, sel)
	return ok && m.matchOp(it.sub, d, sel)
}

// bindSelection binds a variable, or compares with what it stands for already.
func (m *match) bindSelection(slot int, sel ir.Selection) bool {
	if b := &m.slots[slot]; b.bound {
		return b.sel.Equal(sel)
	}
	m.set(slot).sel = sel
	return true
}

// matchAttrs matches the parameters of an operation; one that is not given has its default.
func (m *match) matchAttrs(p *pattern, params ir.Attrs) bool {
	for i := range p.attrs {
		a := &p.attrs[i]
		v, ok := params.Get(a.name)
		if !ok {
			if v, ok = p.decl.Default(a.name); !ok {
				return false
			}
		}
		if a.slot < 0 {
			if !v.Equal(a.value) {
				return false
			}
		} else if b := &m.slots[a.slot]; !b.bound {
			m.set(a.slot).attr = v
		} else if !b.attr.Equal(v) {
			return false
		}
	}
	return m.matchRest(p, params)
}

func (m *match) matchRest(p *pattern, params ir.Attrs) bool {
	if p.rest >= 0 {
		m.set(p.rest).rest = nil
	}
	for _, a := range params {
		if slices.ContainsFunc(p.attrs, func(q attrPattern) bool { return q.name == a.Name }) {
			continue
		}
		if p.rest >= 0 {
			b := &m.slots[p.rest]
			b.rest = append(b.rest, a)
		} else if v, ok := p.decl.Default(a.Name); !ok || !v.Equal(a.Value) {
			return false
		}
	}
	return true
}

package ere

import "slices"

// op is the kind of a syntax tree node.
type op uint8

const (
	opEmpty   op = iota
	opSet        // one byte out of set
	opStart      // start of text
	opEnd        // end of text
	opBOL        // start of text or line
	opEOL        // end of text or line
	opBOW        // start of a word
	opEOW        // end of a word
	opGroup      // subs[0], captured as group n; only before build
	opMark       // saves the position in slot n; only after build
	opCat        // subs one after the other
	opAlt        // one of subs
	opStar       // subs[0] min to max times; after build, min is 0 or 1 and there is no max
	opBackRef    // the text of group n
)

// node is a piece of the pattern. After build, lo and hi delimit its instructions and marked says whether a mark lies
// in it; groups have become marks in the enclosing concatenation and counts have been expanded by then.
type node struct {
	op       op
	n        int
	set      *set
	subs     []*node
	min, max int // opStar; max < 0 is unbounded
	lo, hi   int
	marked   bool
}

const (
	maxRepeat = 255  // largest count in {n,m}
	maxDepth  = 1000 // deepest nesting of parentheses
)

// parser reads one pattern.
type parser struct {
	text   string
	pos    int
	flags  Flags
	groups int
	closed []bool // closed[i]: group i+1 is complete, so it can be referred to
	depth  int
}

func (p *parser) parse() (*node, error) {
	tree, err := p.alternation(false)
	if err != nil {
		return nil, err
	}
	return tree, nil
}

func (p *parser) fail(msg string) error { return &SyntaxError{Msg: msg, Offset: p.pos} }

func (p *parser) more() bool { return p.pos < len(p.text) }

func (p *parser) peekIs(s string) bool {
	return len(p.text)-p.pos >= len(s) && p.text[p.pos:p.pos+len(s)] == s
}

func (p *parser) eat(s string) bool {
	if !p.peekIs(s) {
		return false
	}
	p.pos += len(s)
	return true
}

func (p *parser) next() byte {
	c := p.text[p.pos]
	p.pos++
	return c
}

// alternation parses branches up to the end, or up to the ')' that closes a group.
func (p *parser) alternation(inGroup bool) (*node, error) {
	var branches []*node
	for {
		branch, err := p.branch(inGroup)
		if err != nil {
			return nil, err
		}
		branches = append(branches, branch)
		if !p.eat("|") {
			break
		}
	}
	if len(branches) == 1 {
		return branches[0], nil
	}
	return &node{op: opAlt, subs: branches}, nil
}

func (p *parser) branch(inGroup bool) (*node, error) {
	cat := &node{op: opCat}
	start := p.pos
	for p.more() && !p.peekIs("|") && !(inGroup && p.peekIs(")")) {
		piece, err := p.piece()
		if err != nil {
			return nil, err
		}
		cat.subs = append(cat.subs, piece)
	}
	if p.pos == start {
		return nil, p.fail("empty (sub)expression")
	}
	return cat, nil
}

// piece parses an atom and at most one repetition operator.
func (p *parser) piece() (*node, error) {
	caret := p.peekIs("^")
	atom, err := p.atom()
	if err != nil || !p.atRepeat() {
		return atom, err
	}
	if caret {
		return nil, p.fail("repetition-operator operand invalid")
	}
	piece, err := p.repeat(atom)
	if err != nil {
		return nil, err
	}
	if p.atRepeat() {
		return nil, p.fail("repetition-operator operand invalid")
	}
	return piece, nil
}

// atRepeat tells whether a repetition operator is next. A brace is one only before a digit.
func (p *parser) atRepeat() bool {
	if !p.more() {
		return false
	}
	switch p.text[p.pos] {
	case '*', '+', '?':
		return true
	case '{':
		return p.pos+1 < len(p.text) && isDigit(p.text[p.pos+1])
	}
	return false
}

func (p *parser) repeat(atom *node) (*node, error) {
	star := &node{op: opStar, subs: []*node{atom}, max: -1}
	switch p.next() {
	case '+':
		star.min = 1
	case '?':
		star.max = 1
	case '{':
		return star, p.counts(star)
	}
	return star, nil
}

// counts parses what follows "{": n}, n,} or n,m}.
func (p *parser) counts(star *node) error {
	var err error
	if star.min, err = p.count(); err != nil {
		return err
	}
	star.max = star.min
	if p.eat(",") {
		star.max = -1
		if p.more() && isDigit(p.text[p.pos]) {
			if star.max, err = p.count(); err != nil {
				return err
			}
			if star.min > star.max {
				return p.fail("invalid repetition count(s)")
			}
		}
	}
	if p.eat("}") {
		return nil
	}
	for p.more() && !p.peekIs("}") {
		p.pos++
	}
	if !p.more() {
		return p.fail("braces not balanced")
	}
	return p.fail("invalid repetition count(s)")
}

func (p *parser) count() (int, error) {
	n := 0
	for p.more() && isDigit(p.text[p.pos]) && n <= maxRepeat {
		n = 10*n + int(p.next()-'0')
	}
	if n > maxRepeat {
		return 0, p.fail("invalid repetition count(s)")
	}
	return n, nil
}

func (p *parser) atom() (*node, error) {
	switch c := p.next(); c {
	case '(':
		return p.group()
	case ')':
		return nil, p.fail("parentheses not balanced")
	case '^':
		return &node{op: p.anchor(opStart, opBOL)}, nil
	case '$':
		return &node{op: p.anchor(opEnd, opEOL)}, nil
	case '*', '+', '?':
		return nil, p.fail("repetition-operator operand invalid")
	case '.':
		return p.any(), nil
	case '[':
		return p.bracket()
	case '\\':
		return p.escape()
	case '{':
		if p.more() && isDigit(p.text[p.pos]) {
			return nil, p.fail("repetition-operator operand invalid")
		}
		return p.literal(c), nil
	default:
		return p.literal(c), nil
	}
}

func (p *parser) group() (*node, error) {
	if !p.more() {
		return nil, p.fail("parentheses not balanced")
	}
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("parentheses nested too deeply")
	}
	p.groups++
	p.closed = append(p.closed, false)
	group := &node{op: opGroup, n: p.groups}
	body := &node{op: opEmpty}
	if !p.peekIs(")") {
		var err error
		if body, err = p.alternation(true); err != nil {
			return nil, err
		}
	}
	if !p.eat(")") {
		return nil, p.fail("parentheses not balanced")
	}
	group.subs = []*node{body}
	p.closed[group.n-1] = true
	p.depth--
	return group, nil
}

func (p *parser) escape() (*node, error) {
	if !p.more() {
		return nil, p.fail("trailing backslash (\\)")
	}
	c := p.next()
	if c < '1' || c > '9' {
		return p.literal(c), nil
	}
	n := int(c - '0')
	if n > len(p.closed) || !p.closed[n-1] {
		return nil, p.fail("invalid backreference number")
	}
	return &node{op: opBackRef, n: n}, nil
}

// anchor returns the kind of anchor that the flags ask for.
func (p *parser) anchor(ofText, ofLine op) op {
	if p.flags&Newline != 0 {
		return ofLine
	}
	return ofText
}

func (p *parser) any() *node {
	s := &set{}
	s.invert()
	if p.flags&Newline != 0 {
		s.remove('\n')
	}
	return &node{op: opSet, set: s}
}

func (p *parser) literal(c byte) *node {
	s := &set{}
	s.add(c)
	if p.flags&FoldCase != 0 {
		s.foldCase()
	}
	return &node{op: opSet, set: s}
}

// references returns the groups named by back-references under n, sorted and without repeats.
func references(n *node) []int {
	var found []int
	var walk func(*node)
	walk = func(n *node) {
		if n.op == opBackRef {
			found = append(found, n.n)
		}
		for _, s := range n.subs {
			walk(s)
		}
	}
	walk(n)
	slices.Sort(found)
	return slices.Compact(found)
}

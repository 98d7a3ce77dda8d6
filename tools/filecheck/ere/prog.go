package ere

// iop is the kind of an instruction.
type iop uint8

const (
	iSet     iop = iota // consume one byte out of set
	iAssert             // hold the assertion n (an op)
	iSave               // store the position in slot n
	iSplit              // go to x, or else to y
	iJump               // go to x
	iBackRef            // consume a copy of group n
	iMatch              // done
)

// inst is one instruction. All but iSplit, iJump and iMatch go on to the next one.
type inst struct {
	op   iop
	n    int32
	x, y int32
	set  *set
}

// maxProg bounds the program that nested repetition counts can expand to.
const maxProg = 1 << 16

// builder turns a syntax tree into instructions. Each node's code is contiguous, is entered at its first instruction
// and left at its end: a range of instructions is a pattern of its own, which is what dissection relies on.
type builder struct {
	prog []inst
	full bool
}

func build(tree *node, groups int) (*Regexp, error) {
	b := &builder{}
	root := b.compile(tree)
	b.emit(inst{op: iMatch})
	if b.full {
		return nil, &SyntaxError{Msg: "regular expression too large"}
	}
	re := &Regexp{prog: b.prog, root: root, groups: groups, used: references(tree)}
	re.prefix = literalPrefix(root)
	re.first = firstBytes(re.prog)
	return re, nil
}

func (b *builder) emit(in inst) int {
	if len(b.prog) >= maxProg {
		b.full = true
		return len(b.prog) - 1
	}
	b.prog = append(b.prog, in)
	return len(b.prog) - 1
}

func (b *builder) here() int32 { return int32(len(b.prog)) }

// compile emits code for n and returns the node that describes it.
func (b *builder) compile(n *node) *node {
	out := &node{op: n.op, n: n.n, set: n.set, lo: int(b.here())}
	switch n.op {
	case opSet:
		b.emit(inst{op: iSet, set: n.set})
	case opStart, opEnd, opBOL, opEOL, opBOW, opEOW:
		b.emit(inst{op: iAssert, n: int32(n.op)})
	case opBackRef:
		b.emit(inst{op: iBackRef, n: int32(n.n)})
	case opMark:
		b.emit(inst{op: iSave, n: int32(n.n)})
		out.marked = true
	case opCat:
		b.sequence(out, n.subs)
	case opGroup:
		b.group(out, n)
	case opAlt:
		b.alternatives(out, n.subs)
	case opStar:
		b.repeat(out, n)
	}
	out.hi = int(b.here())
	return out
}

// sequence compiles parts one after the other, splicing nested concatenations and groups into out.
func (b *builder) sequence(out *node, parts []*node) {
	out.op = opCat
	for _, part := range parts {
		if b.full {
			return
		}
		sub := b.compile(part)
		out.marked = out.marked || sub.marked
		if sub.op == opCat {
			out.subs = append(out.subs, sub.subs...)
		} else if sub.op != opEmpty {
			out.subs = append(out.subs, sub)
		}
	}
}

func (b *builder) group(out, n *node) {
	open, end := &node{op: opMark, n: 2 * n.n}, &node{op: opMark, n: 2*n.n + 1}
	b.sequence(out, []*node{open, n.subs[0], end})
}

func (b *builder) alternatives(out *node, branches []*node) {
	out.op = opAlt
	var jumps []int
	for i, branch := range branches {
		split := -1
		if i < len(branches)-1 {
			split = b.emit(inst{op: iSplit, x: b.here() + 1})
		}
		sub := b.compile(branch)
		out.subs = append(out.subs, sub)
		out.marked = out.marked || sub.marked
		if split >= 0 {
			jumps = append(jumps, b.emit(inst{op: iJump}))
			b.prog[split].y = b.here()
		}
	}
	for _, j := range jumps {
		b.prog[j].x = b.here()
	}
}

// repeat expands counts the traditional way, which decides what the groups of a repeated piece capture:
// x{2,4} is x x? x? x, x{0,n} is (x{1,n})?, and x{n,} ends in x+.
func (b *builder) repeat(out, n *node) {
	x := n.subs[0]
	maybe := &node{op: opAlt, subs: []*node{x, {op: opEmpty}}}
	switch {
	case n.max < 0 && n.min <= 1:
		b.loop(out, x, n.min)
	case n.max < 0:
		last := &node{op: opStar, subs: n.subs, min: 1, max: -1}
		b.sequence(out, append(copies(x, n.min-1), last))
	case n.max == 0:
		out.op = opEmpty
	case n.min == 0 && n.max > 1:
		body := &node{op: opStar, subs: n.subs, min: 1, max: n.max}
		b.alternatives(out, []*node{body, {op: opEmpty}})
	case n.min == 0:
		b.alternatives(out, maybe.subs)
	default:
		parts := append(copies(x, n.min-1), copies(maybe, n.max-n.min)...)
		b.sequence(out, append(parts, x))
	}
}

func copies(n *node, count int) []*node {
	out := make([]*node, count, count+1)
	for i := range out {
		out[i] = n
	}
	return out
}

// loop compiles x* (min 0) or x+ (min 1).
func (b *builder) loop(out, x *node, min int) {
	out.op, out.min = opStar, min
	skip := -1
	if min == 0 {
		skip = b.emit(inst{op: iSplit, x: b.here() + 1})
	}
	top := b.here()
	sub := b.compile(x)
	again := b.emit(inst{op: iSplit, x: top})
	b.prog[again].y = b.here()
	if skip >= 0 {
		b.prog[skip].y = b.here()
	}
	out.subs = []*node{sub}
	out.marked = sub.marked
}

// literalPrefix returns the fixed text that every match of root starts with.
func literalPrefix(root *node) string {
	parts := root.subs
	if root.op != opCat {
		parts = []*node{root}
	}
	var text []byte
	for _, part := range parts {
		if part.op == opMark {
			continue
		}
		if part.op != opSet {
			break
		}
		c, ok := part.set.single()
		if !ok {
			break
		}
		text = append(text, c)
	}
	return string(text)
}

// firstBytes returns the bytes that a match can start with, or nil if it can be empty.
func firstBytes(prog []inst) *set {
	out := &set{}
	seen := make([]bool, len(prog))
	stack := []int32{0}
	for len(stack) > 0 {
		pc := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch in := prog[pc]; in.op {
		case iSet:
			out.union(in.set)
		case iMatch, iBackRef:
			return nil
		case iSplit:
			stack = append(stack, in.x, in.y)
		case iJump:
			stack = append(stack, in.x)
		default:
			stack = append(stack, pc+1)
		}
	}
	return out
}

package ere

import "slices"

// Limits of one backtracking match: instructions executed (and more for each byte of text), states remembered at all,
// and states kept from one start to the next.
const (
	baseTries    = 1 << 24
	triesPerByte = 64
	maxStates    = 1 << 20
	keptStates   = 1 << 12
)

// frame is what is left to try: continue at pc and pos, or (pc < 0) restore slot to pos.
type frame struct {
	pc, pos int32
	slot    int32
}

// state is a point of the search that need not be visited twice: the instruction, the position and what the groups
// that back-references use have captured.
type state struct {
	pc, pos int32
	caps    int32
}

// tracker is a search for the longest match from one start.
type tracker struct {
	re    *Regexp
	text  string
	caps  []int
	best  []int
	stack []frame
	seen  map[state]struct{}
	ids   map[string]int32 // captures of the used groups to a number
	id    int32            // the number of the present captures; -1 if not computed
	tries int              // left
}

func (re *Regexp) backtrack(text string) ([]int, error) {
	t := &tracker{re: re, text: text, tries: baseTries + triesPerByte*len(text)}
	t.caps = make([]int, 2*re.groups+2)
	for pos := 0; pos <= len(text); pos++ {
		if pos = re.skip(text, pos); pos < 0 {
			return nil, nil
		}
		if err := t.from(pos); err != nil {
			return nil, err
		}
		if t.best != nil {
			return t.best, nil
		}
	}
	return nil, nil
}

// from searches every way to match at start and keeps the first of the longest.
func (t *tracker) from(start int) error {
	if t.seen == nil || len(t.seen) > keptStates {
		t.seen, t.ids = map[state]struct{}{}, map[string]int32{}
	}
	for i := range t.caps {
		t.caps[i] = -1
	}
	t.caps[0], t.id = start, -1
	t.stack = append(t.stack[:0], frame{pc: 0, pos: int32(start)})
	for len(t.stack) > 0 {
		f := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		if f.pc < 0 {
			t.caps[f.slot], t.id = int(f.pos), -1
			continue
		}
		if err := t.run(int(f.pc), int(f.pos)); err != nil {
			return err
		}
	}
	return nil
}

// run follows one path until it fails or matches, leaving the alternatives on the stack.
func (t *tracker) run(pc, pos int) error {
	for {
		if t.tries--; t.tries < 0 {
			return ErrBudget
		}
		in := &t.re.prog[pc]
		switch in.op {
		case iMatch:
			t.matched(pos)
			return nil
		case iSplit:
			fresh, err := t.visit(pc, pos)
			if !fresh {
				return err
			}
			t.stack = append(t.stack, frame{pc: in.y, pos: int32(pos)})
			pc = int(in.x)
			continue
		case iJump:
			pc = int(in.x)
			continue
		}
		n := t.step(in, pos)
		if n < 0 {
			return nil
		}
		pos += n
		pc++
	}
}

// step executes an instruction that goes on to the next and returns the bytes it consumed, or -1 if it fails.
func (t *tracker) step(in *inst, pos int) int {
	switch in.op {
	case iSet:
		if pos < len(t.text) && in.set.has(t.text[pos]) {
			return 1
		}
		return -1
	case iAssert:
		if !holds(op(in.n), t.text, pos) {
			return -1
		}
	case iSave:
		t.stack = append(t.stack, frame{pc: -1, slot: in.n, pos: int32(t.caps[in.n])})
		t.caps[in.n], t.id = pos, -1
	case iBackRef:
		return t.repeatGroup(int(in.n), pos)
	}
	return 0
}

// repeatGroup returns the length of the text of group n if it stands at pos again, or -1.
func (t *tracker) repeatGroup(n, pos int) int {
	from, to := t.caps[2*n], t.caps[2*n+1]
	if from < 0 || to < from {
		return -1
	}
	want := t.text[from:to]
	if len(t.text)-pos < len(want) || t.text[pos:pos+len(want)] != want {
		return -1
	}
	return len(want)
}

func (t *tracker) matched(pos int) {
	if t.best == nil || pos > t.best[1] {
		t.best = slices.Clone(t.caps)
		t.best[1] = pos
	}
}

// visit tells whether this state is new. A state seen before, from this start or an earlier one, led to nothing that
// has not been found already.
func (t *tracker) visit(pc, pos int) (bool, error) {
	if t.id < 0 {
		t.id = t.number()
	}
	s := state{int32(pc), int32(pos), t.id}
	if _, ok := t.seen[s]; ok {
		return false, nil
	}
	if len(t.seen) >= maxStates {
		return false, ErrBudget
	}
	t.seen[s] = struct{}{}
	return true, nil
}

// number returns a number that stands for the captures of the groups in use.
func (t *tracker) number() int32 {
	key := make([]byte, 0, 64)
	for _, g := range t.re.used {
		for _, v := range t.caps[2*g : 2*g+2] {
			key = append(key, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
		}
	}
	id, ok := t.ids[string(key)]
	if !ok {
		id = int32(len(t.ids))
		t.ids[string(key)] = id
	}
	return id
}

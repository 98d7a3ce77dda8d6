package tree

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir/scalar"
)

// Limits are those of a target, in bytes, 0 for none: what a CPU thread and a GPU block may declare.
type Limits struct {
	Private, Shared int64
	Lanes           int64 // of a block, at most
}

// Verify says whether what is printed from a tree is a sound program: every variable and memory is declared once before it is used, every
// coordinate is inside its dimension whatever the loops do, memories are where their scope can be, lanes meet at barriers and see what
// other lanes wrote only behind one, and asynchronous copies are waited for. That operands are read inside their buffers
// follows, because the schedule's constraints prove it for all values of a kernel's loops. The error names the statement.
func Verify(f *Func, limits Limits) error {
	for _, x := range f.Functions {
		if err := Verify(x, limits); err != nil {
			return fmt.Errorf("tree %s: %w", f.Name, err)
		}
	}
	e := newEnv()
	v := &verifier{env: e, lanes: newLanes(e), limits: limits, declared: map[*Memory]*written{}, names: map[string]Stmt{}}
	for _, m := range f.Operands {
		v.declared[m] = &written{}
	}
	for _, p := range f.Params { // what a function does is a part of a task
		v.task, v.deep = &For{}, deepest
		if p.Memory != nil {
			v.name(p, p.Memory.Name)
			v.declared[p.Memory] = &written{}
			continue
		}
		v.index(p, p.From)
		v.index(p, p.To)
		v.define(p, p.Var, v.counted(p.From, p.To, max(1, p.Step)), false)
	}
	v.list(f.Body)
	if v.err != nil {
		return fmt.Errorf("tree %s: %w", f.Name, v.err)
	}
	return nil
}

type verifier struct {
	*env
	place
	lanes    *lanes
	limits   Limits
	declared map[*Memory]*written // nil is not declared
	names    map[string]Stmt
	err      error
}

// place is where a statement is.
type place struct {
	block, lane, vector bool
	apart               bool  // lanes may be at different statements
	task                *For  // the loop of threads
	once                *Once // what not all tasks do
	bytes               [Registers + 1]int64
}

func (v *verifier) fail(s Stmt, format string, args ...any) {
	if v.err == nil {
		p := &printer{}
		s.print(p)
		line, _, _ := strings.Cut(p.b.String(), "\n")
		v.err = fmt.Errorf("%s: %s", line, fmt.Sprintf(format, args...))
	}
}

func (v *verifier) list(body []Stmt) {
	vars, at := len(v.order), v.place
	var own []*Memory
	for _, s := range body {
		if v.err != nil {
			break
		}
		if d, ok := s.(*Declare); ok {
			own = append(own, d.Memory)
		}
		v.stmt(s)
	}
	v.release(vars)
	for _, m := range own {
		delete(v.declared, m)
	}
	v.place = at
}

func (v *verifier) stmt(s Stmt) {
	switch s := s.(type) {
	case *For:
		v.loop(s)
	case *Let:
		v.define(s, s.Var, fact{values: v.closely(s, s.Value), base: s.Value, named: true}, v.lanes.differs(s.Value))
	case *If:
		v.choice(s)
	case *Once:
		v.only(s)
	case *At:
		v.at(s)
	case *Branch:
		v.branch(s)
	case *Declare:
		v.declare(s)
	case *Map:
		v.computed(s, s.Computed)
		v.use(s, s.Dst, 1, true)
	case *Sort:
		sort(v, s)
	case *Dot:
		v.dot(s)
	case *Leaf:
		(&leaf{v, s}).verify()
	case *Hold:
		hold(v, s)
	case *Choose:
		choose(v, s)
	case *Combine:
		v.combine(s)
	case *Copy:
		v.copy(s)
	case *Prefetch:
		if _, ok := v.of(s.At); !ok || v.declared[s.Memory] == nil || s.Memory.Scope != Global {
			v.fail(s, "asks for what is no operand here")
		}
	case Commit:
		v.lanes.commit()
	case Wait:
		if s.Pending < 0 {
			v.fail(s, "waits for less than no group")
		}
		v.lanes.wait(s.Pending)
	case Barrier:
		v.meet(s)
	}
}

// meet is a barrier, where all lanes have to come.
func (v *verifier) meet(s Stmt) {
	switch {
	case !v.lane:
		v.fail(s, "lanes meet outside of their loop")
	case v.apart:
		v.fail(s, "lanes meet where not all of them come")
	}
	v.lanes.barrier()
}

// index gives the values of an index, whose variables have to be bound here; nil is 0.
func (v *verifier) index(s Stmt, x *Index) Interval {
	i, ok := v.of(cmp.Or(x, Const(0)))
	if !ok {
		v.fail(s, "uses a variable that is not bound here")
	}
	return i
}

// closely is index, with the ends of loops and the lesser of two.
func (v *verifier) closely(s Stmt, x *Index) Interval {
	defer func(before int) { v.deep = before }(v.deep)
	v.deep = deepest
	return v.index(s, x)
}

func (v *verifier) define(s Stmt, x *Var, f fact, divergent bool) {
	if _, bound := v.facts[x]; bound {
		v.fail(s, "%s is bound twice", x.Name)
	}
	v.name(s, x.Name)
	v.bind(x, f)
	v.lanes.divergent[x] = divergent
}

// name says that a name is used once: printers declare what trees do by name.
func (v *verifier) name(s Stmt, name string) {
	if before, ok := v.names[name]; ok && before != s {
		v.fail(s, "%s is the name of two things", name)
	}
	v.names[name] = s
}

func (v *verifier) loop(s *For) {
	from, to := v.index(s, s.From), v.index(s, s.To)
	if s.Step < 1 {
		v.fail(s, "a step of %d", s.Step)
	}
	if v.err != nil {
		return
	}
	v.bound(s, from, to)
	f := v.counted(s.From, s.To, s.Step)
	if f.rest.High < 0 || v.err != nil {
		return // it never runs
	}
	before, vars := v.place, len(v.order)
	diverges := s.Bind == Lane || v.lanes.differs(s.From) || v.lanes.differs(s.To)
	v.enter(s, diverges)
	v.define(s, s.Var, f, s.Bind == Lane || v.lanes.differs(s.From))
	v.list(s.Body)
	if f.rest.Step != 0 && (s.Bind == Serial || s.Bind == Unrolled) && v.lanes.busy() {
		for round := range int64(rounds) {
			v.again(s, round+1)
		}
	}
	v.release(vars)
	v.place = before
	if s.Bind == Lane {
		v.lanes.barrier() // regions follow each other
		if v.lanes.pending() {
			v.fail(s, "lanes end before their copies do")
		}
	}
}

// counted is what is known of a variable that counts from one index to another; its part has no values if it never does.
func (v *verifier) counted(start, end *Index, step int64) fact {
	from, _ := v.of(start)
	to, _ := v.of(end)
	most := min(to.High-from.Low, v.length(start, end)) - 1
	f := fact{base: start, rest: interval(0, max(most, 0), step)}
	if _, constant := end.Number(); !constant {
		f.limit = end
	}
	if most < 0 {
		f.rest.High = -1
	}
	f.values, _ = from.plus(f.rest)
	if i, ok := f.values.below(to.High); ok {
		f.values = i
	}
	return f
}

// again walks through a loop's body for a later round.
func (v *verifier) again(s *For, round int64) {
	v.lanes.shifted[s.Var] = Use(s.Var).Plus(round * s.Step)
	v.list(s.Body)
	delete(v.lanes.shifted, s.Var)
}

// bound checks what a loop's binding asks of its place and of its ends.
func (v *verifier) bound(s *For, from, to Interval) {
	constant := from.Step == 0 && to.Step == 0 && from.Low == 0 && s.Step == 1
	switch s.Bind {
	case Thread:
		if v.task != nil || v.block || v.lane || v.vector {
			v.fail(s, "threads inside of what runs on threads or blocks")
		}
		if s.Together && !together(s) {
			v.fail(s, "tasks go through one loop together whose ends do not follow them")
		}
	case Block:
		if v.block || v.task != nil || v.lane || !constant {
			v.fail(s, "blocks are counted from 0, outside of all else")
		}
	case Lane:
		if !v.block || v.lane || !constant {
			v.fail(s, "lanes are counted from 0, once in a loop of blocks")
		}
		if v.limits.Lanes > 0 && to.High > v.limits.Lanes {
			v.fail(s, "%d lanes, and a block has at most %d", to.High, v.limits.Lanes)
		}
	case Vector:
		if v.vector || v.block || s.Step != 1 || v.length(s.From, s.To) > s.Lanes {
			v.fail(s, "lanes of a vector of %d", s.Lanes)
		}
	}
}

func (v *verifier) enter(s *For, diverges bool) {
	switch s.Bind {
	case Thread:
		v.task = s
	case Block:
		v.block = true
	case Lane:
		v.lane = true
		v.lanes.begin()
		return
	case Vector:
		v.vector = true
	}
	v.apart = v.apart || diverges
}

func (v *verifier) choice(s *If) {
	before := v.place
	saved := map[*Var]fact{}
	reachable := true
	for _, c := range s.Conds {
		f := v.facts[c.Var]
		if v.index(s, Use(c.Var)); v.err != nil {
			return
		}
		v.apart = v.apart || v.lanes.divergent[c.Var] || v.lanes.differs(c.Limit) || v.lanes.differs(c.From)
		if _, ok := saved[c.Var]; !ok {
			saved[c.Var] = f
		}
		for _, end := range []*Index{c.From, c.Limit} {
			if end == nil {
				continue
			}
			at, inside := v.closely(s, end), true
			if end == c.From {
				f.values, inside = f.values.from(at.Low)
			} else {
				f.values, inside = f.values.below(at.High)
			}
			reachable = reachable && inside
		}
		v.facts[c.Var] = f
	}
	if reachable {
		v.list(s.Then)
	}
	maps.Copy(v.facts, saved)
	if len(s.Else) > 0 {
		reachable = true
		if len(s.Conds) == 1 {
			c := s.Conds[0]
			f := saved[c.Var]
			switch {
			case c.From == nil:
				limit, _ := v.of(c.Limit)
				f.values, reachable = f.values.from(limit.Low)
			case c.Limit == nil:
				from, _ := v.of(c.From)
				f.values, reachable = f.values.below(from.High)
			}
			v.facts[c.Var] = f
		}
		if reachable {
			v.list(s.Else)
		}
		maps.Copy(v.facts, saved)
	}
	v.place = before
}

// only is what a task leaves out if the task before did it: it depends on the key alone, and all that it writes is the thread's own and written nowhere else.
func (v *verifier) only(s *Once) {
	if v.task == nil || v.task.Together || !slices.Contains(v.task.Body, Stmt(s)) {
		v.fail(s, "is no step of a task")
		return
	}
	if i, ok := v.of(s.Key); !ok || i.Low < 0 {
		v.fail(s, "the key is a number from 0 on of what is bound here")
	}
	v.name(s, s.Last.Name)
	before, hidden := v.place, map[*Var]fact{}
	for _, x := range v.order[slices.Index(v.order, v.task.Var):] {
		if f := v.facts[x]; !f.named || !follows(f.base, s.Key, v.task.Var, hidden) {
			hidden[x] = f
		}
	}
	for x := range hidden {
		delete(v.facts, x)
	}
	v.once = s
	v.list(s.Body)
	v.place = before
	maps.Copy(v.facts, hidden)
}

// follows says whether an index is the same in all tasks of a key: it uses neither the number of the task, but in the key, nor other variables that are not.
func follows(x, key *Index, task *Var, others map[*Var]fact) bool {
	if x == nil || x.linear().String() == key.linear().String() {
		return true
	}
	if _, differs := others[x.v]; x.op == variable {
		return x.v != task && !differs
	}
	return follows(x.a, key, task, others) && follows(x.b, key, task, others)
}

// choose checks each case, of which the last is what every processor can do.
func choose(v *verifier, s *Choose) {
	for i, c := range s.Cases {
		switch {
		case i == len(s.Cases)-1 && c.Feature != "":
			v.fail(s, "the last case, %s, is not for every processor", c.Name)
		case slices.ContainsFunc(s.Cases[:i], func(x Case) bool { return x.Name == c.Name }):
			v.fail(s, "%s is the name of two cases", c.Name)
		}
		v.list(c.Body)
	}
}

// at is where a variable has a computed value, which may differ from lane to lane.
func (v *verifier) at(s *At) {
	v.computed(s, s.Computed)
	if s.From >= s.To {
		return // it never runs
	}
	before, vars := v.place, len(v.order)
	v.apart = true
	v.define(s, s.Var, fact{values: interval(s.From, s.To-1, 1)}, true)
	v.list(s.Body)
	v.release(vars)
	v.place = before
}

// branch is a choice by what is computed, which may differ from lane to lane.
func (v *verifier) branch(s *Branch) {
	v.computed(s, s.Computed)
	before := v.place
	v.apart = true
	v.list(s.Then)
	v.list(s.Else)
	v.place = before
}

func (v *verifier) declare(s *Declare) {
	m := s.Memory
	if v.declared[m] != nil {
		v.fail(s, "is declared twice")
	}
	v.declared[m] = &written{}
	v.name(s, m.Name)
	at := false
	switch m.Scope {
	case Workspace, Constant:
		at = v.task == nil && !v.block
	case Private:
		at = v.task != nil && !v.vector
	case Shared:
		at = v.block && !v.lane
	case Registers:
		at = v.task != nil || v.lane
	}
	if m.Of != nil {
		if why := m.beyond(); why != "" || v.declared[m.Of] == nil {
			v.fail(s, "%s of no memory here: %s", m.Name, why)
		}
	}
	if !at {
		v.fail(s, "there is no memory of the scope %s here", m.Scope)
	}
	v.bytes[m.Scope] += m.Bytes()
	for scope, most := range map[Scope]int64{Private: v.limits.Private, Shared: v.limits.Shared} {
		if most > 0 && v.bytes[scope] > most {
			v.fail(s, "%d bytes of %s memory, and there are %d", v.bytes[scope], scope, most)
		}
	}
}

// use checks an access of some neighbouring elements.
func (v *verifier) use(s Stmt, a Access, count int64, writes bool) {
	m := a.Memory
	if v.declared[m] == nil {
		v.fail(s, "%s is not declared here", m.Name)
		return
	}
	if len(a.At) != len(m.Dims) {
		v.fail(s, "%s has %d dimensions", m.Name, len(m.Dims))
		return
	}
	if m.Scope == Global && writes != m.Written {
		v.fail(s, "%s is an operand of the other kind", m.Name)
	}
	if w := v.declared[m]; writes && m.Scope != Registers && (v.once != nil || w.once != nil) {
		v.fail(s, "%s is written by what is not a leaf, and by what not all tasks do", m.Name)
	}
	even, hull := count == 1, make([]Interval, len(a.At))
	for d, x := range a.At {
		dim := m.Dims[d]
		if x == nil {
			if dim.Stride != 0 {
				v.fail(s, "%s has no coordinate in dimension %d", m.Name, d)
			}
			continue
		}
		i := v.index(s, x)
		if dim.Stride == 1 && !even {
			even = true
			i.High += count - 1
		}
		hull[d] = i
		if !i.within(dim.Start, dim.End) && dim.Stride != 0 {
			v.fail(s, "%s is accessed at %s = %d to %d in dimension %d, which is from %d to %d", m.Name, x, i.Low, i.High, d, dim.Start, dim.End)
		}
	}
	if !even {
		v.fail(s, "elements of %s are no neighbours", m.Name)
	}
	if (m.Scope == Private || m.Scope == Registers) && writes {
		v.declared[m].note(hull, v.task)
	}
	if m.Scope == Shared {
		if !v.lane {
			v.fail(s, "%s is for lanes", m.Name)
		} else if why := v.lanes.use(a, writes); why != "" {
			v.fail(s, "%s %s", m.Name, why)
		}
	}
}

// hold checks that what templates find as an operand is a task's own, and there.
func hold(v *verifier, s *Hold) {
	if v.declared[s.Memory] == nil || s.Memory.Scope != Private {
		v.fail(s, "%s is no memory of a task here", s.Memory.Name)
	}
	for _, x := range s.At {
		v.index(s, x)
	}
}

// computed checks an expression of a statement.
func (v *verifier) computed(in Stmt, s Computed) {
	s.Value.Walk(func(e *scalar.Expr) bool {
		switch {
		case e.Op == scalar.Load && (e.Ref < 0 || e.Ref >= len(s.Args)):
			v.fail(in, "there is no argument %d", e.Ref)
		case e.Op == scalar.Loop && (e.Ref < 0 || e.Ref >= len(s.Loops) || s.Loops[e.Ref] == nil):
			v.fail(in, "there is no loop %d", e.Ref)
		case e.Op == scalar.Local, e.Op == scalar.Reduce && !e.IsAt():
			v.fail(in, "a value of a statement or of a reduction")
		}
		return v.err == nil
	})
	for _, x := range s.Loops {
		v.index(in, x)
	}
	for _, a := range s.Args {
		v.use(in, a, 1, false)
	}
}

func sort(v *verifier, s *Sort) {
	if s.From >= s.To || s.First < 0 || s.Order.Memory.Type != scalar.Int64 || s.Order.Memory.Acc {
		v.fail(s, "an order is that of integers, some of which there are")
		return
	}
	v.use(s, s.Order, 2*s.Room(), true)
	vars := len(v.order)
	for _, x := range []*Var{s.Left, s.Right} {
		v.define(s, x, fact{values: interval(s.From, s.To-1, 1)}, true)
	}
	v.computed(s, s.Before)
	v.release(vars)
}

func (v *verifier) dot(s *Dot) {
	if len(s.Acc.Dims) != 2 || s.Acc.Scope != Registers || !s.Acc.Acc {
		v.fail(s, "%s is no tile of accumulators", s.Acc.Name)
		return
	}
	if from, to := v.index(s, s.From), v.index(s, s.To); to.High <= from.Low {
		return
	}
	vars := len(v.order)
	f := v.counted(s.From, s.To, 1)
	v.define(s, s.R, fact{values: interval(0, s.Rows()-1, 1)}, false)
	v.define(s, s.C, fact{values: interval(0, s.Cols()-1, 1)}, false)
	v.define(s, s.K, f, false)
	v.use(s, s.A, 1, false)
	v.use(s, s.B, 1, false)
	if v.declared[s.Acc] == nil {
		v.fail(s, "%s is not declared here", s.Acc.Name)
	}
	v.release(vars)
}

func (v *verifier) combine(s *Combine) {
	if s.Value.Memory.Scope != Registers {
		v.fail(s, "%s is not in registers", s.Value.Memory.Name)
	}
	if s.Lanes < 1 || s.Lanes&(s.Lanes-1) != 0 {
		v.fail(s, "%d lanes are no power of 2", s.Lanes)
	}
	v.use(s, s.Value, 1, true)
	if v.lane {
		if v.apart {
			v.fail(s, "lanes meet where not all of them come")
		}
		if s.Scratch != nil {
			if s.Scratch.Scope != Shared || v.declared[s.Scratch] == nil {
				v.fail(s, "%s is not shared", s.Scratch.Name)
			}
			v.meet(s)
		}
	}
}

func (v *verifier) copy(s *Copy) {
	if s.Dst.Memory.Type != s.Src.Memory.Type || s.Dst.Memory.Acc || s.Src.Memory.Acc {
		v.fail(s, "a copy of one type to another")
	}
	if s.Count < 1 {
		v.fail(s, "a copy of %d elements", s.Count)
	}
	v.use(s, s.Src, s.Count, false)
	if !s.Async {
		v.use(s, s.Dst, s.Count, true)
		return
	}
	if s.Dst.Memory.Scope != Shared || s.Src.Memory.Scope != Global || !v.lane {
		v.fail(s, "asynchronous copies are of lanes, from global to shared memory")
		return
	}
	if bytes := s.Count * int64(s.Dst.Memory.Type.Size()); !Asynchronous(bytes) {
		v.fail(s, "an asynchronous copy of %d bytes", bytes)
	}
	v.use(s, s.Dst, s.Count, true)
	v.lanes.copy(s.Dst)
}

// together says whether the body of a loop is one loop that is the same for all iterations.
func together(s *For) bool {
	if len(s.Body) != 1 {
		return false
	}
	inner, ok := s.Body[0].(*For)
	return ok && inner.Bind == Serial && !inner.From.Uses(s.Var) && !inner.To.Uses(s.Var)
}

// written is what was written of a memory: the least and the greatest coordinates, and the loop of threads that did.
type written struct {
	box  []Interval // nil before
	task *For
	once *Once // that a part of the task is
}

// leaf is a Leaf that is verified.
type leaf struct {
	v *verifier
	s *Leaf
}

// verify holds the boxes of a template to their memories, what it reads to what was written before, as far as the least and the greatest of all coordinates tell, and what it
// writes to what other tasks write.
func (l *leaf) verify() {
	v, s := l.v, l.s
	defer func(before int) { v.deep = before }(v.deep)
	v.deep = deepest
	for _, b := range s.Reads {
		hull, ok := l.box(b, false)
		if m := b.Memory; ok && m.Scope != Global && m.Scope != Constant {
			l.filled(b, hull)
		}
	}
	for _, b := range s.Writes {
		hull, ok := l.box(b, true)
		switch m := b.Memory; {
		case !ok:
		case m.Of != nil || m.Scope == Constant:
			v.fail(s, "%s is not written", m.Name)
		default:
			w := v.declared[m]
			if v.once != nil && m.Scope != Private && m.Scope != Registers || w.box != nil && w.once != v.once {
				v.fail(s, "%s is written by what not all tasks do, and is not for that alone", m.Name)
			}
			w.note(hull, v.task)
			w.once = v.once
			if m.Scope <= Workspace {
				if why := (&tasks{v.env, v.task}).apart(b); why != "" {
					v.fail(s, "tasks may write the same elements of %s: %s", m.Name, why)
				}
			}
		}
	}
	for _, a := range s.Args {
		var x []*Index
		switch {
		case a.At != nil:
			x = a.At.At
		case a.Ahead != nil:
			x = []*Index{a.Ahead.From, a.Ahead.More}
			if c := a.Ahead.When; c != nil {
				x = append(x, Use(c.Var), c.From, c.Limit)
			}
		default:
			x = []*Index{a.Number}
		}
		for _, y := range x {
			v.index(s, y)
		}
	}
	for _, a := range s.operands() {
		if v.declared[a.Memory] == nil {
			v.fail(s, "%s is not declared here", a.Memory.Name)
		}
	}
}

// box checks that a box is in its memory, and gives the coordinates that it may have.
func (l *leaf) box(b Box, writes bool) (hull []Interval, ok bool) {
	v, s := l.v, l.s
	m := b.Memory
	if v.declared[m] == nil {
		v.fail(s, "%s is not declared here", m.Name)
	} else if len(b.From) != len(m.Dims) || len(b.To) != len(m.Dims) {
		v.fail(s, "%s has %d dimensions", m.Name, len(m.Dims))
	} else if m.Scope == Global && writes != m.Written {
		v.fail(s, "%s is an operand of the other kind", m.Name)
	}
	if v.err != nil {
		return nil, false
	}
	hull = make([]Interval, len(m.Dims))
	for d, dim := range m.Dims {
		if dim.Stride == 0 {
			continue
		}
		if b.From[d] == nil || b.To[d] == nil {
			v.fail(s, "%s has no coordinate in dimension %d", m.Name, d)
			return nil, false
		}
		from, to := v.index(s, b.From[d]), v.index(s, b.To[d])
		hull[d] = interval(from.Low, max(from.Low, to.High-1), 1)
		if from.Low < dim.Start || to.High > dim.End {
			v.fail(s, "%s has a box from %s = %d to %s = %d in dimension %d, which is from %d to %d", m.Name, b.From[d], from.Low, b.To[d], to.High, d, dim.Start, dim.End)
		}
	}
	return hull, v.err == nil
}

// note takes down that a task wrote a box of a memory.
func (w *written) note(hull []Interval, task *For) {
	if w.box == nil {
		w.box = slices.Clone(hull)
	}
	for d, i := range hull {
		w.box[d] = interval(min(w.box[d].Low, i.Low), max(w.box[d].High, i.High), 1)
	}
	w.task = task
}

// filled checks that what a box has was written before it is read, and by no other task of the same region.
func (l *leaf) filled(b Box, hull []Interval) {
	v, s := l.v, l.s
	m := b.Memory
	if m.Of != nil { // all of it
		m, hull = m.Of, make([]Interval, len(m.Of.Dims))
		for d, dim := range m.Dims {
			hull[d] = interval(dim.Start, dim.End-1, 1)
		}
	}
	w := v.declared[m]
	switch {
	case w == nil || w.box == nil:
		v.fail(s, "%s is read before anything is written to it", m.Name)
		return
	case m.Scope == Workspace && w.task == v.task:
		v.fail(s, "%s is read by tasks while others write to it", m.Name)
	}
	for d, i := range hull {
		if i.Low < w.box[d].Low || i.High > w.box[d].High {
			v.fail(s, "%s is read from %d to %d in dimension %d, and was written from %d to %d", m.Name, i.Low, i.High, d, w.box[d].Low, w.box[d].High)
		}
	}
}

// beyond says what elements a view of a memory has beyond it, "" if it has none.
func (m *Memory) beyond() string {
	low, high := m.Base, m.Base
	for _, d := range m.Dims {
		a, b := d.Start*d.Stride, max(d.Start, d.End-1)*d.Stride
		low, high = low+min(a, b), high+max(a, b)
	}
	if low < 0 || high >= m.Of.Elements() {
		return fmt.Sprintf("%s has elements %d to %d of %s, which has %d", m.Name, low, high, m.Of.Name, m.Of.Elements())
	}
	return ""
}

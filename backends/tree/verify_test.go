package tree

import (
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/ir/scalar"
)

// blocks makes a function of one block of 64 lanes, with what the lanes do.
func blocks(shared []*Memory, operands []*Memory, lanes func(lane *Index) []Stmt) *Func {
	b, t := &Var{"block"}, &Var{"lane"}
	var body []Stmt
	for _, m := range shared {
		body = append(body, &Declare{m})
	}
	body = append(body, &For{Var: t, From: Const(0), To: Const(64), Step: 1, Bind: Lane, Body: lanes(Use(t))})
	return &Func{Name: "k", Operands: operands, Body: []Stmt{&For{Var: b, From: Const(0), To: Const(4), Step: 1, Bind: Block, Body: body}}}
}

func operand(name string, n int64, written bool) *Memory {
	m := NewMemory(name, scalar.Float32, Global, 0, n)
	m.Written = written
	return m
}

func at(m *Memory, x ...*Index) Access { return Access{m, x} }

// move makes a Map that copies an element.
func move(to, from Access) *Map {
	return &Map{Dst: to, Computed: Computed{Value: scalar.NewLoad(0, scalar.Float32), Args: []Access{from}}}
}

func loop(v *Var, n int64, body ...Stmt) *For {
	return &For{Var: v, From: Const(0), To: Const(n), Step: 1, Body: body}
}

// TestVerify changes sound trees by one thing each.
func TestVerify(t *testing.T) {
	in, out := operand("in", 64, false), operand("out", 64, true)
	all := []*Memory{in, out}
	sh := NewMemory("tile", scalar.Float32, Shared, 0, 64)
	two := NewMemory("tiles", scalar.Float32, Shared, 0, 2, 64)
	reg := NewMemory("r", scalar.Float32, Registers, 0)
	i := &Var{"i"}
	handOver := func(between ...Stmt) func(*Index) []Stmt {
		return func(lane *Index) []Stmt {
			return append(append([]Stmt{move(at(sh, lane), at(in, lane))}, between...), move(at(out, lane), at(sh, lane.Times(-1).Plus(63))))
		}
	}
	pipelined := func(pending, apart int64) func(*Index) []Stmt {
		next := &Var{"next"}
		return func(lane *Index) []Stmt {
			copyTo := func(stage *Index) Stmt {
				return &Copy{Dst: at(two, stage.Mod(2), lane), Src: at(in, lane), Count: 1, Async: true}
			}
			return []Stmt{copyTo(Const(0)), Commit{}, loop(i, 8, &Let{next, Use(i).Plus(apart)}, copyTo(Use(next)), Commit{}, Wait{pending}, Barrier{},
				move(at(out, lane), at(two, Use(i).Mod(2), lane.Times(-1).Plus(63))), Barrier{}), Wait{0}}
		}
	}
	indexed := func(to int64) func(*Index) []Stmt {
		v := &Var{"index"}
		zero := Computed{Value: scalar.NewConst(scalar.Zero(scalar.Int64))}
		return func(lane *Index) []Stmt {
			return []Stmt{&At{Var: v, Computed: zero, To: to, Body: []Stmt{move(at(out, lane), at(in, Use(v)))}}}
		}
	}
	sorted := func(room int64) func(*Index) []Stmt {
		order := NewMemory("order", scalar.Int64, Registers, 0, room)
		before, left, right := scalar.NewLoad(0, scalar.Float32), &Var{"left"}, &Var{"right"}
		return func(*Index) []Stmt {
			return []Stmt{&Declare{order}, &Sort{Order: at(order, Const(0)), To: 20, First: 4, Left: left, Right: right,
				Before: Computed{Value: &scalar.Expr{Op: scalar.IsNaN, Type: scalar.Bool, Args: []*scalar.Expr{before}}, Args: []Access{at(in, Use(right))}}}}
		}
	}
	branch := func(then ...Stmt) func(*Index) []Stmt {
		return func(*Index) []Stmt {
			return []Stmt{&Branch{Computed: Computed{Value: scalar.NewConst(scalar.Zero(scalar.Bool))}, Then: then}}
		}
	}
	tests := []struct {
		name, want string // want is a part of the error, "" for a sound tree
		f          *Func
	}{
		{"a copy", "", blocks(nil, all, func(l *Index) []Stmt { return []Stmt{move(at(out, l), at(in, l))} })},
		{"behind the end", "in is accessed at lane + 1 = 1 to 64", blocks(nil, all, func(l *Index) []Stmt { return []Stmt{move(at(out, l), at(in, l.Plus(1)))} })},
		{"before the start", "= -1 to 62", blocks(nil, all, func(l *Index) []Stmt { return []Stmt{move(at(out, l), at(in, l.Plus(-1)))} })},
		{"a guard", "", blocks(nil, all, func(l *Index) []Stmt {
			next := &Var{"next"}
			return []Stmt{&Let{next, l.Plus(1)}, &If{Conds: []Cond{{Var: next, Limit: Const(64)}}, Then: []Stmt{move(at(out, l), at(in, Use(next)))}}}
		})},
		{"a guard from below", "", blocks(nil, all, func(l *Index) []Stmt {
			before := &Var{"before"}
			return []Stmt{&Let{before, l.Plus(-1)}, &If{Conds: []Cond{{Var: before, From: Const(0)}}, Then: []Stmt{move(at(out, l), at(in, Use(before)))},
				Else: []Stmt{move(at(out, Use(before).Plus(1)), at(in, Use(before).Plus(1)))}}}
		})},
		{"a guard from too far below", "in is accessed at before = -1 to 62", blocks(nil, all, func(l *Index) []Stmt {
			before := &Var{"before"}
			return []Stmt{&Let{before, l.Plus(-1)}, &If{Conds: []Cond{{Var: before, From: Const(-1)}}, Then: []Stmt{move(at(out, l), at(in, Use(before)))}}}
		})},
		{"a guard that is too wide", "in is accessed at next = 1 to 64", blocks(nil, all, func(l *Index) []Stmt {
			next := &Var{"next"}
			return []Stmt{&Let{next, l.Plus(1)}, &If{Conds: []Cond{{Var: next, Limit: Const(65)}}, Then: []Stmt{move(at(out, l), at(in, Use(next)))}}}
		})},
		{"a write to what is read", "operand of the other kind", blocks(nil, all, func(l *Index) []Stmt { return []Stmt{move(at(in, l), at(in, l))} })},
		{"other lanes' elements behind a barrier", "", blocks([]*Memory{sh}, all, handOver(Barrier{}))},
		{"other lanes' elements", "no barrier stands between", blocks([]*Memory{sh}, all, handOver())},
		{"a barrier for some", "not all of them come", blocks([]*Memory{sh}, all, func(l *Index) []Stmt {
			return []Stmt{&If{Conds: []Cond{{Var: l.Var(), Limit: Const(3)}}, Then: []Stmt{Barrier{}}}}
		})},
		{"the next round finds what the last one reads", "no barrier stands between", blocks([]*Memory{sh}, all, func(l *Index) []Stmt {
			return []Stmt{loop(i, 2, handOver(Barrier{})(l)...)}
		})},
		{"shared memory that is not declared", "tile is not declared here", blocks(nil, all, handOver(Barrier{}))},
		{"a pipeline", "", blocks([]*Memory{two}, all, pipelined(1, 1))},
		{"a pipeline that waits too little", "a copy to it may be under way", blocks([]*Memory{two}, all, pipelined(2, 1))},
		{"a pipeline onto what is read", "a copy to it may be under way", blocks([]*Memory{two}, all, pipelined(1, 2))},
		{"copies without a wait", "before their copies do", blocks([]*Memory{sh}, all, func(l *Index) []Stmt {
			return []Stmt{&Copy{Dst: at(sh, l), Src: at(in, l), Count: 1, Async: true}}
		})},
		{"a copy of 12 bytes", "an asynchronous copy of 12 bytes", blocks([]*Memory{sh}, all, func(l *Index) []Stmt {
			three := &Var{"three"}
			return []Stmt{&Let{three, l.Div(4).Times(4)}, &Copy{Dst: at(sh, Use(three)), Src: at(in, Use(three)), Count: 3, Async: true}, Wait{0}}
		})},
		{"neighbours behind the end", "0 to 66", blocks([]*Memory{sh}, all, func(l *Index) []Stmt {
			return []Stmt{&Copy{Dst: at(sh, l), Src: at(in, l), Count: 4}}
		})},
		{"neighbours by fours", "", blocks([]*Memory{sh}, all, func(l *Index) []Stmt {
			four := &Var{"four"}
			return []Stmt{&Let{four, l.Div(4).Times(4)}, &Copy{Dst: at(sh, Use(four)), Src: at(in, Use(four)), Count: 4}}
		})},
		{"registers of nobody", "no memory of the scope registers", blocks([]*Memory{reg}, all, func(*Index) []Stmt { return nil })},
		{"a name twice", "the name of two things", blocks(nil, all, func(l *Index) []Stmt {
			return []Stmt{&Let{&Var{"x"}, l}, &Let{&Var{"x"}, l}}
		})},
		{"a variable of another place", "not bound here", blocks(nil, all, func(l *Index) []Stmt {
			return []Stmt{loop(i, 2), move(at(out, Use(i)), at(in, l))}
		})},
		{"a computed index", "", blocks(nil, all, indexed(64))},
		{"a computed index that may be too large", "in is accessed at index = 0 to 64", blocks(nil, all, indexed(65))},
		{"a barrier in a branch", "not all of them come", blocks(nil, all, branch(Barrier{}))},
		{"a variable of a branch", "not bound here", blocks(nil, all, branch(move(at(out, Use(i)), at(in, Const(0)))))},
		{"a sort", "", blocks(nil, all, sorted(16))},
		{"a sort without room", "order is accessed at 0 = 0 to 15", blocks(nil, all, sorted(15))},
		{"lanes without end", "at most 32", blocks(nil, all, func(*Index) []Stmt { return nil })},
		{"more than is there", "bytes of shared memory", blocks([]*Memory{NewMemory("large", scalar.Float32, Shared, 0, 1<<20)}, all, func(*Index) []Stmt { return nil })},
	}
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			limits := Limits{Shared: 1 << 20, Lanes: 64}
			if x.name == "lanes without end" {
				limits.Lanes = 32
			}
			err := Verify(x.f, limits)
			if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
				t.Errorf("%v, want %q\n%s", err, x.want, x.f)
			}
		})
	}
}

// TestLeaves changes a region of tasks that pack panels and multiply them by one thing each.
func TestLeaves(t *testing.T) {
	type change struct {
		panels, packed, from, digits int64
		before                       bool // panels are packed before they are read
		shared                       bool
	}
	right := change{panels: 4, packed: 4, digits: 4, before: true}
	make := func(c change) *Func {
		in, out := operand("in", 64, false), NewMemory("out", scalar.Float32, Global, 0, 4, 8)
		out.Written = true
		task, p := &Var{"task"}, &Var{"p"}
		scope := Private
		if c.shared {
			scope = Workspace
		}
		panels := Stored("panels", scalar.Float32, scope, c.panels, 16)
		box := func(m *Memory, at ...*Index) Box {
			b := Box{Memory: m}
			for i := 0; i < len(at); i += 2 {
				b.From, b.To = append(b.From, at[i]), append(b.To, at[i+1])
			}
			return b
		}
		pack := &For{Var: p, From: Const(0), To: Const(c.packed), Step: 1, Body: []Stmt{Call("panel",
			[]Box{box(panels, Use(p), Use(p).Plus(1), Const(0), Const(16))}, []Box{box(in, Use(p).Times(16), Use(p).Times(16).Plus(16))})}}
		tile := Call("tile", []Box{box(out, Use(task).Mod(c.digits), Use(task).Mod(c.digits).Plus(1), Const(0), Const(8))},
			[]Box{box(panels, Const(c.from), Const(c.from+4), Const(0), Const(16))})
		body := []Stmt{pack, tile}
		if !c.before {
			body = []Stmt{tile, pack}
		}
		f := &Func{Name: "k", Operands: []*Memory{in, out}}
		if c.shared {
			f.Body = append(f.Body, &Declare{panels})
		} else {
			body = append([]Stmt{&Declare{panels}}, body...)
		}
		f.Body = append(f.Body, &For{Var: task, From: Const(0), To: Const(4), Step: 1, Bind: Thread, Body: body})
		return f
	}
	for _, c := range []struct {
		change func(*change)
		want   string // of the error; "" for none
	}{
		{func(*change) {}, ""},
		{func(c *change) { c.before = false }, "panels is read before anything is written to it"},
		{func(c *change) { c.packed = 3 }, "panels is read from 0 to 3 in dimension 0, and was written from 0 to 2"},
		{func(c *change) { c.from = 1 }, "panels has a box from 1 = 1 to 5 = 5 in dimension 0, which is from 0 to 4"},
		{func(c *change) { c.packed, c.panels = 5, 5 }, "in has a box from p * 16 = 0 to p * 16 + 16 = 80"},
		{func(c *change) { c.digits = 2 }, "tasks may write the same elements of out: nothing tells tasks 2 apart"},
		{func(c *change) { c.shared = true }, "tasks may write the same elements of panels"},
	} {
		x := right
		c.change(&x)
		err := Verify(make(x), Limits{})
		switch {
		case c.want == "" && err != nil:
			t.Error(err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("expected %q, found %v", c.want, err)
		}
	}
}

// TestTasksApart says which parts of a task's number tell tasks apart.
func TestTasksApart(t *testing.T) {
	task, round, i := &Var{"task"}, &Var{"round"}, &Var{"i"}
	n := Use(task)
	for _, c := range []struct {
		at   [2]*Index // of the box in a memory of 24 by 24
		size int64
		want bool
	}{
		{[2]*Index{n, Const(0)}, 1, true},
		{[2]*Index{n.Div(2), n.Mod(2)}, 1, true},
		{[2]*Index{n.Div(3).Times(4), n.Mod(3).Times(4)}, 4, true},
		{[2]*Index{n.Div(3).Times(4), n.Mod(3).Times(4)}, 5, false}, // boxes overlap
		{[2]*Index{n.Div(3), n.Mod(2)}, 1, false},                   // tasks 0 and 2 have the same
		{[2]*Index{n.Div(2).Mod(2), n.Mod(2)}, 1, false},            // 0 and 4
		{[2]*Index{n.Div(2).Times(2).Add(n.Mod(2)), Const(0)}, 1, true},
		{[2]*Index{n.Div(2).Add(n.Mod(2)), Const(0)}, 1, false},
		{[2]*Index{n.Div(2).Times(2).Add(Use(i)), n.Mod(2)}, 1, true}, // i is 0 or 1
		{[2]*Index{n.Div(2).Add(Use(i)), n.Mod(2)}, 1, false},
		{[2]*Index{n.Add(Use(round)).Div(2), n.Add(Use(round)).Mod(2)}, 1, true},
		{[2]*Index{n.Add(Use(round)).Div(2), n.Mod(2)}, 1, true},
		{[2]*Index{n.Add(Use(round)).Div(2).Mod(2), n.Div(4).Times(2).Add(n.Mod(2))}, 1, false}, // parts of two numbers
	} {
		out := NewMemory("out", scalar.Float32, Global, 0, 24, 24)
		out.Written = true
		box := Box{out, c.at[:], []*Index{c.at[0].Plus(c.size), c.at[1].Plus(c.size)}}
		inner := loop(i, 2, Call("tile", []Box{box}, nil))
		tasks := &For{Var: task, From: Const(0), To: Const(6), Step: 1, Bind: Thread, Body: []Stmt{inner}}
		f := &Func{Name: "k", Operands: []*Memory{out}, Body: []Stmt{loop(round, 2, tasks)}}
		if err := Verify(f, Limits{}); (err == nil) != c.want {
			t.Errorf("%s by %d: expected that tasks are apart: %v; found %v", box, c.size, c.want, err)
		}
	}
}

// TestTasksEnd says the same of boxes that end at a variable, which is the lesser of where a task ends and where all do.
func TestTasksEnd(t *testing.T) {
	for _, c := range []struct {
		step, size int64
		want       bool
	}{{8, 8, true}, {8, 9, false}, {9, 8, true}} {
		task, from, to := &Var{"task"}, &Var{"from"}, &Var{"to"}
		out := NewMemory("out", scalar.Float32, Global, 0, 20)
		out.Written = true
		begin := Use(task).Times(c.step)
		leaf := Call("tile", []Box{{out, []*Index{Use(from)}, []*Index{Use(to)}}}, nil)
		body := []Stmt{&Let{Var: from, Value: begin}, &Let{Var: to, Value: Use(from).Plus(c.size).Min(Const(20))}, leaf}
		tasks := &For{Var: task, From: Const(0), To: Const(3), Step: 1, Bind: Thread, Body: body}
		if err := Verify(&Func{Name: "k", Operands: []*Memory{out}, Body: []Stmt{tasks}}, Limits{}); (err == nil) != c.want {
			t.Errorf("tasks of %d elements that begin %d apart: expected that they are apart: %v; found %v", c.size, c.step, c.want, err)
		}
	}
}

// TestOnce holds what tasks leave out, if the task before had the same key, to depend on that alone and to write what is written nowhere else.
func TestOnce(t *testing.T) {
	for _, c := range []struct {
		name      string
		key       int64                                 // tasks with the same
		of        func(task, block, part *Index) *Index // where in the input that which is kept comes from
		after     bool                                  // it is written again
		together  bool
		workspace bool
		want      string // of the error; "" for none
	}{
		{name: "the key", key: 2, of: func(_, block, _ *Index) *Index { return block }},
		{name: "a part of the key", key: 2, of: func(task, _, _ *Index) *Index { return task.Div(2) }, want: "uses a variable that is not bound here"},
		{name: "the task", key: 2, of: func(_, _, part *Index) *Index { return part }, want: "uses a variable that is not bound here"},
		{name: "every task", key: 1, of: func(_, block, _ *Index) *Index { return block }},
		{name: "written again", key: 2, of: func(_, block, _ *Index) *Index { return block }, after: true, want: "kept is written by what not all tasks do, and is not for that alone"},
		{name: "of all", key: 2, of: func(_, block, _ *Index) *Index { return block }, workspace: true, want: "kept is written by what not all tasks do"},
		{name: "in a loop", key: 2, of: func(_, block, _ *Index) *Index { return block }, together: true, want: "is no step of a task"},
	} {
		in, kept := operand("in", 6, false), Stored("kept", scalar.Float32, Private, 1)
		task, block, part := &Var{"task"}, &Var{"block"}, &Var{"part"}
		at := c.of(Use(task), Use(block), Use(part))
		fill := func(from *Index) Stmt {
			return Call("fill", []Box{BoxOf(kept, All(1))}, []Box{BoxOf(in, Only(from))})
		}
		var once Stmt = &Once{Last: &Var{"last"}, Key: Use(task).Div(c.key), Body: []Stmt{fill(at)}}
		if c.together {
			once = loop(&Var{"again"}, 2, once)
		}
		body := []Stmt{&Let{Var: block, Value: Use(task).Div(2)}, &Let{Var: part, Value: Use(task).Mod(2)}, &Declare{kept}, once}
		f := &Func{Name: "k", Operands: []*Memory{in}}
		if c.workspace {
			kept.Scope = Workspace
			f.Body, body = []Stmt{&Declare{kept}}, slices.Delete(body, 2, 3)
		}
		if c.after {
			body = append(body, fill(Const(0)))
		}
		f.Body = append(f.Body, &For{Var: task, From: Const(0), To: Const(6), Step: 1, Bind: Thread, Body: body})
		err := Verify(f, Limits{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: expected %q, found %v", c.name, c.want, err)
		}
	}
}

// TestProducts: products of two indices are bounded, are zero where one is, and the greater of two is what the lesser of their negatives says.
func TestProducts(t *testing.T) {
	x, y := &Var{"x"}, &Var{"y"}
	e := newEnv()
	e.bind(x, fact{values: interval(-2, 3, 1)})
	e.bind(y, fact{values: interval(1, 5, 2)})
	for text, c := range map[string]struct {
		of   *Index
		want Interval
	}{
		"(x) * (y)":             {Use(x).By(Use(y)), Interval{-10, 15, 1}},
		"x * 4":                 {Use(x).By(Const(4)), Interval{-8, 12, 4}},
		"0":                     {Const(0).By(Use(y)), Interval{}},
		"(x > 0 ? x : 0)":       {Use(x).Max(Const(0)), Interval{0, 3, 1}},
		"(x + 1) * (y - 1) + 2": {Use(x).Plus(1).By(Use(y).Plus(-1)).Plus(2), Interval{-2, 18, 1}},
	} {
		if got, ok := e.of(c.of); !ok || got.Low != c.want.Low || got.High != c.want.High || c.of.String() != text {
			t.Errorf("%s is %v, expected %s in %v", c.of, got, text, c.want)
		}
	}
}

// TestHoldAndChoose changes tasks that write a memory of their own, which templates find as an operand, and read it by one of two register tiles.
func TestHoldAndChoose(t *testing.T) {
	type change struct {
		scope      Scope
		first      *Index // where the operand begins
		unwritten  bool
		last, name string // the feature of the last case, and its name
		end        int64  // of what the last case reads
	}
	for _, c := range []struct {
		change func(*change)
		want   string // of the error; "" for none
	}{
		{func(*change) {}, ""},
		{func(c *change) { c.first = Use(&Var{"other"}) }, "hold own[other]: uses a variable that is not bound here"},
		{func(c *change) { c.scope = Registers }, "own is no memory of a task here"},
		{func(c *change) { c.unwritten = true }, "own is read before anything is written to it"},
		{func(c *change) { c.last = "HAS_AMX" }, "the last case, any, is not for every processor"},
		{func(c *change) { c.name = "amx" }, "amx is the name of two cases"},
		{func(c *change) { c.end = 9 }, "own has a box from 0 = 0 to 9 = 9 in dimension 0"},
		{func(c *change) { c.end = 7 }, ""}, // less than was written
	} {
		task, i := &Var{"task"}, &Var{"i"}
		x := change{scope: Private, first: Use(task).Times(-8), name: "any", end: 8}
		c.change(&x)
		in, out := operand("in", 32, false), NewMemory("out", scalar.Float32, Global, 0, 4)
		out.Written = true
		own := Stored("own", scalar.Float32, x.scope, 8)
		tile := func(end int64) []Stmt {
			return []Stmt{Call("tile", []Box{BoxOf(out, Only(Use(task)))}, []Box{BoxOf(own, All(end))})}
		}
		body := []Stmt{&Declare{own}, &Hold{Access{own, []*Index{x.first}}}}
		if !x.unwritten {
			body = append(body, loop(i, 8, &Map{Dst: Access{own, []*Index{Use(i)}}, Computed: Loaded(Access{in, []*Index{Use(task).Times(8).Add(Use(i))}})}))
		}
		body = append(body, &Choose{Cases: []Case{{Name: "amx", Feature: "HAS_AMX", Body: tile(8)}, {Name: x.name, Feature: x.last, Body: tile(x.end)}}})
		f := &Func{Name: "k", Operands: []*Memory{in, out}, Body: []Stmt{&For{Var: task, From: Const(0), To: Const(4), Step: 1, Bind: Thread, Body: body}}}
		err := Verify(f, Limits{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("expected %q, found %v", c.want, err)
		}
	}
}

// TestFunctions changes what a function that leaves call is given, and stores its vector in a row of 70 elements.
func TestFunctions(t *testing.T) {
	type change struct {
		columns int64  // at which it is called
		lanes   *Index // that are there, at most
		to      int64  // columns behind its own
		name    string
	}
	j, n, l := &Var{"j"}, &Var{"n"}, &Var{"l"}
	rest := Const(70).Minus(Use(j))
	for _, c := range []struct {
		change func(*change)
		want   string // of the error; "" for none
	}{
		{func(*change) {}, ""},
		{func(c *change) { c.lanes = Const(16) }, "out is accessed at l = 0 to 84 in dimension 0, which is from 0 to 70"},
		{func(c *change) { c.lanes = rest }, "lanes of a vector of 16"},
		{func(c *change) { c.columns, c.lanes = 55, Const(16) }, ""},
		{func(c *change) { c.to = 1 }, "out is accessed at l + 1 = 1 to 70 in dimension 0"},
		{func(c *change) { c.lanes = Use(&Var{"other"}) }, "given n in 1 .. other + 1: uses a variable that is not bound here"},
		{func(c *change) { c.name = "j" }, "j is the name of two things"},
	} {
		x := change{columns: 70, lanes: rest.Min(Const(16)), name: "sum"}
		c.change(&x)
		out, sums := operand("out", 70, true), NewMemory(x.name, scalar.Float32, Registers, 0, 16)
		sums.Lanes = 16
		f := &Func{Name: "finish", Operands: []*Memory{out}, Params: []Param{{Var: j, From: Const(0), To: Const(x.columns)}, {Memory: sums, Value: true}, {Var: n, From: Const(1), To: x.lanes.Plus(1)}},
			Body: []Stmt{&For{Var: l, From: Use(j), To: Use(j).Add(Use(n)), Step: 1, Bind: Vector, Lanes: 16, Body: []Stmt{move(at(out, Use(l).Plus(x.to)), at(sums, Use(l).Minus(Use(j))))}}}}
		err := Verify(&Func{Name: "k", Functions: []*Func{f}}, Limits{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("expected %q, found %v", c.want, err)
		}
	}
}

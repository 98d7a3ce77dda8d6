package alike

import (
	"math"
	"testing"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// subject is a kernel that adds two operands, its config and its buffers.
type subject struct {
	k       schedule.Kernel
	config  schedule.Config
	buffers map[ir.NodeID]*schedule.Buffer
	same    func(ir.NodeID) int
}

// adds gives a subject with names and buffers from a number on, whose loop begins at one.
func adds(prefix string, first ir.NodeID, start int64) *subject {
	at := zspace.AffineMap{Projection: zspace.Matrix{{1}}, Offset: zspace.Point{0}}
	load := func(i int) *scalar.Expr { return scalar.NewLoad(i, scalar.Float32) }
	sum := scalar.Must(scalar.Add, load(0), load(1))
	s := &subject{buffers: map[ir.NodeID]*schedule.Buffer{}, same: func(x ir.NodeID) int { return int(x) }}
	s.k = schedule.Kernel{Name: prefix, Loops: []schedule.Loop{{Name: prefix + "i", Start: start, End: start + 8, Levels: []schedule.Level{{Tile: 1}}}},
		Statements: []schedule.Statement{{Name: prefix + "v", Over: []int64{0}, Store: 2, Value: sum}}}
	for i, mode := range []schedule.Mode{schedule.Read, schedule.Read, schedule.Write} {
		id := first + ir.NodeID(i)
		s.k.Operands = append(s.k.Operands, schedule.Operand{Name: prefix + string(rune('a'+i)), Buffer: id, DType: "float32", Mode: mode, Access: at})
		s.buffers[id] = &schedule.Buffer{Tensor: id + 10, DType: "float32", Range: zspace.Range{Start: zspace.Point{start}, End: zspace.Point{start + 8}}, Strides: []int64{1},
			Space: schedule.Arena, Offset: int64(first) * 64, Bytes: 32, Over: ir.NoNode}
	}
	s.config = schedule.Config{Target: "any", Stages: []schedule.Stage{{Algorithm: schedule.Rows, Stream: []string{prefix + "c"}}}}
	return s
}

func (s *subject) key() string { return Key(&s.k, &s.config, s.buffers, s.same) }

// Kernels with other names, other buffers and other places of the same loops are alike; all other differences make another key.
func TestKey(t *testing.T) {
	want := adds("x", 1, 0).key()
	alias := adds("x", 1, 0)
	alias.buffers[1].Over = 50 // another device has it
	for name, s := range map[string]*subject{"in place": alias, "names": adds("y", 1, 0), "buffers": adds("x", 100, 0), "the place of a shard": adds("x", 1, 5)} {
		if got := s.key(); got != want {
			t.Errorf("%s make another key:\n%s\n%s", name, want, got)
		}
	}
	keys := map[string]string{"the kernel": want}
	value := func(s *subject) *scalar.Expr { return s.k.Statements[0].Value }
	for name, change := range map[string]func(s *subject){
		"one buffer twice":         func(s *subject) { s.k.Operands[1].Buffer = s.k.Operands[0].Buffer },
		"one tensor twice":         func(s *subject) { s.buffers[2].Tensor = s.buffers[1].Tensor },
		"two constants of a value": func(s *subject) { s.same = func(ir.NodeID) int { return 0 } },
		"a constant":               func(s *subject) { s.buffers[1].Space = schedule.Constant },
		"an output over an input":  func(s *subject) { s.buffers[3].Space, s.buffers[3].Over = schedule.Output, 1 },
		"the other over":           func(s *subject) { s.buffers[3].Space, s.buffers[3].Over = schedule.Output, 2 },
		"strides":                  func(s *subject) { s.buffers[1].Strides[0] = 2 },
		"size":                     func(s *subject) { s.buffers[1].Bytes = 64 },
		"where elements begin":     func(s *subject) { s.buffers[1].Range.Start[0]-- },
		"part of a tensor":         func(s *subject) { s.buffers[11] = s.buffers[3] },
		"extent":                   func(s *subject) { s.k.Loops[0].End-- },
		"whole extent":             func(s *subject) { s.k.Loops[0].Of = []int64{0, 9} },
		"permissions":              func(s *subject) { s.k.Allow = 1 },
		"sums":                     func(s *subject) { s.k.Sums = 64 },
		"an operator":              func(s *subject) { value(s).Op = scalar.Mul },
		"operands in turn":         func(s *subject) { value(s).Args[0].Ref, value(s).Args[1].Ref = 1, 0 },
		"a value used twice":       func(s *subject) { value(s).Args[1].Ref = 0 },
		"a value shared":           func(s *subject) { value(s).Args[1] = value(s).Args[0] },
		"a zero":                   func(s *subject) { value(s).Args[0] = scalar.NewConst(scalar.FloatValue(scalar.Float32, 0)) },
		"a zero of the other sign": func(s *subject) {
			value(s).Args[0] = scalar.NewConst(scalar.FloatValue(scalar.Float32, math.Copysign(0, -1)))
		},
		"the algorithm":    func(s *subject) { s.config.Stages[0].Algorithm = schedule.Loops },
		"what is streamed": func(s *subject) { s.config.Stages[0].Stream = []string{"xa"} },
		"lanes":            func(s *subject) { s.config.Stages[0].Lanes = 8 },
		"workspaces":       func(s *subject) { s.config.Workspaces = schedule.WorkspacesOf(64, 0) },
	} {
		s := adds("x", 1, 0)
		change(s)
		for other, key := range keys {
			if key == s.key() {
				t.Errorf("%s and %s have the same key:\n%s", name, other, key)
			}
		}
		keys[name] = s.key()
	}
}

// What a loop's value is computed with is another kernel in another place.
func TestValuesOfLoops(t *testing.T) {
	at := func(start int64) string {
		s := adds("x", 1, start)
		s.k.Statements[0].Value = scalar.NewCast(scalar.Float32, scalar.NewLoop(0))
		return s.key()
	}
	if at(0) == at(5) {
		t.Error("loops whose values are stored have the same key from 0 and from 5 on")
	}
}

// TestShape: blocks of one operation that lie elsewhere in whole tensors have one shape, if they begin at the same byte of a period, and where sums begin does not matter. What else differs makes another shape, so do coordinates from
// which values follow.
func TestShape(t *testing.T) {
	block := func(start int64, change func(s *subject)) string {
		s := adds("x", 1, 0)
		s.k.Loops[0].Start, s.k.Loops[0].End, s.k.Loops[0].Of = start, start+64, []int64{0, 1024}
		for _, b := range s.buffers {
			b.Range, b.Bytes = zspace.MustShape(1024), 4096
		}
		change(s)
		return Shape(&s.k, s.buffers)
	}
	value := func(s *subject) *scalar.Expr { return s.k.Statements[0].Value }
	loop := func(s *subject) { value(s).Args[0] = scalar.NewLoop(0) }
	sum := func(s *subject) { value(s).Args[0] = scalar.NewReduce(scalar.Add, []int{0}, value(s).Args[0]) }
	as := func(*subject) {}
	want := block(0, as)
	for _, start := range []int64{64, 128, 960} {
		if got := block(start, as); got != want {
			t.Errorf("%d makes another shape:\n%s\n%s", start, want, got)
		}
		if block(start, sum) != block(0, sum) {
			t.Errorf("a sum from %d on makes another shape", start)
		}
		if block(start, loop) == block(0, loop) {
			t.Errorf("%d as a value makes no other shape", start)
		}
	}
	for name, got := range map[string]string{
		"another byte":    block(63, as),
		"a name":          block(0, func(s *subject) { s.k.Operands[0].Name = "z" }),
		"a space":         block(0, func(s *subject) { s.buffers[1].Space = schedule.Input }),
		"a constant":      block(0, func(s *subject) { s.buffers[1].Space = schedule.Constant }),
		"a stride":        block(0, func(s *subject) { s.buffers[1].Strides[0] = 2 }),
		"an extent":       block(0, func(s *subject) { s.k.Loops[0].End-- }),
		"a whole extent":  block(0, func(s *subject) { s.k.Loops[0].Of = nil }),
		"one buffer":      block(0, func(s *subject) { s.k.Operands[1].Buffer = s.k.Operands[0].Buffer }),
		"permissions":     block(0, func(s *subject) { s.k.Allow = 1 }),
		"a value":         block(0, loop),
		"a sum":           block(0, sum),
		"another operand": block(0, func(s *subject) { value(s).Op = scalar.Mul }),
	} {
		if got == want {
			t.Errorf("%s makes no other shape", name)
		}
	}
}

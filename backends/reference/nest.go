package reference

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// view is an operand while a nest runs: elements of type typ in data, the element at a point of the loops being number
// base + sum of steps·point.
type view struct {
	typ   scalar.DType
	data  []byte
	base  int64
	steps []int64
}

// newView follows an access map into an array that covers the box of r with the given strides, both in elements.
func newView(typ scalar.DType, data []byte, r zspace.Range, strides []int64, access zspace.AffineMap, loops int) view {
	v := view{typ: typ, data: data, steps: make([]int64, loops)}
	for i, stride := range strides {
		v.base += (access.Offset[i] - r.Start[i]) * stride
		for j := range loops {
			v.steps[j] += access.Projection[i][j] * stride
		}
	}
	return v
}

// step is one statement of a nest.
type step struct {
	over  []int
	store int
	value *scalar.Expr
}

// nest is a set of statements over a box of loops. It runs code that compile made: functions without arguments that read the
// elements that the cursors stand at.
type nest struct {
	ctx     context.Context
	box     zspace.Range
	views   []view
	steps   []step
	point   []int64
	cursors []int64  // element of each view, then of each step's local values, at the present point
	moves   [][]move // by loop: what changes with it
	locals  []values // by step
	shared  []int    // loops that all steps run along together
	stores  int64
	fault   error
}

// move is what a cursor goes by when a loop advances by one.
type move struct {
	cursor int
	by     int64
}

// values are numbers of one class of types: integers and booleans, floats or complex numbers.
type values struct {
	i []int64
	f []float64
	c []complex128
}

// run carries out every statement at every point of its loops, in order.
func (n *nest) run() error {
	if err := n.start(); err != nil {
		return err
	}
	do, over := make([]func(), len(n.steps)), make([][]int, len(n.steps))
	for i, s := range n.steps {
		over[i] = n.alone(s)
		if s.store < 0 {
			do[i] = n.hold(i, s.value)
		} else {
			do[i] = n.storing(s.store, s.value)
		}
	}
	n.over(n.shared, func() {
		for i := range do {
			if n.fault == nil {
				n.fault = n.ctx.Err()
			}
			if n.fault == nil {
				n.over(over[i], do[i])
			}
		}
	})
	return n.fault
}

// largeLocals is how many local values are no more held for all points together if they can be held for some.
const largeLocals = 1 << 20

// share finds the loops that all steps can run along together, point by point, so that local values are held for one point at a
// time: those that all of them run along and none folds along or moves on its own. It does where there are many values.
func (n *nest) share() {
	values := int64(0)
	folded := map[int]bool{}
	for _, s := range n.steps {
		size := int64(1)
		for _, l := range s.over {
			size = min(size, maxLocal) * max(0, min(n.box.End[l]-n.box.Start[l], maxLocal))
		}
		if s.store < 0 {
			values += size
		}
		s.value.Walk(func(e *scalar.Expr) bool {
			for _, l := range e.Over {
				folded[l] = true
			}
			return true
		})
	}
	n.shared = nil
	if values <= largeLocals {
		return
	}
	for l := range n.box.Start {
		all := !folded[l]
		for _, s := range n.steps {
			all = all && slices.Contains(s.over, l)
		}
		if all {
			n.shared = append(n.shared, l)
		}
	}
}

// alone gives the loops of a step that are not shared.
func (n *nest) alone(s step) []int {
	if len(n.shared) == 0 {
		return s.over
	}
	return slices.DeleteFunc(slices.Clone(s.over), func(l int) bool { return slices.Contains(n.shared, l) })
}

// start puts every loop at its first value, makes room for local values and sets the cursors.
func (n *nest) start() error {
	n.point = append([]int64(nil), n.box.Start...)
	n.cursors = make([]int64, len(n.views)+len(n.steps))
	n.moves = make([][]move, len(n.point))
	n.locals = make([]values, len(n.steps))
	n.fault = nil
	n.share()
	for i, v := range n.views {
		n.cursors[i] = v.base
		for loop, by := range v.steps {
			n.cursors[i] += by * n.point[loop]
			n.follow(loop, i, by)
		}
	}
	for i, s := range n.steps {
		if s.store >= 0 {
			continue
		}
		if err := n.makeLocal(i, s); err != nil {
			return err
		}
	}
	return nil
}

func (n *nest) follow(loop, cursor int, by int64) {
	if by != 0 {
		n.moves[loop] = append(n.moves[loop], move{cursor, by})
	}
}

// maxLocal bounds the values that a local statement may hold at once.
const maxLocal = 1 << 26

func (n *nest) makeLocal(i int, s step) error {
	size, over := int64(1), n.alone(s)
	for k := len(over) - 1; k >= 0; k-- {
		loop := over[k]
		n.follow(loop, len(n.views)+i, size)
		if size *= n.box.End[loop] - n.box.Start[loop]; size > maxLocal {
			return fmt.Errorf("the reference evaluator would hold more than %d local values", maxLocal)
		}
	}
	switch d := s.value.Type; {
	case d.IsFloat():
		n.locals[i].f = make([]float64, size)
	case d.IsComplex():
		n.locals[i].c = make([]complex128, size)
	default:
		n.locals[i].i = make([]int64, size)
	}
	return nil
}

// set moves a loop to a value.
func (n *nest) set(loop int, x int64) {
	d := x - n.point[loop]
	n.point[loop] = x
	for _, m := range n.moves[loop] {
		n.cursors[m.cursor] += d * m.by
	}
}

// over runs f over the box of some loops in row-major order and puts them back as they were.
func (n *nest) over(loops []int, f func()) {
	if len(loops) == 0 {
		f()
		return
	}
	loop, rest := loops[0], loops[1:]
	end, old := n.box.End[loop], n.point[loop]
	x := n.box.Start[loop]
	if x >= end {
		return
	}
	n.set(loop, x)
	for n.fault == nil {
		if len(rest) == 0 {
			f()
		} else {
			n.over(rest, f)
		}
		if x++; x >= end {
			break
		}
		n.point[loop] = x
		for _, m := range n.moves[loop] {
			n.cursors[m.cursor] += m.by
		}
	}
	n.set(loop, old)
}

// element gives the number of the element that a view stands at; one outside the array is a fault, and counts as number 0.
func (n *nest) element(ref int) (at int64, ok bool) {
	v := &n.views[ref]
	at = n.cursors[ref]
	if at >= 0 && at < int64(len(v.data)/v.typ.Size()) {
		return at, true
	}
	if n.fault == nil {
		n.fault = fmt.Errorf("operand %d: access to element %d of %d, at loops %v", ref, at, len(v.data)/v.typ.Size(), n.point)
	}
	return 0, false
}

// hold gives the function that computes a local value at the present point.
func (n *nest) hold(i int, e *scalar.Expr) func() {
	c, cursor, l := n.compile(e), len(n.views)+i, n.locals[i]
	switch {
	case c.f != nil:
		return func() { l.f[n.cursors[cursor]] = c.f() }
	case c.c != nil:
		return func() { l.c[n.cursors[cursor]] = c.c() }
	}
	return func() { l.i[n.cursors[cursor]] = c.i() }
}

// storing gives the function that computes and stores an element of an operand. It looks now and then whether the run is
// cancelled.
func (n *nest) storing(ref int, e *scalar.Expr) func() {
	code, v := n.compile(e), &n.views[ref]
	value, size := code.value(e.Type), int64(v.typ.Size())
	put := func(to []byte) { value().Encode(to) }
	if e.Type == scalar.Float32 { // most are
		put = func(to []byte) { binary.LittleEndian.PutUint32(to, math.Float32bits(float32(code.f()))) }
	}
	return func() {
		if at, ok := n.element(ref); ok {
			put(v.data[at*size : (at+1)*size])
		}
		if n.stores++; n.stores%4096 == 0 && n.fault == nil {
			n.fault = n.ctx.Err()
		}
	}
}

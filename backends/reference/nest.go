package reference

import (
	"context"
	"fmt"

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

// rowMajor gives the strides of a dense array over a box, in elements.
func rowMajor(r zspace.Range) []int64 {
	strides := make([]int64, r.Rank())
	n := int64(1)
	for i := r.Rank() - 1; i >= 0; i-- {
		strides[i] = n
		n *= r.End[i] - r.Start[i]
	}
	return strides
}

// step is one statement of a nest.
type step struct {
	over  []int
	store int
	value *scalar.Expr
}

// nest is a set of statements over a box of loops. It is the environment that scalar expressions are evaluated in.
type nest struct {
	ctx    context.Context
	box    zspace.Range
	views  []view
	steps  []step
	point  []int64
	locals []local
	fault  error
}

// local holds a statement's values over its loops.
type local struct {
	values []scalar.Value
	steps  []int64
	base   int64
}

// run carries out every statement at every point of its loops, in order.
func (n *nest) run() error {
	n.point = append([]int64(nil), n.box.Start...)
	n.locals = make([]local, len(n.steps))
	for i, s := range n.steps {
		if err := n.ctx.Err(); err != nil {
			return err
		}
		if s.store < 0 {
			l, err := n.newLocal(s.over)
			if err != nil {
				return err
			}
			n.locals[i] = l
		}
		n.Over(s.over, func() {
			v := s.value.Eval(n)
			if s.store < 0 {
				n.locals[i].values[n.at(n.locals[i].base, n.locals[i].steps)] = v
				return
			}
			if b := n.element(s.store); b != nil {
				v.Encode(b)
			}
		})
		if n.fault != nil {
			return n.fault
		}
	}
	return nil
}

// maxLocal bounds the values that a local statement may hold at once.
const maxLocal = 1 << 26

func (n *nest) newLocal(over []int) (local, error) {
	l := local{steps: make([]int64, n.box.Rank())}
	size := int64(1)
	for k := len(over) - 1; k >= 0; k-- {
		d := over[k]
		l.steps[d] = size
		l.base -= size * n.box.Start[d]
		if size *= n.box.End[d] - n.box.Start[d]; size > maxLocal {
			return l, fmt.Errorf("the reference evaluator would hold more than %d local values", maxLocal)
		}
	}
	l.values = make([]scalar.Value, size)
	return l, nil
}

func (n *nest) at(base int64, steps []int64) int64 {
	for j, s := range steps {
		base += s * n.point[j]
	}
	return base
}

// element gives the bytes of an operand's element at the present point; an access outside the array is a fault.
func (n *nest) element(ref int) []byte {
	v := &n.views[ref]
	size := int64(v.typ.Size())
	at := n.at(v.base, v.steps) * size
	if at < 0 || at+size > int64(len(v.data)) {
		if n.fault == nil {
			n.fault = fmt.Errorf("operand %d: access at byte %d of %d, at loops %v", ref, at, len(v.data), n.point)
		}
		return nil
	}
	return v.data[at : at+size]
}

// Load reads an operand at the present point.
func (n *nest) Load(ref int) scalar.Value {
	b := n.element(ref)
	if b == nil {
		return scalar.Zero(n.views[ref].typ)
	}
	return scalar.Decode(n.views[ref].typ, b)
}

// Local reads a statement's value at the present point.
func (n *nest) Local(ref int) scalar.Value {
	l := &n.locals[ref]
	return l.values[n.at(l.base, l.steps)]
}

// Loop gives a loop variable.
func (n *nest) Loop(ref int) int64 { return n.point[ref] }

// Over runs f over the box of some loops in row-major order and puts them back as they were.
func (n *nest) Over(loops []int, f func()) {
	if len(loops) == 0 {
		f()
		return
	}
	d := loops[0]
	old := n.point[d]
	for x := n.box.Start[d]; x < n.box.End[d] && n.fault == nil; x++ {
		n.point[d] = x
		n.Over(loops[1:], f)
	}
	n.point[d] = old
}

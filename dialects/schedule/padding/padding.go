// Package padding proves that a schedule for a greater size computes what the schedule for a smaller one does, where its inputs hold the
// smaller ones at their start and anything behind.
//
// Two schedules are compared, as lower leaves them: kernel by kernel, each the same statements on the same affine accesses, over loops of which
// the greater has more values. Then by induction every element that exists at the smaller size has the same value in both, as long as no
// reduction runs over a longer loop: it is computed by the same expression of elements that exist at the smaller size, and a
// schedule writes every element once, so that no further value of a loop writes there. What can not be shown so is found by name.
//
// It must not import a pass. Read next: dialects/schedule.
package padding

import (
	"bytes"
	"fmt"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
)

// Schedule is a graph of Scheduled Kernels without fusion, with what loads its constants.
type Schedule struct {
	Graph *ir.Graph
	Load  func(c tensorops.Const) (tensorfile.Tensor, error)
}

// Obstacle is a reason against padded data.
type Obstacle struct {
	Step ir.NodeID // of the greater graph; NoNode for the whole
	Why  string
}

// comparison is one of two schedules.
type comparison struct {
	great, small Schedule
	pairs        map[ir.NodeID]ir.NodeID // buffers of the smaller to those of the greater
	found        []Obstacle
}

// Compare gives what is against running the smaller size in the greater schedule: nothing, if every element of its outputs is proven to be
// right. Both graphs must be verified.
func Compare(great, small Schedule) ([]Obstacle, error) {
	c := &comparison{great: great, small: small, pairs: map[ir.NodeID]ir.NodeID{}}
	a, err := tensorops.ProgramOf(great.Graph)
	if err != nil {
		return nil, err
	}
	b, err := tensorops.ProgramOf(small.Graph)
	if err != nil {
		return nil, err
	}
	c.faces("inputs", a.Inputs, b.Inputs)
	c.faces("outputs", a.Outputs, b.Outputs)
	if len(a.Checks) != len(b.Checks) {
		c.refuse(ir.NoNode, "checks of indices depend on the size")
	}
	from, err := schedule.Order(great.Graph)
	if err != nil {
		return nil, err
	}
	to, err := schedule.Order(small.Graph)
	if err != nil {
		return nil, err
	}
	if len(from) != len(to) {
		c.refuse(ir.NoNode, "it takes %d steps at the greater size and %d at the smaller", len(from), len(to))
	}
	if len(c.found) > 0 {
		return c.found, nil
	}
	for i := range from {
		c.step(from[i], to[i])
	}
	return c.found, c.constants(a, b)
}

func (c *comparison) refuse(step ir.NodeID, format string, args ...any) {
	c.found = append(c.found, Obstacle{step, fmt.Sprintf(format, args...)})
}

// faces holds inputs or outputs to the same names, in order.
func (c *comparison) faces(what string, a, b []tensorops.Named) {
	same := len(a) == len(b)
	for i := 0; same && i < len(a); i++ {
		same = a[i].Name == b[i].Name
	}
	if !same {
		c.refuse(ir.NoNode, "the %s depend on the size", what)
	}
}

func (c *comparison) step(great, small ir.NodeID) {
	switch a := c.great.Graph.Node(great).Body.(type) {
	case *schedule.Kernel:
		if b, ok := c.small.Graph.Node(small).Body.(*schedule.Kernel); ok {
			c.kernel(great, a, b)
			return
		}
	case *schedule.Transfer:
		if b, ok := c.small.Graph.Node(small).Body.(*schedule.Transfer); ok {
			c.pair(great, a.From, b.From)
			c.pair(great, a.To, b.To)
			return
		}
	}
	c.refuse(great, "it is another step at the smaller size")
}

// pair says that two buffers correspond.
func (c *comparison) pair(step, great, small ir.NodeID) {
	if known, ok := c.pairs[small]; ok {
		if known != great {
			c.refuse(step, "it has another operand at the smaller size")
		}
		return
	}
	c.pairs[small] = great
	a, b := c.great.Graph.Node(great).Body.(*schedule.Buffer), c.small.Graph.Node(small).Body.(*schedule.Buffer)
	if a.Space != b.Space || a.DType != b.DType || !within(b.Range, a.Range) {
		c.refuse(step, "%s is %s%v, and %s%v at the smaller size, which is no start of it", c.great.Graph.Name(great), a.DType, a.Range, b.DType, b.Range)
	}
}

// within says whether a box begins where another does, and is in it.
func within(small, great zspace.Range) bool {
	if small.Rank() != great.Rank() || !small.Start.Equal(great.Start) {
		return false
	}
	for d := range small.End {
		if small.End[d] > great.End[d] {
			return false
		}
	}
	return true
}

// kernel compares two kernels.
func (c *comparison) kernel(step ir.NodeID, a, b *schedule.Kernel) {
	if a.Name != b.Name || len(a.Loops) != len(b.Loops) || len(a.Operands) != len(b.Operands) || len(a.Statements) != len(b.Statements) {
		c.refuse(step, "it is another kernel at the smaller size, %s with %d loops, %d operands and %d statements", b.Name, len(b.Loops), len(b.Operands), len(b.Statements))
		return
	}
	longer := map[int]bool{}
	for i, l := range a.Loops {
		m := b.Loops[i]
		if l.Start != m.Start || l.End < m.End || len(l.Of) > 0 || len(m.Of) > 0 {
			c.refuse(step, "its loop %s is %d..%d, and %d..%d at the smaller size", l.Name, l.Start, l.End, m.Start, m.End)
			return
		}
		longer[i] = l.End > m.End
	}
	for i, o := range a.Operands {
		p := b.Operands[i]
		if o.Mode != p.Mode || o.DType != p.DType || !sameAccess(o.Access, p.Access, b.Loops) {
			c.refuse(step, "it reaches %s as %v, and as %v at the smaller size", o.Name, o.Access, p.Access)
			return
		}
		c.pair(step, o.Buffer, p.Buffer)
	}
	for i, s := range a.Statements {
		if !c.statement(step, a, s, b.Statements[i], longer) {
			return
		}
	}
}

// sameAccess says whether two accesses are the same at every point of loops.
func sameAccess(a, b zspace.AffineMap, loops []schedule.Loop) bool {
	if a.Equal(b) {
		return true
	}
	if len(a.Projection) != len(b.Projection) {
		return false
	}
	for row := range a.Projection {
		first, second := a.Offset[row], b.Offset[row]
		for l, loop := range loops {
			x, y := a.Projection[row][l], b.Projection[row][l]
			switch {
			case loop.Extent() == 1: // which has one value
				first, second = first+x*loop.Start, second+y*loop.Start
			case x != y:
				return false
			}
		}
		if first != second {
			return false
		}
	}
	return true
}

// statement compares two statements; false if it found something.
func (c *comparison) statement(step ir.NodeID, k *schedule.Kernel, s, t schedule.Statement, longer map[int]bool) bool {
	if s.Store != t.Store || fmt.Sprint(s.Over) != fmt.Sprint(t.Over) || !s.Value.Equal(t.Value) {
		c.refuse(step, "it computes %q, and at the smaller size another expression: the size is a number in it", s.Value.Format(k))
		return false
	}
	fine := true
	s.Value.Walk(func(e *scalar.Expr) bool {
		if e.Op != scalar.Reduce {
			return true
		}
		for _, l := range e.Over {
			if fine && longer[l] {
				c.refuse(step, "%q runs over %s, whose values behind the smaller size are padding", e.Format(k), k.Loops[l].Name)
				fine = false
			}
		}
		return fine
	})
	return fine
}

// constants compares the values of the constants that kernels read.
func (c *comparison) constants(a, b *tensorops.Program) error {
	greater := map[ir.NodeID]tensorops.Const{}
	for _, x := range a.Constants {
		greater[x.Tensor] = x
	}
	smaller := map[ir.NodeID]tensorops.Const{}
	for _, x := range b.Constants {
		smaller[x.Tensor] = x
	}
	for n := range c.small.Graph.Nodes() {
		buffer, ok := n.Body.(*schedule.Buffer)
		at, paired := c.pairs[n.ID]
		if !ok || !paired || buffer.Space != schedule.Constant {
			continue
		}
		other, ok := c.great.Graph.Node(at).Body.(*schedule.Buffer)
		if !ok || !within(buffer.Range, other.Range) {
			continue // which was found
		}
		same, err := c.sameStart(greater[other.Tensor], smaller[buffer.Tensor], other, buffer)
		if err != nil {
			return err
		}
		if !same {
			c.refuse(at, "this constant has other values at the smaller size")
		}
	}
	return nil
}

// sameStart says whether a constant holds a smaller one at its start.
func (c *comparison) sameStart(a, b tensorops.Const, great, small *schedule.Buffer) (bool, error) {
	if a.File != "" && a.File == b.File && a.Key == b.Key && a.Offset == b.Offset && a.View == nil && b.View == nil && great.Range.Equal(small.Range) {
		return true, nil
	}
	x, err := c.great.Load(a)
	if err != nil {
		return false, err
	}
	y, err := c.small.Load(b)
	if err != nil {
		return false, err
	}
	return startsWith(x.Data, great.Range.Shape(), y.Data, small.Range.Shape()), nil
}

// startsWith compares elements at the same coordinates.
func startsWith(great []byte, from zspace.Point, small []byte, to zspace.Point) bool {
	if len(from) == 0 || from.Equal(to) {
		return bytes.Equal(great, small)
	}
	if to[0] == 0 || from[0] == 0 {
		return true
	}
	a, b := len(great)/int(from[0]), len(small)/int(to[0])
	for i := range int(to[0]) {
		if !startsWith(great[i*a:(i+1)*a], from[1:], small[i*b:(i+1)*b], to[1:]) {
			return false
		}
	}
	return true
}

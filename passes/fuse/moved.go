package fuse

import (
	"slices"

	"tensortapestry.org/tapc/ir/affine"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/moves"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/fuse/access"
)

// mover is a kernel that only moves elements: what is at each coordinate of its result, in terms of its loops.
type mover struct {
	k       *schedule.Kernel
	value   *scalar.Expr     // made of loads, conditions and constants
	out     int              // operand that it writes
	back    zspace.AffineMap // its loops, from a coordinate of the result, if it is even
	even    bool             // each coordinate of the result follows one loop
	written zspace.Range     // of the result's buffer
}

// moverOf gives a kernel as one that moves elements, if it is one, to a buffer of the arena that it writes whole.
func (f *fuser) moverOf(k *schedule.Kernel) (*mover, bool) {
	if last := len(k.Statements) - 1; last < 0 || !moves.Statements(k)[last] {
		return nil, false
	}
	return oneResult(f, k)
}

// oneResult gives a kernel whose last statement alone stores, to a buffer of the arena that it writes whole, as a mover of what it computes.
func oneResult(f *fuser, k *schedule.Kernel) (*mover, bool) {
	last := len(k.Statements) - 1
	if last < 0 || k.Statements[last].Store < 0 ||
		slices.ContainsFunc(k.Statements[:last], func(s schedule.Statement) bool { return s.Store >= 0 }) {
		return nil, false
	}
	m := &mover{k: k, out: int(k.Statements[last].Store)}
	if m.value = inlined(k, last); m.value == nil {
		return nil, false
	}
	to, ok := body[*schedule.Buffer](f.g, k.Operands[m.out].Buffer)
	var err error
	if m.written, err = access.Reach(k, m.out); !ok || err != nil || to.Space != schedule.Arena || !m.written.Equal(to.Range) || to.Range.Rank() == 0 {
		return nil, false
	}
	for i, o := range k.Operands {
		from, ok := body[*schedule.Buffer](f.g, o.Buffer)
		if i != m.out && (!ok || o.Mode != schedule.Read || from.Space != schedule.Arena && from.Space != schedule.Input || from.Range.Rank() == 0) {
			return nil, false
		}
	}
	m.back, m.even = access.Inverse(k, k.Operands[m.out].Access)
	return m, true
}

// inlined gives the value of a statement with those of others in their stead; nil if it reads no element, needs coordinates that are
// worked out, or is long.
func inlined(k *schedule.Kernel, statement int) *scalar.Expr {
	size, good, loads := 0, true, false
	var expand func(e *scalar.Expr) *scalar.Expr
	expand = func(e *scalar.Expr) *scalar.Expr {
		return e.Map(func(e *scalar.Expr) *scalar.Expr {
			size++
			good = good && size <= mostMoved && e.Op != scalar.Reduce
			loads = loads || e.Op == scalar.Load
			if good && e.Op == scalar.Local {
				return expand(k.Statements[e.Ref].Value)
			}
			return e
		})
	}
	value := expand(k.Statements[statement].Value)
	if !good || !loads {
		return nil
	}
	return value
}

// mostMoved bounds the expression of a moved element, which is repeated wherever it is read.
const mostMoved = mostWork / 2

// into gives a kernel that reads what is moved from where it comes, instead of a buffer; ok is false if it would be too large, or does
// not read all that the mover does.
func (m *mover) into(c *schedule.Kernel) (out reader, ok bool) {
	buffer := m.k.Operands[m.out].Buffer
	k := *c
	out.Kernel = &k
	out.Operands, out.Statements = slices.Clone(c.Operands), slices.Clone(c.Statements)
	for i, o := range c.Operands {
		if o.Buffer != buffer {
			continue
		}
		if o.Mode != schedule.Read || !m.replace(&out, i) {
			return out, false
		}
	}
	return out, m.dropRead(out.Kernel) && bounded(out.Kernel, &schedule.Kernel{})
}

// dropRead removes the operands of a kernel that read the moved elements, and says whether those that are left read all that the mover
// does. An operand that reads the same as another is that one.
func (m *mover) dropRead(c *schedule.Kernel) bool {
	number, kept := make([]int, len(c.Operands)), c.Operands[:0:0]
	for i, o := range c.Operands {
		same := slices.IndexFunc(kept, func(p schedule.Operand) bool {
			return p.Buffer == o.Buffer && p.Mode == o.Mode && p.Access.Equal(o.Access)
		})
		switch {
		case o.Buffer == m.k.Operands[m.out].Buffer:
			number[i] = -1
		case same >= 0:
			number[i] = same
		default:
			number[i], kept = len(kept), append(kept, o)
		}
	}
	for i, s := range c.Statements {
		if s.Store >= 0 {
			c.Statements[i].Store = int64(number[s.Store])
		}
		c.Statements[i].Value = s.Value.Map(func(e *scalar.Expr) *scalar.Expr {
			if e.Op == scalar.Load && number[e.Ref] != e.Ref {
				return scalar.NewLoad(number[e.Ref], e.Type)
			}
			return e
		})
	}
	c.Operands = kept
	for i, o := range m.k.Operands {
		if i != m.out && !slices.ContainsFunc(kept, func(p schedule.Operand) bool { return p.Buffer == o.Buffer }) {
			return false
		}
	}
	return true
}

// replace puts what is moved where an operand is read. If it is one element, the operand reads that.
func (m *mover) replace(to *reader, operand int) bool {
	loops, ok := m.loopsOf(to, operand)
	if !ok {
		return false
	}
	c := to.Kernel
	if m.value.Op == scalar.Load {
		from := m.k.Operands[m.value.Ref]
		c.Operands[operand].Buffer, c.Operands[operand].Access = from.Buffer, access.Compose(from.Access, loops)
		return true
	}
	number := map[int]int{}
	value := m.value.Map(func(e *scalar.Expr) *scalar.Expr {
		switch e.Op {
		case scalar.Loop:
			return affine.Sum{Factors: loops.Projection[e.Ref], Constant: loops.Offset[e.Ref]}.Expr()
		case scalar.Load:
			to, ok := number[e.Ref]
			if !ok {
				to = addRead(c, m.k.Operands[e.Ref], access.Compose(m.k.Operands[e.Ref].Access, loops))
				number[e.Ref] = to
			}
			return scalar.NewLoad(to, e.Type)
		case scalar.Add, scalar.Sub, scalar.Mul:
			if sum, ok := affine.Of(e); ok {
				return sum.Expr()
			}
		}
		return e
	})
	value = settled(c, value)
	if takenIn(c, operand, value) {
		value = m.ahead(c, operand, value)
	}
	for i, s := range c.Statements {
		c.Statements[i].Value = s.Value.Map(func(e *scalar.Expr) *scalar.Expr {
			if e.Op == scalar.Load && e.Ref == operand {
				return value
			}
			return within(e)
		})
	}
	return true
}

// takenIn says whether a sum of a kernel would take a product, which another operation computes, for one of its own, that is not rounded before it is added (docs/numerics.md).
func takenIn(c *schedule.Kernel, operand int, value *scalar.Expr) bool {
	return value.Op == scalar.Mul && value.Type.IsFloat() && slices.ContainsFunc(c.Statements, func(s schedule.Statement) bool {
		return s.Value.Any(func(e *scalar.Expr) bool {
			return e.Op == scalar.Reduce && e.Args[0].Any(func(e *scalar.Expr) bool { return e.Op == scalar.Load && e.Ref == operand })
		})
	})
}

// ahead computes what an operand read in a statement of its own, and gives the local value.
func (m *mover) ahead(c *schedule.Kernel, operand int, value *scalar.Expr) *scalar.Expr {
	var over []int64
	for l := range c.Loops {
		if slices.ContainsFunc(c.Operands[operand].Access.Projection, func(row []int64) bool { return row[l] != 0 }) {
			over = append(over, int64(l))
		}
	}
	for i, s := range c.Statements {
		c.Statements[i].Value = s.Value.Map(func(e *scalar.Expr) *scalar.Expr {
			if e.Op == scalar.Local {
				return scalar.NewLocal(e.Ref+1, e.Type)
			}
			return e
		})
	}
	first := schedule.Statement{Name: access.FreshName(c, m.k.Statements[len(m.k.Statements)-1].Name), Over: over, Store: -1, Value: value}
	c.Statements = slices.Insert(c.Statements, 0, first)
	return scalar.NewLocal(0, value.Type)
}

// within puts a border around each of the elements that one of is chosen inside it, and one border around an element with two. A choice by elements stays inside: they
// need not be there beyond the border.
func within(e *scalar.Expr) *scalar.Expr {
	if e.Op != scalar.Where || e.Args[2].Op != scalar.Const || e.Args[1].Op != scalar.Where {
		return e
	}
	inner := e.Args[1]
	if inner.Args[0].Any(func(e *scalar.Expr) bool { return e.Op == scalar.Load || e.Op == scalar.Local }) {
		return e
	}
	if inner.Args[2].Equal(e.Args[2]) {
		both := scalar.Must(scalar.And, e.Args[0], inner.Args[0])
		return within(scalar.Must(scalar.Where, both, inner.Args[1], inner.Args[2]))
	}
	return scalar.Must(scalar.Where, inner.Args[0], within(scalar.Must(scalar.Where, e.Args[0], inner.Args[1], e.Args[2])),
		within(scalar.Must(scalar.Where, e.Args[0], inner.Args[2], e.Args[2])))
}

// addRead gives the number of an operand that reads a buffer, which may be there already.
func addRead(k *schedule.Kernel, o schedule.Operand, at zspace.AffineMap) int {
	for i, have := range k.Operands {
		if have.Buffer == o.Buffer && have.Mode == schedule.Read && have.Access.Equal(at) {
			return i
		}
	}
	o.Access, o.Name = at, access.FreshName(k, o.Name)
	k.Operands = append(k.Operands, o)
	return len(k.Operands) - 1
}

// settled leaves out the choices of a value that are the same at all values of the loops of a kernel.
func settled(k *schedule.Kernel, e *scalar.Expr) *scalar.Expr {
	box := k.Space()
	return e.Map(func(e *scalar.Expr) *scalar.Expr {
		if e.Op != scalar.Where {
			return e
		}
		sums, ok := affine.Borders(e.Args[0])
		if !ok {
			return e
		}
		always := true
		for _, s := range sums {
			least, most := s.Hull(box)
			if most < 0 {
				return e.Args[2]
			}
			always = always && least >= 0
		}
		if always {
			return e.Args[1]
		}
		return e
	})
}

package trees

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/ir/affine"
	"tensortapestry.org/tapc/ir/scalar"
)

// compute writes a Map: for all lanes, inside of their loop.
func (p *printer) compute(s *tree.Map) {
	if p.vector.along == nil {
		p.Map(s)
		return
	}
	if s.About != "" {
		p.Line("// %s", cnest.Clip(s.About))
	}
	m, lanes, l := s.Dst.Memory, p.vector.lanes, leaves{p, s.Computed}
	var x vector.Value
	if s.Monoid == tree.NoMonoid {
		x = p.e.V.Expr(s.Value, lanes, l)
	} else {
		live := p.vector.count
		if p.vector.whole || p.vector.own[m] {
			live = "" // lanes that are not there change nothing
		}
		x = p.e.V.Of(m.Type, lanes).Accumulate(s.Monoid, l.read(s.Dst), s.Value, live, l)
	}
	step := p.stride(s.Dst)
	if m.Lanes == 0 && step == 0 && x.Uniform {
		if m.Scope == tree.Global || m.Scope == tree.Private {
			x.Text = p.e.W.Store(m.Type, x.Text)
		}
		p.Line("%s = %s;", p.lvalue(s.Dst), x.Text)
		return
	}
	if x.Uniform && x.Type == scalar.BFloat16 { // a number alone is float32
		x = p.e.V.BF16(x.Type, lanes, p.e.V.Splat(vector.Value{Text: x.Text, Type: scalar.Float32, Uniform: true}, lanes))
	}
	x = p.e.V.Splat(x, lanes)
	if m.Mask > 0 {
		x.Text = p.e.V.Mask(x, int(m.Mask), lanes)
	}
	if m.Lanes > 0 {
		p.Line("%s = %s;", p.lvalue(s.Dst), x.Text)
		return
	}
	at, t := fmt.Sprintf("%s + %s", m.Symbol(), s.Dst.Address()), p.e.V.Of(m.Type, lanes)
	if m.Type == scalar.Bool {
		x.Text = p.e.V.Bytes(x, lanes)
	}
	switch {
	case step != 1:
		p.Line("%s;", t.Scatter(at, tree.Const(step).String(), x.Text, p.vector.count))
	case s.Stream > 0 && p.vector.whole:
		p.stream = true
		p.Line("if (past && ((uintptr_t)%s & %d) == 0) %s; else %s;", m.Symbol(), lanes*m.Type.Size()-1, t.Stream(at, x.Text), t.Store(at, x.Text, p.vector.count))
	default:
		p.Line("%s;", t.Store(at, x.Text, p.vector.count))
	}
}

// branch writes a choice: for a vector, where it is true of one of its lanes.
func (p *printer) branch(s *tree.Branch) {
	if p.vector.along != nil {
		if x := p.e.V.Expr(s.Value, p.vector.lanes, leaves{p, s.Computed}); !x.Uniform {
			p.Open("if (__builtin_expect((%s & ((1u << %s) - 1)) != 0, 0)) {", p.e.V.Bits(p.e.V.Mask(x, 4, p.vector.lanes), p.vector.lanes), p.vector.count)
			p.List(s.Then)
			p.Close()
			return
		}
	}
	p.Branch(s)
}

// leaves are the leaves of an expression for all lanes.
type leaves struct {
	p *printer
	tree.Computed
}

func (l leaves) Load(ref int) vector.Value { return l.read(l.Args[ref]) }

// read gives an element, or those of a vector's lanes.
func (l leaves) read(a tree.Access) vector.Value {
	p, d := l.p, a.Memory.Type
	if a.Memory.Lanes > 0 {
		return vector.Value{Text: p.lvalue(a), Type: d, Mask: int(a.Memory.Mask)}
	}
	at, x := fmt.Sprintf("%s + %s", a.Memory.Symbol(), a.Address()), vector.Value{Type: d}
	switch s := p.stride(a); s {
	case 0:
		if x.Text, x.Uniform = p.Value(a), true; p.given(nil, a.Memory) {
			x.Text = a.Memory.Name
		}
		return x
	case 1:
		x.Text = p.e.V.Of(d, p.vector.lanes).Load(at, p.vector.count)
	default:
		x.Text = p.e.V.Of(d, p.vector.lanes).Gather(at, tree.Const(s).String(), p.vector.count)
	}
	if d == scalar.Bool {
		return p.e.V.Truth(x.Text, p.vector.lanes)
	}
	return x
}

func (l leaves) Local(int) vector.Value           { return vector.Value{} }
func (l leaves) Reduce(*scalar.Expr) vector.Value { return vector.Value{} }

func (l leaves) Loop(ref int) vector.Value {
	x := l.Loops[ref]
	text := fmt.Sprintf("(int64_t)(%s)", x)
	if x.Uses(l.p.vector.along.Var) {
		return l.p.e.V.Count(text, l.p.vector.lanes)
	}
	return vector.Value{Text: text, Type: scalar.Int64, Uniform: true}
}

// Guarded writes a load under a guard that lanes differ in. A vector that is there has all lanes: it needs no guard.
func (l leaves) Guarded(e *scalar.Expr) (vector.Value, bool) {
	sums, ok := affine.Guards(e)
	if !ok || e.Type == scalar.Bool {
		return vector.Value{}, false
	}
	p, load := l.p, l.Args[e.Args[1].Ref]
	if load.Memory.Lanes > 0 {
		return vector.Value{}, false
	}
	guards, differ, far := make([]vector.Guard, len(sums)), false, p.stride(load) != 1
	for i, a := range sums {
		at := tree.Const(a.Constant)
		for loop, f := range a.Factors {
			if f != 0 {
				at = at.Add(l.Loops[loop].Times(f))
			}
		}
		n, _ := at.Multiple(p.vector.along.Var)
		guards[i], differ, far = vector.Guard{Text: at.String(), Growth: n}, differ || n != 0, far || max(n, -n) > 1
	}
	switch {
	case !differ:
		return vector.Value{}, false
	case far:
		return l.laneByLane(e), true
	}
	address := fmt.Sprintf("%s + %s", load.Memory.Symbol(), load.Address())
	return p.e.V.Of(e.Type, p.vector.lanes).Guarded(address, guards, e.Args[2].Value, p.vector.count), true
}

// laneByLane writes a guarded load whose lanes are not neighbours.
func (l leaves) laneByLane(e *scalar.Expr) vector.Value {
	p, ref := l.p, e.Args[1].Ref
	at := func(offset string) tree.Computed {
		v := p.vector.along.Var
		here := tree.Use(v).Add(tree.Use(&tree.Var{Name: offset}))
		c := tree.Computed{Value: e.Args[0], Loops: slices.Clone(l.Loops), Args: slices.Clone(l.Args)}
		for i, x := range c.Loops {
			if x != nil {
				c.Loops[i] = x.With(v, here)
			}
		}
		c.Args[ref].At = with(c.Args[ref].At, v, here)
		return c
	}
	first, last, lane := at("0"), at(fmt.Sprintf("(%s - 1)", p.vector.count)), at("l")
	return p.e.V.Of(e.Type, p.vector.lanes).LaneByLane(p.Computed(first), p.Computed(last), l.Load(ref), p.Computed(lane), p.Value(lane.Args[ref]),
		e.Args[2].Value, p.vector.count)
}

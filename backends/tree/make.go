package tree

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir/scalar"
)

// Names gives names that nothing else of a tree has: a prefix and a number.
type Names struct {
	used  int
	given map[string]int // how often prefixes were, if they are names without a number; else nil
}

// PlainNames gives a prefix as it is the first time, for a tree whose templates are read beside it.
func PlainNames() *Names { return &Names{given: map[string]int{}} }

// Fresh gives a new name with a prefix.
func (n *Names) Fresh(prefix string) string {
	if n.given != nil {
		if n.given[prefix]++; n.given[prefix] > 1 {
			return fmt.Sprintf("%s_%d", prefix, n.given[prefix]-1)
		}
		return prefix
	}
	n.used++
	return fmt.Sprintf("%s%d", prefix, n.used-1)
}

// Variable makes a new variable.
func (n *Names) Variable(prefix string) *Var { return &Var{Name: n.Fresh(prefix)} }

// Let binds a variable to an index, in statements that are added to a list, unless it is one already or a number.
func (n *Names) Let(list *[]Stmt, prefix string, x *Index) *Index {
	if _, ok := x.Number(); ok || x.Var() != nil {
		return x
	}
	return n.Bound(list, prefix, x)
}

// Bound binds a variable to an index.
func (n *Names) Bound(list *[]Stmt, prefix string, x *Index) *Index {
	v := n.Variable(prefix)
	*list = append(*list, &Let{Var: v, Value: x})
	return Use(v)
}

// Loaded is an element as an expression.
func Loaded(a Access) Computed {
	var c Computed
	c.Value = c.Argument(a)
	return c
}

// Argument gives an element as a part of the expression, which has it as an argument once.
func (c *Computed) Argument(a Access) *scalar.Expr {
	at := slices.IndexFunc(c.Args, func(x Access) bool { return x.Memory == a.Memory && slices.Equal(x.At, a.At) })
	if at < 0 {
		at = len(c.Args)
		c.Args = append(c.Args, a)
	}
	return scalar.NewLoad(at, a.Memory.Type)
}

// Loop makes a loop, whose body is made with its variable.
func (n *Names) Loop(bind Bind, name string, from, to *Index, step int64, body func(at *Index) []Stmt) *For {
	v := n.Variable(name)
	return &For{Var: v, From: from, To: to, Step: step, Bind: bind, Body: body(Use(v))}
}

// Span is a range of coordinates, which does not reach To.
type Span struct{ From, To *Index }

// Between is the coordinates from one on, before another.
func Between(from, to *Index) Span { return Span{from, to} }

// Only is one coordinate, Some are so many, and All are those of a dimension that begins at 0.
func Only(x *Index) Span          { return Some(x, 1) }
func Some(x *Index, n int64) Span { return Span{x, x.Plus(n)} }
func All(n int64) Span            { return Some(Const(0), n) }

// BoxOf makes a box of a memory; dimensions that have no stride have no coordinates.
func BoxOf(m *Memory, spans ...Span) Box {
	b := Box{Memory: m, From: make([]*Index, len(m.Dims)), To: make([]*Index, len(m.Dims))}
	for i, s := range spans {
		if m.Dims[i].Stride != 0 {
			b.From[i], b.To[i] = s.From, s.To
		}
	}
	return b
}

// Address is the address of the first element of a box, as an argument of a template.
func (b Box) Address() Argument { return Argument{At: b.First()} }

// Number is an index as an argument of a template.
func Number(x *Index) Argument { return Argument{Number: x} }

// Numbers are indices as arguments of a template.
func Numbers(list ...*Index) (out []Argument) {
	for _, x := range list {
		out = append(out, Number(x))
	}
	return out
}

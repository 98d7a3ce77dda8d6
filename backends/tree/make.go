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

// Delinearize makes indices of some extents from a number: the last extent runs fastest.
func (n *Names) Delinearize(list *[]Stmt, x *Index, extents []int64) []*Index {
	out := make([]*Index, len(extents))
	for i, extent := range slices.Backward(extents) {
		part := x.Mod(extent)
		if i == 0 {
			part = x
		}
		if extent == 1 {
			part = Const(0)
		}
		out[i] = n.Let(list, "b", part)
		x = x.Div(extent)
	}
	return out
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

package tree

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir/scalar"
)

// Names gives names that nothing else of a tree has.
type Names struct{ used int }

// Fresh gives a new name with a prefix.
func (n *Names) Fresh(prefix string) string {
	n.used++
	return fmt.Sprintf("%s%d", prefix, n.used-1)
}

// Variable makes a new variable.
func (n *Names) Variable(prefix string) *Var { return &Var{Name: n.Fresh(prefix)} }

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

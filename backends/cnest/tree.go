package cnest

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/ir/scalar"
)

// Tree writes the statements of tile trees that are alike on all targets.
type Tree struct {
	*Text
	Index string            // the C type of indices
	Stmt  func(s tree.Stmt) // writes any statement
	W     *cexpr.Writer
}

// List writes statements.
func (t *Tree) List(body []tree.Stmt) {
	for _, s := range body {
		t.Stmt(s)
	}
}

// Let writes a variable.
func (t *Tree) Let(s *tree.Let) { t.Line("const %s %s = %s;", t.Index, s.Var.Name, s.Value) }

// For writes a loop whose iterations follow each other; pragma asks for it to be written out where it is Unrolled.
func (t *Tree) For(s *tree.For, pragma string) {
	if s.Bind == tree.Unrolled {
		t.Line("%s", pragma)
	}
	v := s.Var.Name
	t.Open("for (%s %s = %s; %s < %s; %s += %d) {", t.Index, v, s.From, v, s.To, v, s.Step)
	t.List(s.Body)
	t.Close()
}

// If writes a choice.
func (t *Tree) If(s *tree.If) {
	var conds []string
	for _, c := range s.Conds {
		conds = append(conds, c.String())
	}
	t.choice(strings.Join(conds, " && "), s.Then, s.Else)
}

func (t *Tree) choice(cond string, then, other []tree.Stmt) {
	t.Open("if (%s) {", cond)
	t.List(then)
	if len(other) > 0 {
		t.Else()
		t.List(other)
	}
	t.Close()
}

// At writes what is done at a computed index.
func (t *Tree) At(s *tree.At) {
	v := s.Var.Name
	t.Open("{")
	t.Line("const int64_t %s = %s;", v, t.Computed(s.Computed))
	t.Open("if (%s >= %d && %s < %d) {", v, s.From, v, s.To)
	t.List(s.Body)
	t.Close(2)
}

// Branch writes a choice by a computed value.
func (t *Tree) Branch(s *tree.Branch) { t.choice(Bare(t.Computed(s.Computed)), s.Then, s.Else) }

// Element is the C type of a memory's elements.
func (t *Tree) Element(m *tree.Memory) string {
	switch {
	case m.Acc:
		return t.W.Type(m.Type.Wide())
	case computing(m):
		return t.W.Type(m.Type)
	}
	return t.W.Stored(m.Type)
}

// computing says whether elements are kept as they are computed with.
func computing(m *tree.Memory) bool {
	return m.Scope == tree.Registers || m.Scope == tree.Workspace && !m.Packed
}

// Value reads an element: a number as it is computed with.
func (t *Tree) Value(a tree.Access) string {
	switch {
	case a.Memory.Acc:
		return t.W.Round(a.Memory.Type, Lvalue(a))
	case a.Memory.Mask > 0:
		return "(uint8_t)-" + Lvalue(a)
	case computing(a.Memory):
		return Lvalue(a)
	}
	return t.W.Load(a.Memory.Type, Lvalue(a))
}

// Lvalue is an element, that of a vector by its lane.
func Lvalue(a tree.Access) string {
	if n := a.Memory.Lanes; n > 0 {
		return fmt.Sprintf("%s[%s][%s]", a.Memory.Symbol(), a.Address().Div(n), a.Address().Mod(n))
	}
	return fmt.Sprintf("%s[%s]", a.Memory.Symbol(), a.Address())
}

// Computed writes the value of an expression.
func (t *Tree) Computed(c tree.Computed) string { return t.W.Expr(c.Value, treeLeaves{t, c, false}) }

// Map computes a number and stores it.
func (t *Tree) Map(s *tree.Map) {
	if s.About != "" {
		t.Line("// %s", Clip(s.About))
	}
	to := Lvalue(s.Dst)
	if s.Monoid != tree.NoMonoid {
		reduce := &scalar.Expr{Op: scalar.Reduce, Type: s.Dst.Memory.Type, Monoid: s.Monoid, Args: []*scalar.Expr{s.Value}}
		t.Line("%s = %s;", to, t.W.Fold(reduce, to, treeLeaves{t, s.Computed, s.Dst.Memory.Acc}))
		return
	}
	value := t.Computed(s.Computed)
	if !computing(s.Dst.Memory) {
		value = t.W.Store(s.Dst.Memory.Type, value)
	}
	t.Line("%s = %s;", to, value)
}

// treeLeaves are the leaves of an expression of a tree. wide: a partial sum is not rounded before it is added.
type treeLeaves struct {
	t *Tree
	tree.Computed
	wide bool
}

func (l treeLeaves) Load(ref int) string {
	if a := l.Args[ref]; l.wide && a.Memory.Acc {
		return Lvalue(a)
	}
	return l.t.Value(l.Args[ref])
}

func (treeLeaves) Local(int) string           { return "" }
func (treeLeaves) Reduce(*scalar.Expr) string { return "" }
func (treeLeaves) Chosen(*scalar.Expr) string { return "" }
func (l treeLeaves) Loop(ref int) string      { return fmt.Sprintf("(int64_t)(%s)", l.Loops[ref]) }

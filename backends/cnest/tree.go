package cnest

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/backends/tree"
)

// Tree writes the statements of tile trees that are alike on all targets.
type Tree struct {
	*Text
	Index string            // the C type of indices
	Stmt  func(s tree.Stmt) // writes any statement
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
		conds = append(conds, fmt.Sprintf("%s < %s", c.Var.Name, c.Limit))
	}
	t.Open("if (%s) {", strings.Join(conds, " && "))
	t.List(s.Then)
	if len(s.Else) > 0 {
		t.Else()
		t.List(s.Else)
	}
	t.Close()
}

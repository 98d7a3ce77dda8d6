// Package expr is the expressions of mapping rules: how they are read, and what they compute.
//
// An expression computes values (foreign.Value) when a model is mapped: lists, numbers, texts, tensors whose elements are known. Where it calls a
// kernel, or an operation of the source, the run that it is a part of (Run) makes one: the package knows no rules, no kernels and no
// graphs. Every expression ends: functions use only those before them, and the work of a rule is counted in steps. It must not
// import frontends/mapping. Read next: parse.go, env.go, eval.go, functions.go.
package expr

import (
	"tensortapestry.org/tapc/frontends/foreign"
)

// Kind says what an expression is.
type Kind uint8

// The kinds of expressions.
const (
	KindLit Kind = iota
	KindName
	KindIf
	KindBinary
	KindUnary
	KindList
	KindFor     // [body for name in list if cond]
	KindWith    // with name = value do body
	KindForeign // of an operation of the source
	KindFold    // fold acc = init for name in list do body
	KindIndex
	KindSlice
	KindCall   // of a built-in function
	KindDef    // of a function of the table
	KindKernel // of a kernel
)

// Expr is one node of an expression. Args hold its parts in reading order; nil parts are left out.
type Expr struct {
	Kind  Kind
	Text  string // name or operator
	Lit   foreign.Value
	Args  []*Expr
	Ports []string // of a kernel call: the port of each argument, "" by position
	Attrs []NamedExpr
	Def   *Def
	Line  int
}

// NamedExpr is an attribute in the braces behind a call.
type NamedExpr struct {
	Name  string
	Value *Expr
}

// Def is a function of a table.
type Def struct {
	Name   string
	Params []string
	Body   *Expr
}

// Clause is "let names = expr" or, without names, "need expr, reason".
type Clause struct {
	Names  []string
	Value  *Expr
	Reason string
}

// Kernel names the kernel that an expression calls or, with tensors on its sides, would call; "" for none.
func (x *Expr) Kernel() string {
	switch x.Kind {
	case KindKernel:
		return x.Text
	case KindBinary:
		return tensorOps[x.Text]
	}
	return ""
}

// tensorOps are the kernels that operators between tensors stand for. == and != compare identities and never make an operation.
var tensorOps = map[string]string{"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floor_div", "%": "mod",
	"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}

// maxList bounds the lists that functions make.
const maxList = 1 << 20

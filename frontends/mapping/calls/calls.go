// Package calls says what the calls of kernels in rules are: the operand of each argument, and what a rule hands to parameters.
//
// It must not import frontends/mapping, which reads it when it maps back. Read next: frontends/mapping/back.go.
package calls

import (
	"fmt"
	"slices"
	"sync/atomic"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/expr"
)

// Handed is an attribute that becomes a parameter: as it is, or as a list of one, or as whether it is 1.
type Handed struct {
	Attr, Param string
	Flag, One   bool
}

// Known keeps what was found for the library that was asked for last: one mapping back after another asks. The zero value knows nothing.
type Known struct{ last atomic.Pointer[collector] }

// Of gives the kernels of a library that clauses call, by name, with what each call hands on.
func (k *Known) Of(lib *kernels.Library, clauses []expr.Clause) map[string][]Handed {
	if known := k.last.Load(); known != nil && known.lib == lib {
		return known.calls
	}
	find := &collector{lib: lib, calls: map[string][]Handed{}}
	for _, c := range clauses {
		find.walk(c.Value, nil)
	}
	k.last.Store(find)
	return find.calls
}

// collector notes the kernels that a rule calls, those of functions included, and the names in the values of their parameters. Which of
// these are attributes that are handed on is seen when the rule is tried.
type collector struct {
	lib   *kernels.Library
	calls map[string][]Handed
	steps int // functions may call others many times over
}

// walk goes through an expression. In the body of a function, names stand for those in its arguments.
func (c *collector) walk(x *expr.Expr, names map[string][]string) {
	if c.steps++; x == nil || c.steps > 1<<12 {
		return
	}
	kernel := x.Kernel()
	if x.Kind == expr.KindDef {
		inner := map[string][]string{}
		for i, p := range x.Def.Params {
			inner[p] = through(namesIn(x.Args[i], nil), names)
		}
		c.walk(x.Def.Body, inner)
	}
	if d, ok := c.lib.Find(kernel); ok && kernel != "" {
		c.calls[d.Name] = append(c.calls[d.Name], arguments(x, names)...)
	}
	for _, a := range x.Args {
		c.walk(a, names)
	}
	for _, a := range x.Attrs {
		c.walk(a.Value, names)
	}
}

func arguments(x *expr.Expr, names map[string][]string) []Handed {
	var out []Handed
	for _, a := range x.Attrs {
		v := a.Value
		for _, name := range through(namesIn(v, nil), names) {
			out = append(out, Handed{name, a.Name, v.Kind == expr.KindBinary && v.Text == "==", v.Kind == expr.KindList && len(v.Args) == 1})
		}
	}
	return out
}

// through replaces the parameters of a function by the names that they stand for.
func through(list []string, names map[string][]string) []string {
	if names == nil {
		return list
	}
	var out []string
	for _, n := range list {
		out = append(out, names[n]...)
	}
	return out
}

func namesIn(x *expr.Expr, list []string) []string {
	if x == nil {
		return list
	}
	if x.Kind == expr.KindName && !slices.Contains(list, x.Text) {
		list = append(list, x.Text)
	}
	for _, a := range x.Args {
		list = namesIn(a, list)
	}
	return list
}

// Results is the parameter of a call that says how many results a variadic output has.
const Results = "results"

// Place finds the operand of each argument.
func Place(decl *declaration.Kernel, args []expr.PortArg) ([]*declaration.Operand, error) {
	out := make([]*declaration.Operand, len(args))
	at := 0
	for i, a := range args {
		if k, ok := decl.Port(a.Port); ok && !decl.Operands[k].Out {
			out[i] = &decl.Operands[k]
		}
		if a.Port == "" {
			for at < len(decl.Operands) && decl.Operands[at].Out {
				at++
			}
			if at < len(decl.Operands) {
				out[i] = &decl.Operands[at]
				if !out[i].Variadic || a.Value.Kind == foreign.List {
					at++
				}
			}
		}
		if out[i] == nil {
			return nil, fmt.Errorf("kernel %s has no input %q", decl.Name, a.Port)
		}
	}
	return out, nil
}

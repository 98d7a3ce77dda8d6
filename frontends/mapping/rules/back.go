package rules

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
)

// backRule reads "kernel 13.. (inputs) -> (outputs)" and its clauses: operations of the vocabulary for a kernel. Inputs and
// outputs are the kernel's, in the order of its declaration; attributes are its parameters, with their defaults filled in.
func backRule(p *parser) error {
	r := &Rule{Table: p.table.Name, Subject: Subject{To: -1}, Line: p.Peek().Line}
	var err error
	if r.Op, err = p.Operation(); err != nil {
		return err
	}
	r.Name = p.table.Name + ".back " + r.Op
	if p.table.Hop != 0 {
		return fmt.Errorf("a table from one version to another has no rules back")
	}
	if err = p.versions(r); err != nil {
		return err
	}
	if p.Accept("refuse") {
		r.Refuses, err = p.reason()
		p.table.Backs = append(p.table.Backs, r)
		return err
	}
	if err = p.ruleHead(r); err != nil {
		return err
	}
	p.Scope = []string{"opset"}
	for _, in := range r.In {
		p.Scope = append(p.Scope, in.Name)
	}
	if r.Back.Near = p.Accept("near"); r.Back.Near || p.Accept("exact") {
		if r.Back.Same, err = p.reason(); err != nil {
			return err
		}
	}
	for more := true; more && err == nil; {
		more, err = p.clause(r)
	}
	if err != nil {
		return err
	}
	p.table.Backs = append(p.table.Backs, r)
	return r.check()
}

// checkBack holds a rule back to the kernel that it is for. One whose operations are other kernels must name every parameter, for nothing
// else would find that it leaves one out.
func (r *Rule) checkBack(lib *kernels.Library) error {
	decl, ok := lib.Find(r.Op)
	if !ok {
		return fmt.Errorf("%s is no kernel", r.Op)
	}
	if r.Refuses != "" {
		return nil
	}
	for _, out := range []bool{false, true} {
		sides := Side(decl, out)
		names := r.Out
		if !out {
			names = make([]string, len(r.In))
		}
		if len(names) > len(sides) {
			return fmt.Errorf("kernel %s has %d operands on one side, and the rule names %d", decl.Name, len(sides), len(names))
		}
		for i, in := range r.In {
			if o := decl.Operands[sides[min(i, len(sides)-1)]]; !out && (o.Optional != in.Optional || o.Variadic != in.Variadic) {
				return fmt.Errorf("kernel %s: operand %s and input %s: expected \"?\" behind what may be missing and \"...\" behind a list", decl.Name, o.Name(), in.Name)
			}
		}
	}
	for _, a := range r.Attrs {
		if _, ok := decl.Attr(a.Name); !ok {
			return fmt.Errorf("kernel %s has no parameter %s", decl.Name, a.Name)
		}
	}
	for _, d := range decl.Attrs {
		if r.Back.Same != "" && !slices.ContainsFunc(r.Attrs, func(a AttrParam) bool { return a.Name == d.Name }) {
			return fmt.Errorf("kernel %s has the parameter %s, which the rule neither reads nor ignores", decl.Name, d.Name)
		}
	}
	return nil
}

// Side gives the positions of a kernel's inputs or outputs.
func Side(decl *declaration.Kernel, out bool) []int {
	var list []int
	for i := range decl.Operands {
		if decl.Operands[i].Out == out {
			list = append(list, i)
		}
	}
	return list
}

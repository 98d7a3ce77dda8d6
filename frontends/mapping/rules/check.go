package rules

import (
	"errors"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/calls"
	"tensortapestry.org/tapc/frontends/mapping/expr"
)

// Check holds every kernel call of a table to a library: that the kernel is there, and the ports and parameters that are
// named. All that is wrong is reported, each with its line.
func (t *Table) Check(lib *kernels.Library) error {
	var all []error
	for _, c := range t.calls {
		if err := checkCall(c, lib); err != nil {
			all = append(all, fmt.Errorf("%s:%d: %w", t.file, c.Line, err))
		}
	}
	for _, r := range t.Rules {
		if r.To >= 0 && r.To < r.From {
			all = append(all, fmt.Errorf("%s:%d: rule %s: expected a version of at least %d behind \"..\", found %d", t.file, r.Line, r.Name, r.From, r.To))
		}
	}
	for _, r := range t.Backs {
		if err := r.checkBack(lib); err != nil {
			all = append(all, fmt.Errorf("%s:%d: rule back: %w", t.file, r.Line, err))
		}
	}
	return errors.Join(all...)
}

func checkCall(c *expr.Expr, lib *kernels.Library) error {
	decl, ok := lib.Find(c.Text)
	if !ok {
		return fmt.Errorf("%s is neither a function nor a kernel", c.Text)
	}
	args := make([]expr.PortArg, len(c.Args))
	for i := range args {
		args[i] = expr.PortArg{Port: c.Ports[i], Value: foreign.Value{Kind: foreign.List}}
	}
	if _, err := calls.Place(decl, args); err != nil {
		return err
	}
	variadic := slices.ContainsFunc(decl.Operands, func(o declaration.Operand) bool { return o.Out && o.Variadic })
	seen := map[string]bool{}
	for _, a := range c.Attrs {
		_, declared := decl.Attr(a.Name)
		if !declared && !(a.Name == calls.Results && variadic) {
			return fmt.Errorf("kernel %s has no parameter %s", decl.Name, a.Name)
		}
		if seen[a.Name] {
			return fmt.Errorf("kernel %s: parameter %s is given twice", decl.Name, a.Name)
		}
		seen[a.Name] = true
	}
	return nil
}

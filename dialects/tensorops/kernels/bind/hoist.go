package bind

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir/scalar"
)

// hoistFolds gives every fold along a dim that runs where the fold stands a statement of its own before: its value is the
// same for all of that dim.
func hoistFolds(in *instance.Instance) error {
	old := in.Statements
	h := &hoister{in: in, number: make([]int, len(old))}
	in.Statements = nil
	for i, s := range old {
		h.statement = s.Name
		s.Value = s.Value.Map(func(e *scalar.Expr) *scalar.Expr {
			if e.Op == scalar.Local {
				return scalar.NewLocal(h.number[e.Ref], e.Type)
			}
			return e
		})
		value, err := h.value(s.Value, s.Over)
		if err != nil {
			return err
		}
		s.Value = value
		h.number[i] = len(in.Statements)
		in.Statements = append(in.Statements, s)
	}
	return nil
}

type hoister struct {
	in        *instance.Instance
	number    []int  // of the statements that there were
	statement string // that is taken apart
}

// value takes the folds out of an expression that go along dims that run already.
func (h *hoister) value(e *scalar.Expr, runs []int) (*scalar.Expr, error) {
	if e.Op == scalar.Reduce && slices.ContainsFunc(e.Over, func(d int) bool { return slices.Contains(runs, d) }) {
		return h.hoist(e)
	}
	args := slices.Clone(e.Args)
	for i := range args {
		inside := runs
		if e.Op == scalar.Reduce && i == 0 {
			inside = append(slices.Clone(runs), e.Over...)
		}
		var err error
		if args[i], err = h.value(args[i], inside); err != nil {
			return nil, err
		}
	}
	c := *e
	c.Args = args
	return &c, nil
}

func (h *hoister) hoist(e *scalar.Expr) (*scalar.Expr, error) {
	over := free(h.in, e)
	if slices.ContainsFunc(e.Over, func(d int) bool { return slices.Contains(over, d) }) {
		return nil, infer.Refuse("/body", "an index that does not depend on its own dimension", h.in.Dims[e.Over[0]].Name, "kernel %s, %s", h.in.Decl.Name, h.statement)
	}
	for i, s := range h.in.Statements {
		if s.Store < 0 && s.Value.Equal(e) {
			return scalar.NewLocal(i, e.Type), nil
		}
	}
	value, err := h.value(e, over)
	if err != nil {
		return nil, err
	}
	h.in.Statements = append(h.in.Statements, instance.Statement{Name: h.statement + "_fold", Over: over, Store: -1, Value: value})
	return scalar.NewLocal(len(h.in.Statements)-1, e.Type), nil
}

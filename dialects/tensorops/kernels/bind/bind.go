// Package bind applies kernels to calls: it numbers the dims of what a call decides, gives each operand its access along them, and reads the
// statements of the declaration's body.
//
// Statements are then brought into the form that schedules need, and what nothing uses is dropped. It must not import the library of kernels.
// Read next: dims.go, body.go, finish.go; dialects/tensorops/kernels/instance for what comes out.
package bind

import (
	"strconv"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir/scalar"
)

// Instance applies a kernel to a call. The call's outputs must be there with their boxes and types; an output port that a call
// leaves out is not computed. The error is an *infer.Error.
func Instance(d *declaration.Kernel, c infer.Call) (*instance.Instance, error) {
	if d.Equation != "" {
		return byEquation(d, c)
	}
	sizes, err := infer.Solve(d, c)
	if err != nil {
		return nil, err
	}
	b := newBinder(sizes, c.Graph)
	for _, step := range []func() error{b.numberDims, b.accesses, b.body, b.finish} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return b.in, nil
}

// byEquation is Instance for a declaration by an equation.
func byEquation(d *declaration.Kernel, c infer.Call) (*instance.Instance, error) {
	e, call, err := infer.Expand(d, c)
	if err != nil {
		return nil, err
	}
	in, err := Instance(e, call)
	if err != nil {
		return nil, infer.InCall(d, err, c)
	}
	for i := range in.Operands {
		if o := &in.Operands[i]; !o.Decl.Out {
			o.Entry, _ = strconv.Atoi(strings.TrimPrefix(o.Port, d.Operands[0].Name()))
			o.Port = c.Inputs[0].Name
		}
	}
	return in, nil
}

// finish brings the statements into the form that schedules need, drops what nothing uses, and checks what is written.
func (b *binder) finish() error {
	if err := hoistFolds(b.in); err != nil {
		return err
	}
	dropStatements(b.in)
	dropOperands(b.in)
	dropDims(b.in)
	markIndex(b.in)
	if err := b.costClause(); err != nil {
		return err
	}
	return checkOutputs(b.in)
}

// costClause evaluates the cost that the declaration gives, if it does.
func (b *binder) costClause() error {
	if b.decl.Cost == "" {
		return nil
	}
	e, known, err := b.sizes.Evaluate(b.decl.Cost, 0)
	if err == nil {
		e, err = e.WithType(scalar.Int64)
	}
	if err != nil || !known {
		return infer.Refuse("/body", "a number of operations", b.decl.Cost, "kernel %s, cost", b.decl.Name)
	}
	if e = e.Fold(); e.Op == scalar.Const {
		b.in.Cost = max(0, e.Value.I)
	}
	return nil
}

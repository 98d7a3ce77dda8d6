package infer

import (
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Solve finds what a call decides. The call's outputs must be there with their boxes and types; an output port that it leaves out is
// none of its operands. The error is an *Error.
func Solve(d *declaration.Kernel, c Call) (*Sizes, error) {
	a := NewArguments(d)
	if err := a.ports(c.Inputs, false); err != nil {
		return nil, err
	}
	if err := a.ports(c.Outputs, true); err != nil {
		return nil, err
	}
	return a.solve(c.Params)
}

// solve finds what parameters decide beside the operands.
func (a *Arguments) solve(params ir.Attrs) (*Sizes, error) {
	ranks := NewRanks(a)
	sizes := NewSizes(ranks)
	steps := []func() error{func() error { return a.SetParams(params) }, a.DeriveTypes, ranks.solve, ranks.PlaceParams, sizes.solve}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return sizes, nil
}

// Outputs gives the shapes and element types of a call's outputs from its parameters and inputs, for every declared output in
// order; the call's own outputs, if any, only say how many selections a variadic output has (one if they do not). A type that
// nothing decides is scalar.Invalid. The error is an *Error.
func Outputs(d *declaration.Kernel, c Call) (shapes [][]int64, types []scalar.DType, err error) {
	if d.Equation != "" {
		e, call, err := Expand(d, c)
		if err != nil {
			return nil, nil, err
		}
		if shapes, types, err = Outputs(e, call); err != nil {
			err = InCall(d, err, c)
		}
		return shapes, types, err
	}
	a := NewArguments(d)
	a.outputs = map[string]int{}
	for i := range d.Operands {
		if o := &d.Operands[i]; o.Out {
			a.outputs[o.Name()] = entries(o, c)
		}
	}
	if err := a.ports(c.Inputs, false); err != nil {
		return nil, nil, err
	}
	sizes, err := a.solve(c.Params)
	if err != nil {
		return nil, nil, err
	}
	for i := range d.Operands {
		o := &d.Operands[i]
		if !o.Out {
			continue
		}
		for entry := range a.outputs[o.Name()] {
			shape, err := sizes.shape(o, entry)
			if err != nil {
				return nil, nil, err
			}
			t, _ := a.TypeOf(o)
			shapes, types = append(shapes, shape), append(types, t)
		}
	}
	return shapes, types, nil
}

// entries gives how many selections an output has.
func entries(o *declaration.Operand, c Call) int {
	if !o.Variadic {
		return 1
	}
	for _, p := range c.Outputs {
		for _, n := range o.Names {
			if p.Name == n {
				return len(p.Sel)
			}
		}
	}
	return 1
}

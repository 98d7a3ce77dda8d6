package kernels

import (
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir/scalar"
)

// Infer gives the shapes and element types of a call's outputs from its parameters and inputs, for every declared output in
// order; the call's own outputs, if any, only say how many selections a variadic output has (one if they do not). A type that
// nothing decides is scalar.Invalid. The error is a *BindError.
func Infer(d *declaration.Kernel, c Call) (shapes [][]int64, types []scalar.DType, err error) {
	if d.Equation != "" {
		e, call, err := expand(d, c)
		if err != nil {
			return nil, nil, err
		}
		if shapes, types, err = Infer(e, call); err != nil {
			err = inCall(d, err, c)
		}
		return shapes, types, err
	}
	b := newBinder(d)
	b.outputs = map[string]int{}
	for i := range d.Operands {
		if o := &d.Operands[i]; o.Out {
			b.outputs[o.Name()] = b.entries(o, c)
		}
	}
	steps := []func() error{
		func() error { return b.bindPorts(c.Inputs, false) },
		func() error { return b.bindAttrs(c.Params) },
		b.deriveTypes,
		b.bindRanks,
		b.placeAttrs,
		b.bindSizes,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, nil, err
		}
	}
	for i := range d.Operands {
		o := &d.Operands[i]
		if !o.Out {
			continue
		}
		for entry := range b.entries(o, c) {
			shape, err := b.inferred(o, entry)
			if err != nil {
				return nil, nil, err
			}
			t, ok := b.types[o.Type]
			if !ok {
				t, _ = scalar.ParseDType(o.Type)
			}
			shapes, types = append(shapes, shape), append(types, t)
		}
	}
	return shapes, types, nil
}

// entries gives how many selections an output has.
func (b *binder) entries(o *declaration.Operand, c Call) int {
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

// inferred gives the shape of an output from the sizes of its index entries.
func (b *binder) inferred(o *declaration.Operand, entry int) ([]int64, error) {
	shape := []int64{}
	for _, x := range o.Index {
		name := x.Name()
		if x.Each {
			name = eachName(name, entry)
		}
		sizes, ok := b.sizes[name]
		if !ok {
			return nil, refuse("/body/outputs", "inputs and parameters that give "+name, "none", "kernel %s, %s: the shape is not known", b.decl.Name, o.Name())
		}
		switch x.Use {
		case declaration.Permute:
			for _, i := range b.axes(x.Attr) {
				shape = append(shape, sizes[i])
			}
		case declaration.Keep:
			for _, i := range b.axes(x.Attr) {
				shape = append(shape, sizes[i])
			}
		case declaration.Drop:
			shape = append(shape, b.kept(x, sizes)...)
		default:
			shape = append(shape, sizes...)
		}
	}
	return shape, nil
}

// kept gives the sizes of a group without the axes of an attribute, or with 1 for those.
func (b *binder) kept(x declaration.IndexItem, sizes []int64) []int64 {
	dropped := make([]bool, len(sizes))
	for _, i := range b.axes(x.Attr) {
		dropped[i] = true
	}
	var out []int64
	for i, n := range sizes {
		switch {
		case !dropped[i]:
			out = append(out, n)
		case b.attrs["keepdims"].Int != 0:
			out = append(out, 1)
		}
	}
	return out
}

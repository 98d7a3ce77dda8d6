// Package example works out the cases of kernel declarations: their numbers as a call and the bytes of its tensors.
package example

import (
	"fmt"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Example is a case with its numbers as a call and the bytes of its tensors, dense and row-major: those of the inputs, then
// those of the outputs that are wanted, in the order of the call's ports.
type Example struct {
	Call            infer.Call
	Inputs, Outputs [][]byte
}

// Of works out a case.
func Of(d *declaration.Kernel, c declaration.Case) (*Example, error) {
	x := &Example{}
	types, err := caseTypes(d, c)
	if err != nil {
		return nil, err
	}
	for _, side := range []struct {
		items []declaration.CaseItem
		out   bool
	}{{c.Given, false}, {c.Want, true}} {
		for _, item := range side.items {
			if err := exampleItem(d, x, item, side.out, types); err != nil {
				return nil, fmt.Errorf("%s: %w", item.Name, err)
			}
		}
	}
	_, err = bind.Instance(d, x.Call)
	return x, err
}

func exampleItem(d *declaration.Kernel, x *Example, item declaration.CaseItem, out bool, types map[string]scalar.DType) error {
	if i, ok := d.Named(item.Name); ok && d.Operands[i].Out == out {
		o := &d.Operands[i]
		t, ok := types[o.Type]
		if !ok {
			t, _ = scalar.ParseDType(o.Type)
		}
		if t == scalar.Invalid {
			return fmt.Errorf("expected the case to say what %s is, such as %s = int8, found nothing", o.Type, o.Type)
		}
		p := infer.Port{Name: item.Name}
		var all [][]byte
		for _, v := range item.Values {
			shape, data, err := tensor(v, t)
			if err != nil {
				return err
			}
			p.Sel = append(p.Sel, infer.Selected{Sel: ir.Select(ir.NoNode, zspace.MustShape(shape...)), Type: t})
			all = append(all, data)
		}
		if out {
			x.Call.Outputs, x.Outputs = append(x.Call.Outputs, p), append(x.Outputs, all...)
		} else {
			x.Call.Inputs, x.Inputs = append(x.Call.Inputs, p), append(x.Inputs, all...)
		}
		return nil
	}
	if _, ok := d.TypeVar(item.Name); ok && !out {
		return nil
	}
	a, ok := d.Attr(item.Name)
	if !ok || out || len(item.Values) != 1 {
		return fmt.Errorf("expected an operand or an attribute, found %q", item.Name)
	}
	v, err := attrValue(item.Values[0], a)
	if err == nil {
		x.Call.Params = x.Call.Params.With(a.Name, v)
	}
	return err
}

// caseTypes gives the type variables of a case: what it says, and else a usual type of the class.
func caseTypes(d *declaration.Kernel, c declaration.Case) (map[string]scalar.DType, error) {
	types := map[string]scalar.DType{}
	for _, item := range c.Given {
		if v, ok := d.TypeVar(item.Name); ok && v.Of == "" {
			t, err := scalar.ParseDType(item.Values[0].Word)
			if err != nil || !v.Allows(t) {
				return nil, fmt.Errorf("%s: expected a dtype that is %s, found %q", item.Name, v.Class, item.Values[0].Word)
			}
			types[item.Name] = t
		}
	}
	for _, v := range d.Types {
		if _, ok := types[v.Name]; ok {
			continue
		}
		if v.Of != "" {
			types[v.Name] = v.From(types[v.Of])
			continue
		}
		for _, a := range d.Attrs {
			if a.Type == declaration.DTypeAttr && a.Of == v.Name {
				types[v.Name] = caseDType(d, c, a)
			}
		}
		for _, t := range []scalar.DType{scalar.Float32, scalar.Int64, scalar.Bool, scalar.Complex64} {
			if _, ok := types[v.Name]; !ok && v.Allows(t) {
				types[v.Name] = t
			}
		}
	}
	return types, nil
}

// caseDType gives the dtype that an attribute has in a case, or has by default; scalar.Float32 if it says nothing.
func caseDType(d *declaration.Kernel, c declaration.Case, a declaration.Attr) scalar.DType {
	word := a.Default
	for _, item := range c.Given {
		if item.Name == a.Name {
			word = item.Values[0].Word
		}
	}
	t, err := scalar.ParseDType(word)
	if err != nil {
		return scalar.Float32
	}
	return t
}

// attrValue gives a literal as a parameter's value.
func attrValue(v declaration.Literal, a *declaration.Attr) (ir.AttrValue, error) {
	if v.Many {
		list := ir.AttrValue{Kind: ir.AttrList}
		for _, x := range v.List {
			e, err := attrValue(x, a)
			if err != nil {
				return list, err
			}
			list.List = append(list.List, e)
		}
		return list, nil
	}
	b := *a
	b.Default = v.Word
	if _, err := strconv.ParseInt(v.Word, 10, 64); err == nil && (a.Type == declaration.AxesAttr || a.Type == declaration.PermAttr) {
		b.Type = declaration.IntAttr
	}
	return b.Fallback(), nil
}

// tensor gives the shape and bytes of nested lists of numbers.
func tensor(v declaration.Literal, d scalar.DType) (shape []int64, data []byte, err error) {
	if !v.Many {
		x, err := parseNumber(v.Word, d)
		if err != nil {
			return nil, nil, err
		}
		data = make([]byte, d.Size())
		x.Encode(data)
		return []int64{}, data, nil
	}
	if len(v.List) == 0 {
		return []int64{0}, nil, nil
	}
	var inner []int64
	for i, x := range v.List {
		s, b, err := tensor(x, d)
		if err != nil {
			return nil, nil, err
		}
		if i > 0 && !slices.Equal(s, inner) {
			return nil, nil, fmt.Errorf("expected lists of one shape, found %v and %v", inner, s)
		}
		inner, data = s, append(data, b...)
	}
	return append([]int64{int64(len(v.List))}, inner...), data, nil
}

// parseNumber reads a number of an element type: 3, -1.5, inf, nan, true, 1+2i.
func parseNumber(s string, d scalar.DType) (scalar.Value, error) {
	bad := fmt.Errorf("expected a value of %v, found %q", d, s)
	switch {
	case d == scalar.Bool:
		if s != "true" && s != "false" {
			return scalar.Value{}, bad
		}
		return scalar.BoolValue(s == "true"), nil
	case d.IsComplex():
		z, err := strconv.ParseComplex(s, d.Bits())
		if err != nil {
			return scalar.Value{}, bad
		}
		return scalar.Value{DType: d, F: real(z), Im: imag(z)}, nil
	case d.IsFloat():
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return scalar.Value{}, bad
		}
		return scalar.FloatValue(d, f), nil
	}
	if i, err := strconv.ParseInt(s, 10, d.Bits()); err == nil && d.IsSigned() {
		return scalar.IntValue(d, i), nil
	}
	if u, err := strconv.ParseUint(s, 10, d.Bits()); err == nil && !d.IsSigned() {
		return scalar.IntValue(d, int64(u)), nil
	}
	return scalar.Value{}, bad
}

// Check works out every case; the line is that of one that is wrong.
func Check(d *declaration.Kernel) (int, error) {
	for _, c := range d.Cases {
		if _, err := Of(d, c); err != nil {
			return c.Line, fmt.Errorf("case %s: %w", c.Text, err)
		}
	}
	return 0, nil
}

package kernels

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Case is an example in a declaration: what is given (operands, attributes, type variables) and the outputs wanted.
type Case struct {
	Text        string
	Given, Want []CaseItem
	Line        int
}

// CaseItem is a name with its values; a variadic operand has several.
type CaseItem struct {
	Name   string
	Values []Literal
}

// Literal is a number or word, or a list.
type Literal struct {
	Word string
	List []Literal
	Many bool // it is a list
}

// maxLiteral bounds the elements of a case.
const maxLiteral = 4096

// parseCase reads "x = [1, -2]; slope = 2 -> result = [1, -4]". Selections of a variadic operand stand between bars.
func parseCase(s string) (Case, error) {
	c := Case{Text: s}
	arrow := strings.LastIndex(s, "->") // an equation among the given things has one too
	if arrow < 0 || strings.TrimSpace(s[arrow+2:]) == "" {
		return c, fmt.Errorf("expected \"GIVEN -> OUTPUTS\", found %q", s)
	}
	var err error
	if c.Given, err = parseItems(s[:arrow]); err == nil {
		c.Want, err = parseItems(s[arrow+2:])
	}
	return c, err
}

func parseItems(s string) ([]CaseItem, error) {
	var items []CaseItem
	for _, part := range strings.Split(s, ";") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, text, ok := strings.Cut(part, "=")
		x := CaseItem{Name: strings.TrimSpace(name)}
		if !ok || !isName(x.Name) {
			return nil, fmt.Errorf("expected NAME = VALUE, found %q", strings.TrimSpace(part))
		}
		for _, one := range strings.Split(text, "|") {
			p := literalParser{text: one}
			v, err := p.value(0)
			if err == nil && strings.TrimSpace(p.text) != "" {
				err = fmt.Errorf("expected the end, found %q", strings.TrimSpace(p.text))
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", x.Name, err)
			}
			x.Values = append(x.Values, v)
		}
		items = append(items, x)
	}
	return items, nil
}

type literalParser struct {
	text  string
	count int
}

func (p *literalParser) value(depth int) (Literal, error) {
	p.text = strings.TrimLeft(p.text, " \t")
	if p.count++; p.count > maxLiteral || depth > 16 {
		return Literal{}, fmt.Errorf("expected at most %d elements in 16 dimensions", maxLiteral)
	}
	if quoted, ok := strings.CutPrefix(p.text, "\""); ok {
		word, rest, closed := strings.Cut(quoted, "\"")
		if !closed {
			return Literal{}, fmt.Errorf("expected a closing quote, found %q", quoted)
		}
		p.text = rest
		return Literal{Word: word}, nil
	}
	rest, list := strings.CutPrefix(p.text, "[")
	if !list {
		n := strings.IndexAny(p.text, ",] \t")
		if n < 0 {
			n = len(p.text)
		}
		word := p.text[:n]
		p.text = p.text[n:]
		if word == "" {
			return Literal{}, fmt.Errorf("expected a value, found %q", p.text)
		}
		return Literal{Word: word}, nil
	}
	p.text = strings.TrimLeft(rest, " \t")
	v := Literal{Many: true}
	for first := true; ; first = false {
		if end, ok := strings.CutPrefix(p.text, "]"); ok && (first || len(v.List) > 0) {
			p.text = end
			return v, nil
		}
		if !first {
			more, ok := strings.CutPrefix(p.text, ",")
			if !ok {
				return v, fmt.Errorf("expected \",\" or \"]\", found %q", p.text)
			}
			p.text = more
		}
		x, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		v.List = append(v.List, x)
		p.text = strings.TrimLeft(p.text, " \t")
	}
}

// Example is a case with its numbers as a call and the bytes of its tensors, dense and row-major: those of the inputs, then
// those of the outputs that are wanted, in the order of the call's ports.
type Example struct {
	Call            Call
	Inputs, Outputs [][]byte
}

// Example works out a case.
func (d *Decl) Example(c Case) (*Example, error) {
	x := &Example{}
	types, err := d.caseTypes(c)
	if err != nil {
		return nil, err
	}
	for _, side := range []struct {
		items []CaseItem
		out   bool
	}{{c.Given, false}, {c.Want, true}} {
		for _, item := range side.items {
			if err := d.exampleItem(x, item, side.out, types); err != nil {
				return nil, fmt.Errorf("%s: %w", item.Name, err)
			}
		}
	}
	_, err = d.Bind(x.Call)
	return x, err
}

func (d *Decl) exampleItem(x *Example, item CaseItem, out bool, types map[string]scalar.DType) error {
	if i, ok := d.named(item.Name); ok && d.Operands[i].Out == out {
		o := &d.Operands[i]
		t, ok := types[o.Type]
		if !ok {
			t, _ = scalar.ParseDType(o.Type)
		}
		if t == scalar.Invalid {
			return fmt.Errorf("expected the case to say what %s is, such as %s = int8, found nothing", o.Type, o.Type)
		}
		p := PortSel{Name: item.Name}
		var all [][]byte
		for _, v := range item.Values {
			shape, data, err := v.tensor(t)
			if err != nil {
				return err
			}
			p.Sel = append(p.Sel, Selected{ir.Select(ir.NoNode, zspace.MustShape(shape...)), t})
			all = append(all, data)
		}
		if out {
			x.Call.Outputs, x.Outputs = append(x.Call.Outputs, p), append(x.Outputs, all...)
		} else {
			x.Call.Inputs, x.Inputs = append(x.Call.Inputs, p), append(x.Inputs, all...)
		}
		return nil
	}
	if _, ok := d.typeVar(item.Name); ok && !out {
		return nil
	}
	a, ok := d.attr(item.Name)
	if !ok || out || len(item.Values) != 1 {
		return fmt.Errorf("expected an operand or an attribute, found %q", item.Name)
	}
	v, err := item.Values[0].attr(a)
	if err == nil {
		x.Call.Params = x.Call.Params.With(a.Name, v)
	}
	return err
}

// caseTypes gives the type variables of a case: what it says, and else a usual type of the class.
func (d *Decl) caseTypes(c Case) (map[string]scalar.DType, error) {
	types := map[string]scalar.DType{}
	for _, item := range c.Given {
		if v, ok := d.typeVar(item.Name); ok && v.Of == "" {
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
			types[v.Name] = typeFunctions[v.Class](types[v.Of])
			continue
		}
		for _, a := range d.Attrs {
			if a.Type == DTypeAttr && a.Of == v.Name {
				types[v.Name] = d.caseDType(c, a)
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
func (d *Decl) caseDType(c Case, a AttrDecl) scalar.DType {
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

// attr gives a literal as a parameter's value.
func (v Literal) attr(a *AttrDecl) (ir.AttrValue, error) {
	if v.Many {
		list := ir.AttrValue{Kind: ir.AttrList}
		for _, x := range v.List {
			e, err := x.attr(a)
			if err != nil {
				return list, err
			}
			list.List = append(list.List, e)
		}
		return list, nil
	}
	b := *a
	b.Default = v.Word
	if _, err := strconv.ParseInt(v.Word, 10, 64); err == nil && (a.Type == AxesAttr || a.Type == PermAttr) {
		b.Type = IntAttr
	}
	return b.fallback(), nil
}

// tensor gives the shape and bytes of nested lists of numbers.
func (v Literal) tensor(d scalar.DType) (shape []int64, data []byte, err error) {
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
		s, b, err := x.tensor(d)
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

// checkCases works out every case.
func (d *Decl) checkCases() (int, error) {
	for _, c := range d.Cases {
		if _, err := d.Example(c); err != nil {
			return c.Line, fmt.Errorf("case %s: %w", c.Text, err)
		}
	}
	return 0, nil
}

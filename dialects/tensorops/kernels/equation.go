package kernels

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// expand gives the declaration that a call's equation stands for, and the call as one of that.
func expand(d *declaration.Kernel, c Call) (*declaration.Kernel, Call, error) {
	e := Call{Outputs: c.Outputs}
	v, _ := c.Params.Get(d.Equation)
	q, err := declaration.ParseEquation(v.Str)
	if v.Kind != ir.AttrString {
		err = errors.New("a text")
	}
	if err != nil {
		return nil, e, refuse("/body/params/"+d.Equation, err.Error(), quote(v.Str), "kernel %s, parameter %s", d.Name, d.Equation)
	}
	in, _ := d.Sides()
	n := 0
	for _, p := range c.Inputs {
		if !slices.Contains(in.Names, p.Name) {
			return nil, e, refuse("/body/inputs", portNames(d, false), quote(p.Name), "kernel %s has no such port", d.Name)
		}
		for _, s := range p.Sel {
			e.Inputs = append(e.Inputs, PortSel{Name: in.Name() + strconv.Itoa(n), Sel: []Selected{s}})
			n++
		}
	}
	if n != len(q.Terms) {
		return nil, e, refuse("/body/inputs", fmt.Sprintf("%d selections, one for each term of %q", len(q.Terms), v.Str), strconv.Itoa(n), "kernel %s", d.Name)
	}
	for _, a := range c.Params {
		if a.Name != d.Equation {
			return nil, e, refuse("/body/params/"+a.Name, quote(d.Equation), quote(a.Name), "kernel %s has no such parameter", d.Name)
		}
	}
	return d.Declare(q), e, nil
}

// bindEquation is Bind for a declaration by an equation.
func bindEquation(d *declaration.Kernel, c Call) (*Instance, error) {
	e, call, err := expand(d, c)
	if err != nil {
		return nil, err
	}
	in, err := Bind(e, call)
	if err != nil {
		return nil, inCall(d, err, c)
	}
	for i := range in.Operands {
		if o := &in.Operands[i]; !o.Decl.Out {
			o.Entry, _ = strconv.Atoi(strings.TrimPrefix(o.Port, d.Operands[0].Name()))
			o.Port = c.Inputs[0].Name
		}
	}
	return in, nil
}

// inCall makes the place of an error one in the call as it was written.
func inCall(d *declaration.Kernel, err error, c Call) error {
	var refused *BindError
	in, _ := d.Sides()
	if head := "/body/inputs/" + in.Name(); errors.As(err, &refused) && strings.HasPrefix(refused.Field, head) && len(c.Inputs) > 0 {
		number, rest, _ := strings.Cut(strings.TrimPrefix(refused.Field, head), "/")
		_, rest, more := strings.Cut(rest, "/")
		moved := *refused
		if moved.Field = "/body/inputs/" + c.Inputs[0].Name + "/" + number; more {
			moved.Field += "/" + rest
		}
		return &moved
	}
	return err
}

// sampleEquation is Sample for a declaration by an equation.
func sampleEquation(d *declaration.Kernel, rnd *rand.Rand, t scalar.DType, m Material) (*Call, error) {
	terms := make([]string, 1+rnd.IntN(3))
	for i := range terms {
		for range rnd.IntN(4) {
			terms[i] += string("abcij"[rnd.IntN(5)])
		}
		if rnd.IntN(3) == 0 {
			terms[i] = "..." + terms[i]
		}
	}
	text := strings.Join(terms, ",")
	if rnd.IntN(2) == 0 {
		text += "->" + strings.Repeat("...", min(1, strings.Count(text, "...")))
		for _, c := range "jbica" {
			if strings.ContainsRune(strings.Split(text, "->")[0], c) && rnd.IntN(3) > 0 {
				text += string(c)
			}
		}
	}
	q, err := declaration.ParseEquation(text)
	if err != nil {
		return nil, err
	}
	in, _ := d.Sides()
	e, err := SampleOf(d.Declare(q), rnd, t, m)
	if e == nil || err != nil {
		return nil, err
	}
	c := &Call{Params: ir.Attrs{}.With(d.Equation, ir.StringAttr(text)), Inputs: []PortSel{{Name: in.Name()}}, Outputs: e.Outputs}
	for _, p := range e.Inputs {
		c.Inputs[0].Sel = append(c.Inputs[0].Sel, p.Sel...)
	}
	_, err = Bind(d, *c)
	return c, err
}

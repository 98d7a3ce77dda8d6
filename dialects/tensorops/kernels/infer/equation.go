package infer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir"
)

// Expand gives the declaration that a call's equation stands for, and the call as one of that.
func Expand(d *declaration.Kernel, c Call) (*declaration.Kernel, Call, error) {
	e := Call{Outputs: c.Outputs}
	v, _ := c.Params.Get(d.Equation)
	q, err := declaration.ParseEquation(v.Str)
	if v.Kind != ir.AttrString {
		err = errors.New("a text")
	}
	if err != nil {
		return nil, e, Refuse("/body/params/"+d.Equation, err.Error(), strconv.Quote(v.Str), "kernel %s, parameter %s", d.Name, d.Equation)
	}
	in, _ := d.Sides()
	n := 0
	for _, p := range c.Inputs {
		if !slices.Contains(in.Names, p.Name) {
			return nil, e, Refuse("/body/inputs", NewArguments(d).portNames(false), strconv.Quote(p.Name), "kernel %s has no such port", d.Name)
		}
		for _, s := range p.Sel {
			e.Inputs = append(e.Inputs, Port{Name: in.Name() + strconv.Itoa(n), Sel: []Selected{s}})
			n++
		}
	}
	if n != len(q.Terms) {
		return nil, e, Refuse("/body/inputs", fmt.Sprintf("%d selections, one for each term of %q", len(q.Terms), v.Str), strconv.Itoa(n), "kernel %s", d.Name)
	}
	for _, a := range c.Params {
		if a.Name != d.Equation {
			return nil, e, Refuse("/body/params/"+a.Name, strconv.Quote(d.Equation), strconv.Quote(a.Name), "kernel %s has no such parameter", d.Name)
		}
	}
	return d.Declare(q), e, nil
}

// InCall makes the place of an error one in the call as it was written.
func InCall(d *declaration.Kernel, err error, c Call) error {
	var refused *Error
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

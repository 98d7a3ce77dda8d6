package sample

import (
	"math/rand/v2"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// equation is CallOf for a declaration by an equation.
func equation(d *declaration.Kernel, rnd *rand.Rand, t scalar.DType, m Material) (*infer.Call, error) {
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
	e, err := CallOf(d.Declare(q), rnd, t, m)
	if e == nil || err != nil {
		return nil, err
	}
	c := &infer.Call{Params: ir.Attrs{}.With(d.Equation, ir.StringAttr(text)), Inputs: []infer.Port{{Name: in.Name()}}, Outputs: e.Outputs}
	for _, p := range e.Inputs {
		c.Inputs[0].Sel = append(c.Inputs[0].Sel, p.Sel...)
	}
	_, err = bind.Instance(d, *c)
	return c, err
}

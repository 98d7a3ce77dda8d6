package kernels

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// equation is what an attribute such as "...ij,jk->...ik" says: the labels of each operand's dimensions, those of the result,
// and where the ellipsis stands, which is any number of dimensions that broadcast.
type equation struct {
	terms  []string // an ellipsis is the byte dots
	result string
}

const dots = '.'

// parseEquation reads an equation as NumPy's einsum has it. Without "->" the result has the ellipsis and then, in order, the
// labels that stand once.
func parseEquation(text string) (*equation, error) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, " ", ""), "...", string(dots))
	left, result, explicit := strings.Cut(text, "->")
	q := &equation{terms: strings.Split(left, ","), result: result}
	count := map[rune]int{}
	for _, t := range append(slices.Clone(q.terms), result) {
		for _, c := range t {
			if c != dots && !isName(string(c)) || c == '_' {
				return nil, fmt.Errorf("letters, commas, one \"->\" and ellipses")
			}
		}
		if strings.Count(t, string(dots)) > 1 {
			return nil, fmt.Errorf("at most one ellipsis in each term")
		}
	}
	for _, c := range left {
		count[c]++
	}
	if !explicit {
		var once []rune
		for c, n := range count {
			if n == 1 && c != ',' && c != dots {
				once = append(once, c)
			}
		}
		slices.Sort(once)
		q.result = string(once)
		if count[dots] > 0 {
			q.result = string(dots) + q.result
		}
	}
	for i, c := range q.result {
		if count[c] == 0 || strings.ContainsRune(q.result[:i], c) {
			return nil, fmt.Errorf("a result with labels of the operands, each once")
		}
	}
	return q, nil
}

// labelName is the dimension that a label is: capital letters get another, for names of types and operands are capital too.
func labelName(c rune) string {
	if c == dots {
		return "batch"
	}
	return "d_" + string(c)
}

func indexOf(term string, use GroupUse) []IndexItem {
	var items []IndexItem
	for _, c := range term {
		if c == dots {
			items = append(items, IndexItem{Group: labelName(c), Use: use})
		} else {
			items = append(items, IndexItem{Dim: labelName(c)})
		}
	}
	return items
}

// declare gives the declaration that an equation stands for: an operand for every term, and the sum of their products along
// the labels that the result does not have.
func (d *Decl) declare(q *equation) *Decl {
	e := &Decl{Name: d.Name, Place: d.Place, Doc: d.Doc, Types: d.Types}
	in, out := d.sides()
	product, over := "", []string{}
	for i, t := range q.terms {
		name := in.Name() + strconv.Itoa(i)
		e.Operands = append(e.Operands, OperandDecl{Names: []string{name}, Type: in.Type, Index: indexOf(t, Broadcast)})
		if product += name; i < len(q.terms)-1 {
			product += " * "
		}
		for _, c := range t {
			if name := labelName(c); !strings.ContainsRune(q.result, c) && !slices.Contains(over, name) {
				over = append(over, name)
			}
		}
	}
	e.Operands = append(e.Operands, OperandDecl{Names: out.Names, Out: true, Type: out.Type, Index: indexOf(q.result, Plain)})
	if len(over) > 0 {
		product = "sum(" + strings.Join(over, ", ") + ") " + product
	}
	e.Lets = []Let{{Name: out.Name(), Text: product, Line: d.Line}}
	return e
}

// sides gives the one input and the one output of a declaration by an equation.
func (d *Decl) sides() (in, out *OperandDecl) {
	for i := range d.Operands {
		if o := &d.Operands[i]; o.Out {
			out = o
		} else {
			in = o
		}
	}
	return in, out
}

// expand gives the declaration that a call's equation stands for, and the call as one of that.
func (d *Decl) expand(c Call) (*Decl, Call, error) {
	e := Call{Outputs: c.Outputs}
	v, _ := c.Params.Get(d.Equation)
	q, err := parseEquation(v.Str)
	if v.Kind != ir.AttrString {
		err = errors.New("a text")
	}
	if err != nil {
		return nil, e, refuse("/body/params/"+d.Equation, err.Error(), quote(v.Str), "kernel %s, parameter %s", d.Name, d.Equation)
	}
	in, _ := d.sides()
	n := 0
	for _, p := range c.Inputs {
		if !slices.Contains(in.Names, p.Name) {
			return nil, e, refuse("/body/inputs", d.portNames(false), quote(p.Name), "kernel %s has no such port", d.Name)
		}
		for _, s := range p.Sel {
			e.Inputs = append(e.Inputs, PortSel{Name: in.Name() + strconv.Itoa(n), Sel: []Selected{s}})
			n++
		}
	}
	if n != len(q.terms) {
		return nil, e, refuse("/body/inputs", fmt.Sprintf("%d selections, one for each term of %q", len(q.terms), v.Str), strconv.Itoa(n), "kernel %s", d.Name)
	}
	for _, a := range c.Params {
		if a.Name != d.Equation {
			return nil, e, refuse("/body/params/"+a.Name, quote(d.Equation), quote(a.Name), "kernel %s has no such parameter", d.Name)
		}
	}
	return d.declare(q), e, nil
}

// bindEquation is Bind for a declaration by an equation.
func (d *Decl) bindEquation(c Call) (*Instance, error) {
	e, call, err := d.expand(c)
	if err != nil {
		return nil, err
	}
	in, err := e.Bind(call)
	if err != nil {
		return nil, d.inCall(err, c)
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
func (d *Decl) inCall(err error, c Call) error {
	var refused *BindError
	in, _ := d.sides()
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
func (d *Decl) sampleEquation(rnd *rand.Rand, t scalar.DType, m Material) (*Call, error) {
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
	q, err := parseEquation(text)
	if err != nil {
		return nil, err
	}
	in, _ := d.sides()
	e, err := d.declare(q).SampleOf(rnd, t, m)
	if e == nil || err != nil {
		return nil, err
	}
	c := &Call{Params: ir.Attrs{}.With(d.Equation, ir.StringAttr(text)), Inputs: []PortSel{{Name: in.Name()}}, Outputs: e.Outputs}
	for _, p := range e.Inputs {
		c.Inputs[0].Sel = append(c.Inputs[0].Sel, p.Sel...)
	}
	_, err = d.Bind(*c)
	return c, err
}

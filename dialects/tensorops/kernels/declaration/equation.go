package declaration

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Equation is what an attribute such as "...ij,jk->...ik" says: the labels of each operand's dimensions, those of the result,
// and where the ellipsis stands, which is any number of dimensions that broadcast.
type Equation struct {
	Terms  []string // an ellipsis is the byte .
	Result string
}

const dots = '.'

// ParseEquation reads an equation as NumPy's einsum has it. Without "->" the result has the ellipsis and then, in order, the
// labels that stand once.
func ParseEquation(text string) (*Equation, error) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, " ", ""), "...", string(dots))
	left, result, explicit := strings.Cut(text, "->")
	q := &Equation{Terms: strings.Split(left, ","), Result: result}
	count := map[rune]int{}
	for _, t := range append(slices.Clone(q.Terms), result) {
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
		q.Result = string(once)
		if count[dots] > 0 {
			q.Result = string(dots) + q.Result
		}
	}
	for i, c := range q.Result {
		if count[c] == 0 || strings.ContainsRune(q.Result[:i], c) {
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

// Declare gives the declaration that an equation stands for: an operand for every term, and the sum of their products along
// the labels that the result does not have.
func (d *Kernel) Declare(q *Equation) *Kernel {
	e := &Kernel{Name: d.Name, Place: d.Place, Doc: d.Doc, Types: d.Types}
	in, out := d.Sides()
	product, over := "", []string{}
	for i, t := range q.Terms {
		name := in.Name() + strconv.Itoa(i)
		e.Operands = append(e.Operands, Operand{Names: []string{name}, Type: in.Type, Index: indexOf(t, Broadcast)})
		if product += name; i < len(q.Terms)-1 {
			product += " * "
		}
		for _, c := range t {
			if name := labelName(c); !strings.ContainsRune(q.Result, c) && !slices.Contains(over, name) {
				over = append(over, name)
			}
		}
	}
	e.Operands = append(e.Operands, Operand{Names: out.Names, Out: true, Type: out.Type, Index: indexOf(q.Result, Plain)})
	if len(over) > 0 {
		product = "sum(" + strings.Join(over, ", ") + ") " + product
	}
	e.Lets = []Let{{Name: out.Name(), Text: product, Line: d.Line}}
	return e
}

// Sides gives the one input and the one output of a declaration by an equation.
func (d *Kernel) Sides() (in, out *Operand) {
	for i := range d.Operands {
		if o := &d.Operands[i]; o.Out {
			out = o
		} else {
			in = o
		}
	}
	return in, out
}

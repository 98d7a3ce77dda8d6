package declaration

import (
	"fmt"
	"slices"
	"strings"
)

// maxText bounds an expression's text after terms have been put in.
const maxText = 1 << 16

// putTerms puts the terms into every expression of the declaration. It gives the line of a term that is wrong.
func (r *reader) putTerms() (line int, err error) {
	d := r.k
	for i, t := range r.terms {
		_, isOperand := d.Named(t.Name)
		twice := slices.ContainsFunc(r.terms[:i], func(o Let) bool { return o.Name == t.Name })
		if isOperand || d.IsDim(t.Name) || isFunction(t.Name) || twice {
			return t.Line, fmt.Errorf("term %s: expected a name of its own", t.Name)
		}
		put := func(text *string) {
			if err == nil {
				*text, err = putTerm(*text, t)
			}
		}
		for j := range r.terms[i+1:] {
			put(&r.terms[i+1+j].Text)
		}
		for j := range d.Operands {
			for k := range d.Operands[j].Index {
				put(&d.Operands[j].Index[k].At)
			}
			put(&d.Operands[j].Else)
		}
		for _, list := range [][]Let{d.Sizes, d.Needs, d.Lets} {
			for j := range list {
				put(&list[j].Text)
			}
		}
		put(&d.Cost)
		if err != nil {
			return t.Line, err
		}
	}
	// A term may use only earlier ones, so now none is left.
	return 0, nil
}

// putTerm puts one term into a text.
func putTerm(text string, t Let) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); {
		n := i
		for n < len(text) && wordByte(text[n]) {
			n++
		}
		switch {
		case n == i:
			b.WriteByte(text[i])
			n++
		case text[i:n] == t.Name:
			b.WriteString("(" + t.Text + ")")
		default:
			b.WriteString(text[i:n])
		}
		if b.Len() > maxText {
			return "", fmt.Errorf("term %s: expected expressions of at most %d bytes", t.Name, maxText)
		}
		i = n
	}
	return b.String(), nil
}

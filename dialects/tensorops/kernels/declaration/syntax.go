package declaration

import (
	"fmt"

	"tensortapestry.org/tapc/ir/scalar"
)

// checkSyntax makes sure that every expression of a declaration can be read, whatever its names stand for in a call. It gives the
// line of one that can not.
func (r *reader) checkSyntax() (line int, err error) {
	d := r.k
	check := func(what, text string, at int) {
		if err != nil || text == "" {
			return
		}
		if err = readable(text); err != nil {
			line, err = at, fmt.Errorf("%s: %w", what, err)
		}
	}
	for _, o := range d.Operands {
		for _, x := range o.Index {
			check("operand "+o.Name(), x.At, o.Line)
		}
		check("operand "+o.Name()+", else", o.Else, o.Line)
	}
	for _, list := range [][]Let{d.Sizes, r.terms, d.Lets} {
		for _, l := range list {
			check(l.Name, l.Text, l.Line)
		}
	}
	for _, l := range d.Needs {
		check("need", l.Text, l.Line)
	}
	check("cost", d.Cost, d.Line)
	return line, err
}

func readable(text string) error {
	if len(text) > maxText {
		return fmt.Errorf("expected an expression of at most %d bytes, found %d", maxText, len(text))
	}
	return scalar.Syntax(text)
}

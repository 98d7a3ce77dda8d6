// Package page gathers what there is to say about a kernel: what its declaration says, and what follows from it for its cases.
package page

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/example"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Page is everything that there is to say about a kernel: what its declaration says, and what is derived from it for the
// cases that it gives.
type Page struct {
	Name       string      `json:"name"`
	Family     string      `json:"family"`
	Source     string      `json:"source"`
	Doc        string      `json:"doc"`
	Inputs     []Operand   `json:"inputs"`
	Outputs    []Operand   `json:"outputs"`
	Types      []Type      `json:"types"`
	Parameters []Parameter `json:"parameters"`
	Body       []string    `json:"body"` // clauses as they are written, such as "let result = a + b"
	Cost       string      `json:"cost"` // an expression, "" for the operations of the body
	Opaque     string      `json:"opaque"`
	Cases      []Case      `json:"cases"`
}

// Operand is an operand: its names, the first being tapc's own, its element type or type variable, and its index string.
type Operand struct {
	Names    []string `json:"names"`
	Type     string   `json:"type"`
	Index    string   `json:"index"` // with what is read outside, if that is not 0
	Optional bool     `json:"optional"`
	Variadic bool     `json:"variadic"`
}

// Type is a type variable: its class or the function that gives it, and the element types that it may stand for.
type Type struct {
	Name   string   `json:"name"`
	Class  string   `json:"class"`
	DTypes []string `json:"dtypes"`
}

// Parameter is an attribute: its type as declarations write it, the words that it may be, and its default.
type Parameter struct {
	Name       string   `json:"name"`
	Type       string   `json:"type"`
	Words      []string `json:"words,omitempty"`
	Default    string   `json:"default"`
	HasDefault bool     `json:"has_default"`
}

// Case is an example: its text, and the index space, signature (the maps of the inputs, then those of the outputs) and
// operations of the call that it is.
type Case struct {
	Text    string   `json:"text"`
	Index   string   `json:"index"`
	Inputs  []string `json:"inputs"`
	Outputs []string `json:"outputs"`
	Flops   int64    `json:"operations"`
}

// Of makes the kernel's page.
func Of(d *declaration.Kernel) (*Page, error) {
	p := &Page{Name: d.Name, Family: d.Family(), Source: d.Source(), Doc: d.Doc, Cost: d.Cost, Opaque: d.Opaque,
		Inputs: []Operand{}, Outputs: []Operand{}, Types: []Type{}, Parameters: []Parameter{}, Cases: []Case{}}
	n := 0
	for _, c := range d.Clauses {
		switch c.Word {
		case "in", "out":
			o := &d.Operands[n]
			_, text, _ := strings.Cut(c.Text, "[")
			x := Operand{Names: o.Names, Type: o.Type, Index: "[" + text, Optional: o.Optional, Variadic: o.Variadic}
			if n++; o.Out {
				p.Outputs = append(p.Outputs, x)
			} else {
				p.Inputs = append(p.Inputs, x)
			}
		case "size", "need", "term", "let", "equation":
			p.Body = append(p.Body, c.Word+" "+c.Text)
		}
	}
	for _, v := range d.Types {
		p.Types = append(p.Types, pageType(v))
	}
	for i := range d.Attrs {
		a := &d.Attrs[i]
		p.Parameters = append(p.Parameters, Parameter{Name: a.Name, Type: a.TypeText(), Words: a.Words, Default: a.Default, HasDefault: a.HasDefault})
	}
	for _, c := range d.Cases {
		x, err := pageCase(d, c)
		if err != nil {
			return nil, err
		}
		p.Cases = append(p.Cases, x)
	}
	return p, nil
}

func pageType(v declaration.TypeVar) Type {
	p := Type{Name: v.Name, Class: v.Class, DTypes: []string{}}
	if v.Wide != "" {
		p.Class += ", as wide as " + v.Wide
	}
	if v.Of != "" {
		p.Class += "(" + v.Of + ")"
		return p
	}
	for _, t := range scalar.DTypes() {
		if v.Allows(t) {
			p.DTypes = append(p.DTypes, t.String())
		}
	}
	return p
}

func pageCase(d *declaration.Kernel, c declaration.Case) (Case, error) {
	p := Case{Text: c.Text}
	x, err := example.Of(d, c)
	if err != nil {
		return p, err
	}
	in, err := bind.Instance(d, x.Call)
	if err != nil {
		return p, err
	}
	inputs, outputs, err := in.Signature()
	p.Index, p.Inputs, p.Outputs, p.Flops = in.Index().String(), mapTexts(inputs), mapTexts(outputs), in.Flops()
	return p, err
}

// mapTexts writes the maps of a side of a signature, with the port's name and, where it has several, the selection's number.
func mapTexts(ports ir.PortMaps) []string {
	out := []string{}
	for _, p := range ports {
		for i, m := range p.Maps {
			name := p.Name
			if len(p.Maps) > 1 {
				name = fmt.Sprintf("%s[%d]", name, i)
			}
			out = append(out, name+": "+m.String())
		}
	}
	return out
}

// Package definition holds graphs with ports that operations use: what a definition is in the forms of the IR, and the constraint that it keeps by
// itself. It must not import the dialect, whose operations use definitions. Read next: dialects/tensorops/composite.
package definition

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Kind is the kind of definitions.
var Kind = &ir.Kind{URI: "http://tensortapestry.org/schemas/tapc/2026-11/operation.jsd#/nodes/Definition", Keyword: "definition", Num: 17,
	New: func() ir.Body { return new(Definition) }}

// Definition is a graph with ports that operations use: an operation with the kernel "def:" and its name, a composite, computes what the steps
// of the definition do. Its values are local: those of the inputs go by the names of the ports, others by the names that steps give them.
// Element types and shapes are fixed. Package composite gives the inside as a graph.
type Definition struct {
	Name    string
	Inputs  []Formal
	Outputs []Given
	Steps   []Step
}

// Formal is an input of a definition, and the value of its name.
type Formal struct {
	Port, DType string
	Range       zspace.Range
}

// Given is an output of a definition, and the value that it gives.
type Given struct{ Port, Value string }

// Step is an operation inside of a definition: a kernel applied to values of inputs and of earlier steps.
type Step struct {
	Kernel string
	Params ir.Attrs
	Inputs []Use
	Makes  []Made
	Label  string
}

// Use is a selection of an input port of a step; those of one port are in order. A range without dimensions is all of the value.
type Use struct {
	Port, Value string
	Range       zspace.Range
}

// Made is a selection of an output port of a step: a value, all of which the step writes.
type Made struct {
	Port, Value, DType string
	Range              zspace.Range
}

// Kind is the package's Kind.
func (*Definition) Kind() *ir.Kind { return Kind }

// Fields names the ports and the steps.
func (d *Definition) Fields(f ir.Fields) {
	f.String(ir.Field{Num: 1, Name: "name", Style: ir.Positional}, &d.Name)
	f.List(ir.Field{Num: 2, Name: "inputs", Style: ir.Positional, Optional: true}, len(d.Inputs), func(n int) { d.Inputs = make([]Formal, n) },
		func(i int, item ir.Fields) { d.Inputs[i].fields(item) })
	f.List(ir.Field{Num: 3, Name: "outputs", Style: ir.Arrow}, len(d.Outputs), func(n int) { d.Outputs = make([]Given, n) },
		func(i int, item ir.Fields) { d.Outputs[i].fields(item) })
	f.List(ir.Field{Num: 4, Name: "steps"}, len(d.Steps), func(n int) { d.Steps = make([]Step, n) },
		func(i int, item ir.Fields) { d.Steps[i].fields(item) })
}

func (x *Formal) fields(f ir.Fields) {
	f.String(ir.Field{Num: 1, Name: "port", Style: ir.Positional}, &x.Port)
	f.String(ir.Field{Num: 2, Name: "dtype", Style: ir.Positional}, &x.DType)
	f.Range(ir.Field{Num: 3, Name: "range", Style: ir.Positional}, &x.Range)
}

func (x *Given) fields(f ir.Fields) {
	f.String(ir.Field{Num: 1, Name: "port", Style: ir.Positional}, &x.Port)
	f.String(ir.Field{Num: 2, Name: "value", Style: ir.Positional}, &x.Value)
}

func (s *Step) fields(f ir.Fields) {
	f.String(ir.Field{Num: 1, Name: "kernel", Style: ir.Positional}, &s.Kernel)
	f.Attrs(ir.Field{Num: 2, Name: "params", Style: ir.Positional, Optional: true}, &s.Params)
	f.List(ir.Field{Num: 3, Name: "inputs", Style: ir.Positional, Optional: true}, len(s.Inputs), func(n int) { s.Inputs = make([]Use, n) },
		func(i int, item ir.Fields) { s.Inputs[i].fields(item) })
	f.List(ir.Field{Num: 4, Name: "makes", Style: ir.Arrow}, len(s.Makes), func(n int) { s.Makes = make([]Made, n) },
		func(i int, item ir.Fields) { s.Makes[i].fields(item) })
	f.String(ir.Field{Num: 5, Name: "label", Optional: true}, &s.Label)
}

func (x *Use) fields(f ir.Fields) {
	f.String(ir.Field{Num: 1, Name: "port", Style: ir.Positional}, &x.Port)
	f.String(ir.Field{Num: 2, Name: "value", Style: ir.Positional}, &x.Value)
	f.Range(ir.Field{Num: 3, Name: "range", Style: ir.Positional, Optional: true}, &x.Range)
}

func (x *Made) fields(f ir.Fields) {
	f.String(ir.Field{Num: 1, Name: "port", Style: ir.Positional}, &x.Port)
	f.String(ir.Field{Num: 2, Name: "value", Style: ir.Positional}, &x.Value)
	f.String(ir.Field{Num: 3, Name: "dtype", Style: ir.Positional}, &x.DType)
	f.Range(ir.Field{Num: 4, Name: "range", Style: ir.Positional}, &x.Range)
}

// Space is the namespace of kernels that are definitions.
const Space = "def:"

// Used gives the name of the definition that an operation of a kernel uses; ok is false if it is no composite.
func Used(kernel string) (name string, ok bool) { return strings.CutPrefix(kernel, Space) }

// Kernel is the kernel of the operations that use the definition.
func (d *Definition) Kernel() string { return Space + d.Name }

// Of gives the definitions of a graph by name, nil if there are none; of two with one name the first.
func Of(g *ir.Graph) map[string]*Definition {
	var all map[string]*Definition
	for n := range g.Nodes() {
		d, ok := n.Body.(*Definition)
		if !ok || all[d.Name] != nil {
			continue
		}
		if all == nil {
			all = map[string]*Definition{}
		}
		all[d.Name] = d
	}
	return all
}

// value is what is known of a value of a definition.
type value struct {
	dtype string
	box   zspace.Range
}

// values gives the values of a definition by name, those that are there twice as they are there first.
func (d *Definition) values() map[string]value {
	all := map[string]value{}
	add := func(name string, v value) {
		if _, there := all[name]; !there {
			all[name] = v
		}
	}
	for _, x := range d.Inputs {
		add(x.Port, value{x.DType, x.Range})
	}
	for _, s := range d.Steps {
		for _, m := range s.Makes {
			add(m.Value, value{m.DType, m.Range})
		}
	}
	return all
}

// Ports gives the ports of a definition with their element types and ranges, in its order. The definition keeps the constraint.
func (d *Definition) Ports() (inputs, outputs []Formal) {
	all := d.values()
	for _, x := range d.Outputs {
		v := all[x.Value]
		outputs = append(outputs, Formal{x.Port, v.dtype, v.box})
	}
	return d.Inputs, outputs
}

// String writes the ports as messages have them: "(x: float32[4, 5]) -> (y: float32[4])".
func (d *Definition) String() string {
	inputs, outputs := d.Ports()
	return portList(inputs) + " -> " + portList(outputs)
}

func portList(list []Formal) string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = fmt.Sprintf("%s: %s%v", x.Port, x.DType, x.Range.Shape())
	}
	return "(" + strings.Join(out, ", ") + ")"
}

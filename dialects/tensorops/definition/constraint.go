package definition

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/diag"
)

// ID is the id of the constraint on definitions.
const ID = "DefinitionConstraint"

// Constraint gives the constraint on definitions; foreign says of a kernel with parameters that a step can not have it.
func Constraint(foreign func(kernel string, params ir.Attrs) bool) check.Constraint {
	return check.Constraint{
		ID: ID,
		Doc: "A definition has a name that no other has, ports whose names are identifiers, none twice on a side, and steps that read inputs and values of earlier " +
			"steps alone, within their ranges: it is closed, and has no cycle. Every value is made once, and every output is a value of a step of its own. Steps bring nothing " +
			"in and take nothing out, hold no choice, and use no definition that uses theirs. A definition that no operation uses is allowed.",
		Requires: []string{"TensorDTypesAreValidConstraint"},
		Codes: []check.Code{
			{ID: "TAP0144", Meaning: "a definition has no name, one with a comma, or that of another"},
			{ID: "TAP0195", Meaning: "a step uses a definition that is not there, or has other ports, element types or shapes than it"},
			{ID: "TAP0146", Meaning: "a definition uses itself, directly or through others"},
			{ID: "TAP0148", Meaning: "a step reads a value that is neither an input nor one of an earlier step, or reads beyond it"},
			{ID: "TAP0149", Meaning: "a port or a value of a definition is there twice, an output is no value of a step, or a name or an element type means nothing"},
			{ID: "TAP0194", Meaning: "a step of a definition has an effect outside of it, or is a choice"},
		},
		Check: func(c *check.Context) { checkDefinitions(c, foreign) },
	}
}

func checkDefinitions(c *check.Context, foreign func(kernel string, params ir.Attrs) bool) {
	all := Of(c.Graph())
	if all == nil {
		return
	}
	first := map[string]*ir.Node{}
	for n, d := range check.Each[*Definition](c) {
		switch before := first[d.Name]; {
		case d.Name == "" || strings.Contains(d.Name, ","):
			c.Report(c.Error("TAP0144", n, "/body/name", "%s has no name that can be listed", c.Graph().Name(n.ID)).Want("a name without commas", fmt.Sprintf("%q", d.Name)))
		case before != nil:
			c.Report(c.Error("TAP0144", n, "/body/name", "there are two definitions %q", d.Name).Want("a name that no other definition has", d.Name).
				WithNote(c.At(before, ""), "the first"))
		default:
			first[d.Name] = n
		}
		(&inside{c: c, n: n, d: d, all: all, foreign: foreign, values: map[string]value{}}).check()
	}
	checkRecursion(c, first, all)
}

// Names lists the names of definitions for messages, the first few of them.
func Names(all map[string]*Definition) string {
	list := make([]string, 0, len(all))
	for name := range all {
		list = append(list, fmt.Sprintf("%q", name))
	}
	if slices.Sort(list); len(list) == 0 {
		return "the definitions, of which there are none"
	} else if len(list) > 8 {
		list = append(list[:8], "…")
	}
	return strings.Join(list, ", ")
}

// inside checks one definition.
type inside struct {
	c       *check.Context
	n       *ir.Node
	d       *Definition
	all     map[string]*Definition
	values  map[string]value
	foreign func(kernel string, params ir.Attrs) bool
}

func (x *inside) fault(code, field, format string, args ...any) diag.Diagnostic {
	return x.c.Error(code, x.n, "/body/"+field, "definition %q: %s", x.d.Name, fmt.Sprintf(format, args...))
}

func (x *inside) check() {
	ports := map[string]bool{}
	for i, f := range x.d.Inputs {
		at := fmt.Sprintf("inputs/%d", i)
		x.port(at, f.Port, ports)
		x.make(at, f.Port, value{f.DType, f.Range})
	}
	made := map[string]bool{}
	for i := range x.d.Steps {
		x.step(i, &x.d.Steps[i], made)
	}
	clear(ports)
	given := map[string]bool{}
	for i, o := range x.d.Outputs {
		at := fmt.Sprintf("outputs/%d", i)
		x.port(at, o.Port, ports)
		if !made[o.Value] || given[o.Value] {
			x.c.Report(x.fault("TAP0149", at+"/value", "output %q is no value of its own", o.Port).
				Want("a value that a step makes, and no other output gives", fmt.Sprintf("%q", o.Value)).WithHint("op:copy makes another of a value or an input"))
		}
		given[o.Value] = true
	}
	if len(x.d.Outputs) == 0 {
		x.c.Report(x.fault("TAP0149", "outputs", "it gives nothing").Want("an output", "none"))
	}
}

// port checks the name of a port.
func (x *inside) port(at, name string, there map[string]bool) {
	if !check.IsIdentifier(name) || there[name] {
		x.c.Report(x.fault("TAP0149", at+"/port", "a port has no name of its own").Want("an identifier that no other port of its side has", fmt.Sprintf("%q", name)))
	}
	there[name] = true
}

// make notes a value, whose name must be its own and whose element type must mean something.
func (x *inside) make(at, name string, v value) {
	if _, there := x.values[name]; there || name == "" {
		x.c.Report(x.fault("TAP0149", at+"/value", "value %q is there twice, or has no name", name).Want("a name that no other value has", fmt.Sprintf("%q", name)))
		return
	}
	if !slices.Contains(x.c.Environment().DTypes, v.dtype) {
		x.c.Report(x.fault("TAP0149", at+"/dtype", "value %q has no element type", name).Want("one of "+strings.Join(x.c.Environment().DTypes, ", "), fmt.Sprintf("%q", v.dtype)))
	}
	x.values[name] = v
}

func (x *inside) step(i int, s *Step, made map[string]bool) {
	at := fmt.Sprintf("steps/%d", i)
	if x.foreign(s.Kernel, s.Params) {
		x.c.Report(x.fault("TAP0194", at+"/kernel", "step %d is %s", i, s.Kernel).Want("a kernel that computes, or a constant", s.Kernel))
	}
	for j, u := range s.Inputs {
		field := fmt.Sprintf("%s/inputs/%d", at, j)
		x.identifier(field, u.Port)
		switch v, there := x.values[u.Value]; {
		case !there:
			x.c.Report(x.fault("TAP0148", field+"/value", "step %d reads %q, which is not there yet", i, u.Value).
				Want("an input or a value of an earlier step: "+x.list(), fmt.Sprintf("%q", u.Value)))
		case u.Range.Rank() > 0 && !v.box.Contains(u.Range):
			x.c.Report(x.fault("TAP0148", field+"/range", "step %d reads beyond %q", i, u.Value).Want(fmt.Sprintf("a box inside %v", v.box), u.Range.String()))
		}
	}
	for j, m := range s.Makes {
		field := fmt.Sprintf("%s/makes/%d", at, j)
		x.identifier(field, m.Port)
		x.make(field, m.Value, value{m.DType, m.Range})
		made[m.Value] = true
	}
	x.used(at, i, s)
	if len(s.Makes) == 0 {
		x.c.Report(x.fault("TAP0149", at+"/makes", "step %d makes nothing", i).Want("a value", "none"))
	}
}

// used checks a step that uses a definition: it has that one's ports.
func (x *inside) used(at string, i int, s *Step) {
	name, ok := Used(s.Kernel)
	if !ok {
		return
	}
	d := x.all[name]
	if d == nil {
		x.c.Report(x.fault("TAP0195", at+"/kernel", "step %d uses a definition that is not there", i).Want("one of "+Names(x.all), fmt.Sprintf("%q", name)))
		return
	}
	inputs, outputs := d.Ports()
	var reads, makes []Formal
	for _, u := range s.Inputs {
		v := x.values[u.Value]
		if u.Range.Rank() > 0 {
			v.box = u.Range
		}
		reads = append(reads, Formal{u.Port, v.dtype, v.box})
	}
	for _, m := range s.Makes {
		makes = append(makes, Formal{m.Port, m.DType, m.Range})
	}
	if !samePorts(inputs, reads) || !samePorts(outputs, makes) || len(s.Params) > 0 {
		x.c.Report(x.fault("TAP0195", at, "step %d does not fit definition %q", i, name).Want(d.String()+" without parameters", portList(reads)+" -> "+portList(makes)))
	}
}

// samePorts says whether two lists have the same ports in any order, each once, of the same element types and shapes.
func samePorts(want, found []Formal) bool {
	return len(want) == len(found) && !slices.ContainsFunc(want, func(f Formal) bool {
		i := slices.IndexFunc(found, func(x Formal) bool { return x.Port == f.Port })
		return i < 0 || found[i].DType != f.DType || !slices.Equal(found[i].Range.Shape(), f.Range.Shape())
	})
}

func (x *inside) identifier(field, name string) {
	if !check.IsIdentifier(name) {
		x.c.Report(x.fault("TAP0149", field+"/port", "a port has no name").Want("an identifier", fmt.Sprintf("%q", name)))
	}
}

// list gives the names of the values so far, the first few of them.
func (x *inside) list() string {
	var out []string
	for name := range x.values {
		out = append(out, name)
	}
	if slices.Sort(out); len(out) > 8 {
		out = append(out[:8], "…")
	}
	return strings.Join(out, ", ")
}

// checkRecursion reports each circle of definitions that use each other, once, at its first definition in the graph.
func checkRecursion(c *check.Context, nodes map[string]*ir.Node, all map[string]*Definition) {
	const running, done = 1, 2
	state := map[string]int{}
	var path []string
	var visit func(name string)
	visit = func(name string) {
		state[name], path = running, append(path, name)
		for _, used := range all[name].Uses() {
			switch {
			case all[used] == nil || state[used] == done:
			case state[used] == running:
				circle := append(slices.Clone(path[slices.Index(path, used):]), used)
				c.Report(c.Error("TAP0146", nodes[used], "", "definition %q uses itself", used).
					Want("steps of kernels, and of definitions that do not use it", strings.Join(circle, " uses ")))
			default:
				visit(used)
			}
		}
		state[name], path = done, path[:len(path)-1]
	}
	for _, d := range check.Each[*Definition](c) {
		if nodes[d.Name] != nil && state[d.Name] == 0 {
			visit(d.Name)
		}
	}
}

// Uses gives the names of the definitions that steps use, in order, each once.
func (d *Definition) Uses() (list []string) {
	for _, s := range d.Steps {
		if name, ok := Used(s.Kernel); ok && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

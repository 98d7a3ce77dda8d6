package tensorops

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/parts"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/zspace"
)

// IsComposite says whether an operation uses a definition.
func (o *Operation) IsComposite() bool {
	_, ok := definition.Used(o.Kernel)
	return ok
}

// foreign says whether a step of a definition can not have a kernel: one that brings in what the graph takes, takes something out, or holds alternatives open.
func foreign(kernel string, params ir.Attrs) bool {
	op := Operation{Kernel: kernel, Params: params}
	_, named := params.Get(choiceNames)
	return op.IsImport() || op.IsSink() || base(kernel) == choiceKernel && named
}

var composites = check.Constraint{
	ID: compositeID,
	Doc: "An operation whose kernel is def: and a name uses the definition of that name: it has that definition's ports, each with one selection of the element type and the " +
		"shape that the definition says, no parameters, and no effect outside the graph.",
	Requires: []string{definition.ID, "TensorOperationAgreementConstraint"},
	Codes: []check.Code{
		{ID: "TAP0145", Meaning: "an operation uses a definition that is not there"},
		{ID: "TAP0147", Meaning: "a composite has other ports, element types or shapes than its definition, parameters or an effect"},
	},
	Check: checkComposites,
}

func checkComposites(c *check.Context) {
	all := definition.Of(c.Graph())
	for n, op := range check.Each[*Operation](c) {
		name, ok := definition.Used(op.Kernel)
		if !ok {
			continue
		}
		if all[name] == nil {
			c.Report(c.Error("TAP0145", n, "/body/kernel", "%s uses a definition that is not there", c.Graph().Name(n.ID)).
				Want("one of "+definition.Names(all), fmt.Sprintf("%q", name)))
			continue
		}
		if len(op.Params) > 0 || n.Tag(IOSequencePointKind) != nil {
			c.Report(c.Error("TAP0147", n, "/body/params", "%s has parameters or an effect", c.Graph().Name(n.ID)).Want("ports alone", "more"))
		}
		inputs, outputs := all[name].Ports()
		for side, want := range [][]definition.Formal{inputs, outputs} {
			checkPorts(c, n, side, op.side(side), want, all[name])
		}
	}
}

func checkPorts(c *check.Context, n *ir.Node, side int, ports ir.Ports, want []definition.Formal, d *definition.Definition) {
	g := c.Graph()
	for _, f := range want {
		p := ports.Get(f.Port)
		if p == nil || len(p.Sel) != 1 {
			c.Report(c.Error("TAP0147", n, "/body/"+sides[side], "%s lacks a port of definition %q, or has it more than once", g.Name(n.ID), d.Name).
				Want(fmt.Sprintf("one selection for each port of %v", d), f.Port))
			continue
		}
		s := p.Sel[0]
		if t := TensorOf(g, s.Tensor); t != nil && (t.DType != f.DType || !sameShape(s.Range(), f.Range)) {
			c.Report(c.Error("TAP0147", n, check.PortField(sides[side], f.Port, 0), "%s does not fit definition %q", g.Name(n.ID), d.Name).
				Want(fmt.Sprintf("%s%v", f.DType, f.Range.Shape()), fmt.Sprintf("%s, of %s", typeText(g, s), g.Name(s.Tensor))))
		}
	}
	for _, p := range ports.Each() {
		if !slices.ContainsFunc(want, func(f definition.Formal) bool { return f.Port == p.Name }) {
			c.Report(c.Error("TAP0147", n, "/body/"+sides[side], "%s has a port that definition %q has not", g.Name(n.ID), d.Name).Want(d.String(), p.Name))
		}
	}
}

func sameShape(a, b zspace.Range) bool { return slices.Equal(a.Shape(), b.Shape()) }

// OwnConstraints are the ids of the constraints on what the Tapestry documents do not have: their graphs are not held to them.
var OwnConstraints = []string{InterfaceConstraint, definition.ID, compositeID, sequence.ID, parts.ID}

// compositeID is the id of the constraint of this file.
const compositeID = "CompositeConstraint"

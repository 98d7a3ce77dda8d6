package tensorops

import (
	"context"
	"testing"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	. "tensortapestry.org/tapc/ir/check/checktest"
)

// builder makes graphs for tests.
type builder struct{ *ir.Graph }

func (b builder) tensor(label, dtype, box string) *ir.Node {
	return b.Add(&Tensor{DType: dtype, Range: Range(box)}, label)
}

func (b builder) op(label string, in, out ir.Ports, tags ...ir.Body) *ir.Node {
	n := b.Add(&Operation{Kernel: "test:op", Inputs: in, Outputs: out}, label)
	for _, t := range tags {
		n.SetTag(t)
	}
	return n
}

func index(box string) *Index { return &Index{Range(box)} }

func maps(name string, texts ...string) ir.NamedMaps {
	m := ir.NamedMaps{Name: name}
	for _, t := range texts {
		m.Maps = append(m.Maps, Map(t))
	}
	return m
}

// graph runs a function on an empty graph and gives the graph.
func graph(f func(b builder)) *ir.Graph {
	g := ir.New()
	f(builder{g})
	return g
}

// copies is an operation that copies x [0:4, 0:3] to y; edit may change anything before it is verified.
func copies(edit func(b builder, x, y, op *ir.Node)) *ir.Graph {
	return graph(func(b builder) {
		x, y := b.tensor("x", "float32", "[0:4, 0:3]"), b.tensor("y", "float32", "[0:4, 0:3]")
		op := b.op("copy", ir.PortsOf([]ir.Port{Port("x", Sel(x, "[0:4, 0:3]"))}), ir.PortsOf([]ir.Port{Port("y", Sel(y, "[0:4, 0:3]"))}),
			index("[0:4, 0:3]"), identitySignature())
		edit(b, x, y, op)
	})
}

func identitySignature() *Signature {
	one := "(d0, d1) -> [d0, d1] + [1, 1]"
	return &Signature{Inputs: ir.PortMaps{maps("x", one)}, Outputs: ir.PortMaps{maps("y", one)}}
}

func opOf(n *ir.Node) *Operation { return n.Body.(*Operation) }

func TestConstraints(t *testing.T) {
	var cases []Case
	for _, k := range [][]Case{schemaCases(), dtypeCases(), agreementCases(), cycleCases(), signatureCases(), readsCases(), reducedCases(), costsCases(), interfaceCases(), precomputedCases(), choiceCases(), compositeCases(), sequenceCases(), wholeCases()} {
		cases = append(cases, k...)
	}
	env := Environment()
	for i := range env.Constraints {
		if k := &env.Constraints[i]; k.ID == "OperationIPFSignatureAgreementConstraint" {
			k.Check = signatureCheck(100)
		}
	}
	Run(t, env, append(Constraints(), check.TypeRestriction), cases)
}

func TestDTypesAreAParameter(t *testing.T) {
	g := graph(func(b builder) { b.tensor("x", "int32", "[]"); b.tensor("m", "boolean", "[]") })
	Expect(t, Environment("int32", "float32").Verify(context.Background(), g), []string{"TAP0121"},
		[]string{`one of int32, float32`, `found:    "boolean"`})
}

func dtypeCases() []Case {
	one := func(dtype string) *ir.Graph { return graph(func(b builder) { b.tensor("t", dtype, "[0:2]") }) }
	return []Case{
		Of("dtypes accepted", graph(func(b builder) {
			for _, d := range DefaultDTypes() {
				b.tensor(d, d, "[]")
			}
		}), nil, nil),
		Of("dtype unknown", one("quaternion"), []string{"TAP0121"}, []string{`tensor "t"`, `found:    "quaternion"`, "boolean"}),
		Of("dtype near miss: letter case", one("Float32"), []string{"TAP0121"}, nil),
		Of("dtype near miss: 3 bits", one("int3"), []string{"TAP0121"}, nil),
	}
}

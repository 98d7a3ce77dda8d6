package tensorops

import (
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/parts"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/scalar"
)

// Environment gives the dialect's types and constraints. Tensors may have the given element types; without any, those of
// DefaultDTypes.
func Environment(dtypes ...string) *check.Environment {
	if len(dtypes) == 0 {
		dtypes = DefaultDTypes()
	}
	return &check.Environment{
		Name:        "Operation Expression",
		NodeKinds:   []*ir.Kind{TensorKind, OperationKind, NoteKind, definition.Kind, sequence.Kind, parts.WholeKind},
		TagKinds:    []*ir.Kind{SignatureKind, ReadsKind, ReducedKind, CostsKind, IndexKind, IOSequencePointKind, PrecomputedKind, DerivedKind, parts.PartKind},
		Constraints: Constraints(),
		DTypes:      dtypes,
	}
}

// Constraints gives the dialect's constraints in the order in which they are checked.
func Constraints() []check.Constraint {
	return []check.Constraint{
		check.SchemaType,
		tensorDTypesAreValid,
		tensorOperationAgreement,
		noTensorOperationCycles,
		operationSignatureAgreement,
		reducedDimensions,
		marginalCosts,
		programInterface,
		precomputedFromConstants,
		choices,
		definition.Constraint(foreign),
		composites,
		sequence.Constraint(sequenced()),
		parts.Constraint(OperationKind, TensorKind),
	}
}

// DefaultDTypes gives the element types that tensors may have unless an environment says otherwise: all of them. An element of
// 4 bits takes a byte.
func DefaultDTypes() []string {
	var names []string
	for _, d := range scalar.DTypes() {
		names = append(names, d.String())
	}
	return names
}

// sides are the two sides of a ported node, in the order in which they are checked.
var sides = [...]string{"inputs", "outputs"}

// outputSide is the number of the outputs among the sides.
const outputSide = 1

// side gives one side of an operation.
func (o *Operation) side(i int) ir.Ports {
	if i == 0 {
		return o.Inputs
	}
	return o.Outputs
}

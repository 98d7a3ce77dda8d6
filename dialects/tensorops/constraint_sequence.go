package tensorops

import (
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

// sequenced is what sequence points have to know of operations.
func sequenced() sequence.Operations {
	return sequence.Operations{
		Kind: OperationKind,
		Of: func(n *ir.Node) (sequence.Phase, string) {
			switch op := n.Body.(*Operation); {
			case op.IsImport():
				return sequence.Begin, ""
			case op.IsSource():
				return sequence.Timeless, ""
			case op.IsExport():
				return sequence.End, ""
			case op.IsChoice():
				return sequence.Computed, "a choice"
			case op.IsComposite():
				return sequence.Computed, "a composite"
			}
			return sequence.Computed, ""
		},
		Next: func(c *check.Context) func(ir.NodeID) []ir.NodeID { return newDependence(c).next },
	}
}

package reduced

import (
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
)

// Sign gives an operation the signature and the index that its kernel derives, and what is read exactly. The error is an overflow.
func Sign(n *ir.Node, in *instance.Instance) error {
	inputs, outputs, err := in.Signature()
	if err != nil {
		return err
	}
	n.SetTag(&tensorops.Signature{Inputs: inputs, Outputs: outputs})
	n.DropTag(tensorops.ReadsKind)
	n.DropTag(tensorops.ReducedKind)
	if r := in.Pieces(inputs); len(r.Selections) > 0 {
		n.SetTag(&r)
	}
	n.SetTag(&tensorops.Index{Range: in.Index()})
	return nil
}

// Tag gives an operation that its kernel has signed the tag of its reduced dimensions, if it has any.
func Tag(n *ir.Node, in *instance.Instance) error {
	tag, err := Of(in)
	if tag != nil && err == nil {
		n.SetTag(tag)
	}
	return err
}

package composite

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// Signature gives the signature that follows from the definition which an operation uses, and the tags that the operation has with it. The graph keeps the constraints of its dialect.
func Signature(g *ir.Graph, lib *kernels.Library, n *ir.Node) (*Derived, *tensorops.Signature, error) {
	op, all := n.Body.(*tensorops.Operation), definition.Of(g)
	name, _ := definition.Used(op.Kernel)
	d := all[name]
	if d == nil {
		return nil, nil, fmt.Errorf("%s uses a definition that is not there", g.Name(n.ID))
	}
	out, err := Derive(lib, d, all)
	if err != nil {
		found := diag.FromError(err)
		for i := range found {
			found[i].Location, found[i].Message = g.At(n, ""), fmt.Sprintf("definition %q: %s", name, found[i].Message)
		}
		return nil, nil, found
	}
	inputs, outputs := out.maps(op, d)
	return out, &tensorops.Signature{Inputs: inputs, Outputs: outputs}, nil
}

// Sign gives an operation that uses a definition the signature and the index that follow from it.
func Sign(g *ir.Graph, lib *kernels.Library, n *ir.Node) error {
	d, sig, err := Signature(g, lib, n)
	if err != nil {
		return err
	}
	n.SetTag(sig)
	n.SetTag(&tensorops.Index{Range: d.Index})
	return nil
}

// CheckSignature compares the signature and index that an operation carries with those that follow from its definition: they are the same, as shards of it become shards of the steps by them.
func CheckSignature(g *ir.Graph, lib *kernels.Library, n *ir.Node) (*Derived, error) {
	d, sig, err := Signature(g, lib, n)
	if err != nil {
		return nil, err
	}
	has, index := tensorops.SignatureOf(n), tensorops.IndexOf(n)
	if has != nil && index != nil && (!ir.EqualBody(has, sig) || !slices.Equal(index.Range.Start, d.Index.Start) || !slices.Equal(index.Range.End, d.Index.End)) {
		return nil, diag.Errorf(codeSignature, signatureID, g.At(n, ""), "%s has another signature than follows from its definition", g.Name(n.ID)).
			Want("index "+d.Index.Text()+text(sig), "index "+index.Range.Text()+text(has)).WithHint("without a signature, the cut of the operation adds it")
	}
	return d, nil
}

// Unsigned is the fault of an operation that is cut into shards and has no signature, so that nothing says what its shards are of the steps.
func Unsigned(g *ir.Graph, n *ir.Node) error {
	return diag.Errorf(codeSignature, signatureID, g.At(n, ""), "%s is cut into shards and has no signature", g.Name(n.ID)).
		Want("the signature that follows from its definition", "none")
}

// The code and the constraint of signatures that are not those of the definition.
const codeSignature, signatureID = "TAP0197", "CompositeSignatureConstraint"

func text(s *tensorops.Signature) (out string) {
	for i, side := range []ir.PortMaps{s.Inputs, s.Outputs} {
		for _, p := range side {
			out += []string{", reads ", ", writes "}[i] + p.Name
			for _, m := range p.Maps {
				out += " " + m.String()
			}
		}
	}
	return out
}

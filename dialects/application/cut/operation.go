package cut

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/ir"
)

// Operation signs an operation and cuts it, and gives its new applications; it has no others yet. Faults are diagnostics that name the request.
func Operation(g *ir.Graph, lib *kernels.Library, n *ir.Node, request string, c Cut) ([]ir.NodeID, error) {
	if err := Sign(g, lib, n); err != nil {
		return nil, err
	}
	blocks, err := c.Blocks(SpaceOf(g, lib, n))
	if err != nil {
		return nil, misfit(g, n, request, err)
	}
	ids := make([]ir.NodeID, 0, len(blocks))
	for _, b := range blocks {
		a, err := Application(g, n, b)
		if err != nil {
			return nil, err
		}
		ids = append(ids, a.ID)
	}
	return ids, nil
}

// SpaceOf gives what is cut of a signed operation. Dimensions have names if it has a kernel that tapc knows.
func SpaceOf(g *ir.Graph, lib *kernels.Library, n *ir.Node) Space {
	s := Space{Index: tensorops.IndexOf(n).Range, Others: map[string]string{}}
	op := n.Body.(*tensorops.Operation)
	if op.IsComposite() {
		if d, err := composite.CheckSignature(g, lib, n); err == nil {
			s.Names = d.Names
			for _, x := range d.Others {
				s.Others[x.Name] = x.Why
			}
			return s
		}
	}
	if _, known := lib.Find(op.Kernel); !known {
		return s.numbered()
	}
	in, err := lib.BindOperation(g, n.ID)
	if err != nil || in.Index().Rank() != s.Index.Rank() {
		return s.numbered()
	}
	for i, d := range in.Dims {
		if d.Index {
			s.Names = append(s.Names, d.Name)
			continue
		}
		s.Others[d.Name] = "it is no dimension of all results"
		if ops, placed := reduced.Reductions(in, i); len(ops) > 0 && !placed {
			s.Others[d.Name] = "it is reduced by " + strings.Join(ops, ", then ")
		}
	}
	return s
}

// numbered names the dimensions as signatures do.
func (s Space) numbered() Space {
	s.Names = nil
	for d := range s.Index.Start {
		s.Names = append(s.Names, fmt.Sprintf("d%d", d))
	}
	return s
}

// Unsign takes away from an operation what Sign gave it.
func Unsign(n *ir.Node) {
	if n.Tag(tensorops.DerivedKind) == nil {
		return
	}
	for _, k := range []*ir.Kind{tensorops.DerivedKind, tensorops.SignatureKind, tensorops.ReadsKind, tensorops.ReducedKind, tensorops.IndexKind} {
		n.DropTag(k)
	}
}

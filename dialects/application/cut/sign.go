package cut

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/zspace"
)

// Sign gives an operation the signature and index that its kernel derives, unless it has them, and marks it as tensorops.Derived. Sources and
// sinks get the index of their tensors.
func Sign(g *ir.Graph, lib *kernels.Library, n *ir.Node) error {
	if tensorops.SignatureOf(n) != nil && tensorops.IndexOf(n) != nil {
		return nil
	}
	op := n.Body.(*tensorops.Operation)
	sign := func() error { return signKernel(g, lib, n) }
	switch {
	case op.IsComposite():
		sign = func() error { return composite.Sign(g, lib, n) }
	case op.IsSource() || op.IsSink():
		sign = func() error { return signInterface(g, n) }
	}
	if err := sign(); err != nil {
		return err
	}
	n.SetTag(&tensorops.Derived{})
	return nil
}

func signKernel(g *ir.Graph, lib *kernels.Library, n *ir.Node) error {
	in, err := lib.BindOperation(g, n.ID)
	if err != nil {
		return err
	}
	return reduced.Sign(n, in)
}

func signInterface(g *ir.Graph, n *ir.Node) error {
	sig, index, err := Interface(g, n)
	if err == nil {
		n.SetTag(sig)
		n.SetTag(&tensorops.Index{Range: index})
	}
	return err
}

// Interface gives the signature and the index of a source or a sink: the index is the box that it selects of its first tensor, and of each other one it selects
// a box of the same shape. It is an error, a diagnostic, of others and of checks, which can not be cut.
func Interface(g *ir.Graph, n *ir.Node) (*tensorops.Signature, zspace.Range, error) {
	op := n.Body.(*tensorops.Operation)
	var index zspace.Range
	refuse := func(expected, found string) error {
		return diag.Errorf("TAP0825", "shard", g.At(n, ""), "%s can not be cut", g.Name(n.ID)).Want(expected, found)
	}
	if op.IsCheck() {
		return nil, index, refuse("an operation that computes, or an import, export or constant", "a check")
	}
	var fault error
	maps := func(ports ir.Ports) (out ir.PortMaps) {
		ports.All(func(port, entry int, s *ir.Selection) {
			r := s.Range()
			if index.Start == nil {
				index = r.Clone()
			}
			if fault == nil && !r.Shape().Equal(index.Shape()) {
				fault = refuse("tensors of one shape", fmt.Sprintf("%s and %s", index.ShapeString(), r.ShapeString()))
			}
			if fault == nil {
				out = add(out, ports.At(port).Name, identity(index, r))
			}
		})
		return out
	}
	sig := &tensorops.Signature{Inputs: maps(op.Inputs), Outputs: maps(op.Outputs)}
	if fault == nil && index.Start == nil {
		fault = refuse("an operation with a tensor", "none")
	}
	return sig, index, fault
}

// add adds a map to those of a port, which is the last if it is there.
func add(list ir.PortMaps, port string, m zspace.ProjectionMap) ir.PortMaps {
	if n := len(list); n == 0 || list[n-1].Name != port {
		list = append(list, ir.NamedMaps{Name: port})
	}
	last := &list[len(list)-1]
	last.Maps = append(last.Maps, m)
	return list
}

// identity maps the points of an index to those of a box of its shape.
func identity(index, box zspace.Range) zspace.ProjectionMap {
	m := zspace.ProjectionMap{AffineMap: zspace.AffineMap{Projection: zspace.Identity(index.Rank())}}
	for i := range index.Start {
		m.AffineMap.Offset = append(m.AffineMap.Offset, box.Start[i]-index.Start[i])
		m.Shape = append(m.Shape, 1)
	}
	return m
}

// Application adds the shard of a signed operation that covers a block of its index.
func Application(g *ir.Graph, n *ir.Node, block zspace.Range) (*ir.Node, error) {
	op, sig := n.Body.(*tensorops.Operation), tensorops.SignatureOf(n)
	in, err := project(op.Inputs, sig.Inputs, tensorops.ReadsOf(n), block)
	if err != nil {
		return nil, err
	}
	out, err := project(op.Outputs, sig.Outputs, nil, block)
	if err != nil {
		return nil, err
	}
	a := g.Add(&application.Application{Operation: n.ID, Inputs: in, Outputs: out}, "")
	a.Pos = n.Pos
	a.SetTag(&tensorops.Index{Range: block})
	return a, nil
}

func project(ports ir.Ports, maps ir.PortMaps, reads *tensorops.Reads, block zspace.Range) (ir.Ports, error) {
	cut := ports.Clone()
	for i := range cut.Len() {
		m := maps.Get(cut.At(i).Name)
		for j := range cut.At(i).Sel {
			if m == nil || j >= len(m.Maps) {
				return ir.Ports{}, fmt.Errorf("port %s[%d] has no projection", cut.At(i).Name, j)
			}
			r, err := reads.Selects(m.Name, j, m.Maps[j], block)
			if err != nil {
				return ir.Ports{}, err
			}
			cut.At(i).Sel[j].SetRange(r)
		}
	}
	return cut, nil
}

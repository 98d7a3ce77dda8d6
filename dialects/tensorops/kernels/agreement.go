package kernels

import (
	"errors"
	"fmt"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/numbers"
	"tensortapestry.org/tapc/dialects/tensorops/said"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/pieces"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

// CheckSignature compares the signature and index that an operation carries, if it does, with its instance: wherever the index
// stands, what the kernel reads to compute the outputs there must be in what the signature says. The maps are affine, so
// that the corners of the index decide; where pieces refine them, all points of a small index do. The error is a diagnostic with an element that the signature fails to read.
func CheckSignature(in *instance.Instance, g *ir.Graph, n *ir.Node) error {
	sig, index := tensorops.SignatureOf(n), tensorops.IndexOf(n)
	if sig == nil || index == nil || index.Range.Empty() {
		return nil
	}
	reads, points := tensorops.ReadsOf(n), index.Range.Corners(maxCorners)
	if size, err := index.Range.Size(); reads != nil && err == nil && size <= maxPoints {
		points, _ = index.Range.Grid(index.Range.Shape())
	}
	for _, p := range points {
		box, ok := boxAt(in, sig, p)
		if !ok {
			continue // no part that the kernel can be cut into: not for the signature to say
		}
		for i, o := range in.Operands {
			m := sig.Inputs.Get(o.Port)
			if o.Decl.Out || m == nil || o.Entry >= len(m.Maps) {
				continue
			}
			need, err := in.ReadCells(i, box)
			has, bad := reads.Selects(o.Port, o.Entry, m.Maps[o.Entry], p)
			if err = errors.Join(err, bad); err != nil {
				return err
			}
			hull, some := pieces.Around(need)
			if rest, lacks := tiling.Missing(hull, has); some && lacks {
				return diag.Errorf("TAP0604", ConstraintID, g.At(n, check.TagField(tensorops.SignatureKind)),
					"%s: the signature reads less than kernel %s does, for %s[%d]", g.Name(n.ID), in.Decl.Name, o.Port, o.Entry).
					Want(fmt.Sprintf("element %v, which the kernel reads at %v of the index", rest.Start, p.Start), fmt.Sprintf("%v through %v", has, m.Maps[o.Entry]))
			}
		}
	}
	return nil
}

// CheckOperations holds the operations of a graph to their kernels: that they are known, unless foreign ones may be there, and their
// ports, shapes, element types, parameters and signatures. Of those that say the same, one is looked at, unless it is at fault.
func (l *Library) CheckOperations(g *ir.Graph, foreign bool) diag.List {
	var found diag.List
	right := map[string]bool{}
	for n := range g.Nodes() {
		op, ok := n.Body.(*tensorops.Operation)
		if !ok || op.IsSource() || op.IsSink() || op.IsComposite() {
			continue
		}
		if _, known := l.Find(op.Kernel); !known && foreign {
			continue
		}
		words := l.Said(g, n, tensorops.SignatureOf(n) != nil)
		if right[words] {
			continue
		}
		in, err := l.BindOperation(g, n.ID)
		if err == nil {
			err = CheckSignature(in, g, n)
		}
		right[words] = err == nil
		found = append(found, diag.FromError(err)...)
	}
	return found
}

// Said writes what an operation says but for its names, and for its signature the constants too, where those decide what it reads.
func (l *Library) Said(g *ir.Graph, n *ir.Node, signature bool) string {
	words, op := said.Of(g, n), n.Body.(*tensorops.Operation)
	if d, ok := l.Find(op.Kernel); signature && ok && d.Opaque != "" {
		op.Inputs.All(func(_, _ int, s *ir.Selection) { words += fmt.Sprint(numbers.Of(g, s.Tensor)) })
	}
	return words
}

// boxAt gives the dims that compute the outputs which a signature says a point of the index has; ok is false if none do.
func boxAt(in *instance.Instance, sig *tensorops.Signature, point zspace.Range) (zspace.Range, bool) {
	var outputs []zspace.Range
	for _, o := range in.Operands {
		if !o.Decl.Out {
			continue
		}
		m := sig.Outputs.Get(o.Port)
		if m == nil || o.Entry >= len(m.Maps) {
			return zspace.Range{}, false
		}
		r, err := m.Maps[o.Entry].Apply(point)
		if err != nil || !o.Sel.Range().Contains(r) {
			return zspace.Range{}, false
		}
		outputs = append(outputs, r)
	}
	box, err := in.Restrict(outputs)
	return box, err == nil
}

const maxCorners, maxPoints = 256, 1024 // of an index, that are looked at

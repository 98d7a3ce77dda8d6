package rewrite

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// retag gives the operations that a rule made or changed the signature and the index of their kernels, if the root had them.
// Where the kernel gives none, the tags go: no tag says less, a wrong one says what is not so.
func (e *edit) retag() {
	signed, indexed := e.root.Tag(tensorops.SignatureKind) != nil, e.root.Tag(tensorops.IndexKind) != nil
	if !signed && !indexed {
		return
	}
	for _, n := range e.fresh {
		var s tensorops.Signature
		op := n.Body.(*tensorops.Operation)
		in, err := e.bind(op.Kernel, op.Params, op.Inputs, op.Outputs)
		if err == nil {
			s.Inputs, s.Outputs, err = in.Signature()
		}
		if err != nil {
			unsign(n)
			continue
		}
		n.DropTag(tensorops.ReadsKind)
		n.DropTag(tensorops.ReducedKind)
		if r := in.Pieces(s.Inputs); len(r.Selections) > 0 && signed {
			n.SetTag(&r)
		}
		setTag(n, &s, signed)
		setTag(n, &tensorops.Index{Range: in.Index()}, indexed)
		setTag(n, &tensorops.Derived{}, e.root.Tag(tensorops.DerivedKind) != nil)
	}
}

// unsign takes an operation's signature away, with what belongs to it.
func unsign(n *ir.Node) {
	for _, kind := range []*ir.Kind{tensorops.SignatureKind, tensorops.ReadsKind, tensorops.ReducedKind, tensorops.CostsKind, tensorops.IndexKind, tensorops.DerivedKind} {
		n.DropTag(kind)
	}
}

func setTag(n *ir.Node, t ir.Body, want bool) {
	if want {
		n.SetTag(t)
	}
}

// moveSignature moves the maps of some selections by delta, as the selections were moved.
func (e *edit) moveSignature(n *ir.Node, moved []entry, out bool, delta zspace.Point) {
	old := tensorops.SignatureOf(n)
	if old == nil || isZero(delta) {
		return
	}
	n.DropTag(tensorops.ReducedKind)
	op := n.Body.(*tensorops.Operation)
	s := *old
	ports, maps := op.Inputs, &s.Inputs
	if out {
		ports, maps = op.Outputs, &s.Outputs
	}
	*maps = slices.Clone(*maps)
	for _, m := range moved {
		name := ports.At(m.port).Name
		if !moveMap(maps.Get(name), m.index, delta) || !out && tensorops.MoveReads(n, name, m.index, delta) != nil {
			unsign(n)
			return
		}
	}
	n.SetTag(&s)
}

// moveMap translates one map of a port; the list of maps is copied, for other graphs may share it.
func moveMap(p *ir.NamedMaps, i int, delta zspace.Point) bool {
	if p == nil || i >= len(p.Maps) {
		return false
	}
	m, err := p.Maps[i].Translate(delta)
	if err != nil {
		return false
	}
	p.Maps = slices.Clone(p.Maps)
	p.Maps[i] = m
	return true
}

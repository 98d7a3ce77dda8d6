package tensorops

import (
	"fmt"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/pieces"
)

// maxPieces bounds the pieces of one selection in a file.
const maxPieces = 64

// checkReads checks what refines the signature of an operation whose inputs agree with it.
func checkReads(c *check.Context, n *ir.Node, op *Operation, index zspace.Range) {
	tag := ReadsOf(n)
	if tag == nil {
		return
	}
	seen := map[string]bool{}
	for i := range tag.Selections {
		s := &tag.Selections[i]
		name := fmt.Sprintf("%s[%d]", s.Port, s.Entry)
		p := op.Inputs.Get(s.Port)
		if p == nil || s.Entry < 0 || s.Entry >= int64(len(p.Sel)) || seen[name] {
			c.Report(c.Error("TAP0158", n, check.TagField(ReadsKind), "%s refines the signature of %s", c.Graph().Name(n.ID), name).
				Want("an input selection, each once", name))
			continue
		}
		seen[name] = true
		if want, found := s.fault(p.Sel[s.Entry].Range(), index); found != "" {
			c.Report(c.Error("TAP0159", n, check.TagField(ReadsKind), "what %s reads of %s is not a part of the selection", c.Graph().Name(n.ID), name).
				Want(want, found))
		}
	}
}

// fault says what is wrong with the pieces of a selection; found is "" if nothing is.
func (s *SelectionReads) fault(sel, index zspace.Range) (want, found string) {
	if len(s.Pieces) > maxPieces {
		return check.Count(maxPieces, "piece") + " at most", check.Count(len(s.Pieces), "piece")
	}
	for i := range s.Pieces {
		p := &s.Pieces[i]
		if err := p.Validate(index.Rank(), sel.Rank()); err != nil {
			return fmt.Sprintf("a piece that fits the index %v and the selection %v", index, sel), fmt.Sprintf("piece %d: %v", i, err)
		}
		hull, some, exact := pieces.Hull(s.Pieces[i:i+1], index)
		switch {
		case !exact && !some:
			return "coordinates within 40 bits", fmt.Sprintf("piece %d: %v", i, p)
		case some && !sel.Contains(hull):
			return "cells of " + sel.String(), fmt.Sprintf("piece %d: %s", i, check.Beyond(sel, hull))
		}
	}
	return "", ""
}

package check

import (
	"fmt"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

// Ref checks that a reference at a field of n names a node of one of some kinds and gives that node. missing and wrong are
// the codes for a node that is not there and for one of another kind.
func (c *Context) Ref(missing, wrong string, n *ir.Node, field string, id ir.NodeID, kinds ...*ir.Kind) (*ir.Node, bool) {
	to := c.graph.Node(id)
	switch {
	case to == nil:
		c.Report(c.Error(missing, n, field, "%s refers to a node that does not exist", c.graph.Name(n.ID)).
			Want("a node of type "+keywords(kinds), c.graph.Name(id)))
	case !slices.Contains(kinds, to.Body.Kind()):
		c.Report(c.Error(wrong, n, field, "%s refers to a node of the wrong type", c.graph.Name(n.ID)).
			Want("a node of type "+keywords(kinds), c.graph.Name(id)).WithNote(c.At(to, ""), "the node that is referred to"))
	default:
		return to, true
	}
	return nil, false
}

func keywords(kinds []*ir.Kind) string {
	s := ""
	for i, k := range kinds {
		if i > 0 {
			s += " or "
		}
		s += k.Keyword
	}
	return s
}

// Beyond says in words how a box fails to lie inside another: the box, and a part of it that lies outside.
func Beyond(whole, part zspace.Range) string {
	rest, some := tiling.Missing(part, whole)
	if !some {
		return fmt.Sprintf("%v, which is empty and lies outside", part)
	}
	return fmt.Sprintf("%v, of which %v lies outside", part, rest)
}

// Count writes a number with a noun, in the plural unless it is one.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

package check

import (
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir"
)

// TypeRestriction is the type policy: every node and tag is of a kind that the environment lists. It comes first in every
// environment.
var TypeRestriction = Constraint{
	ID: "TypeRestrictionConstraint",
	Doc: "Every node and every tag is of a type that the dialect knows. It is checked first in every dialect, so that no later " +
		"constraint meets a body that it cannot read.",
	Codes: []Code{
		{"TAP0101", "a node has a type that the dialect does not have"},
		{"TAP0102", "a tag has a type that the dialect does not have"},
		{"TAP0103", "a node or a tag has no body"},
	},
	Check: checkTypes,
}

func checkTypes(c *Context) {
	for n := range c.Graph().Nodes() {
		if !c.Go() {
			return
		}
		switch {
		case n.Body == nil:
			c.Report(c.Error("TAP0103", n, "", "node #%d has no body", n.ID).Want("a body", "nothing"))
		case !slices.Contains(c.env.NodeKinds, n.Body.Kind()):
			c.Report(c.Error("TAP0101", n, "/type", "%s has a type that the %s dialect does not have", c.graph.Name(n.ID), c.env.Name).
				Want("one of "+kindNames(c.env.NodeKinds), kindName(n.Body.Kind())))
		}
		for i, t := range n.Tags() {
			checkTagType(c, n, i, t)
		}
	}
}

func checkTagType(c *Context, n *ir.Node, i int, t ir.Body) {
	switch {
	case t == nil:
		c.Report(c.Error("TAP0103", n, "/tags", "tag %d has no body", i).Want("a body", "nothing"))
	case !slices.Contains(c.env.TagKinds, t.Kind()):
		c.Report(c.Error("TAP0102", n, TagField(t.Kind()), "a tag has a type that the %s dialect does not have", c.env.Name).
			Want("one of "+kindNames(c.env.TagKinds), kindName(t.Kind())))
	}
}

func kindName(k *ir.Kind) string { return strconv.Quote(k.URI) }

func kindNames(kinds []*ir.Kind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = kindName(k)
	}
	return strings.Join(names, ", ")
}

package application

import (
	"tensortapestry.org/tapc/dialects/tensorops"

	"tensortapestry.org/tapc/ir/check"
)

var choicesAreMade = check.Constraint{
	ID:       "ChoicesAreMadeConstraint",
	Doc:      "An operation that is cut into applications is no choice: what is cut, scheduled and run has been chosen.",
	Requires: []string{"ChoiceConstraint"},
	Codes:    []check.Code{{ID: "TAP0231", Meaning: "a choice has an application, but is still open"}},
	Check: func(c *check.Context) {
		g := c.Graph()
		for n := range check.Each[*Application](c) {
			if op := tensorops.OperationOf(g, n.Body.(*Application).Operation); op != nil && op.IsChoice() && c.Go() {
				c.Report(c.Error("TAP0231", n, "/body/operation", "%s is still open", g.Name(n.Body.(*Application).Operation)).
					Want("one of its branches in its place, as the pass choose puts it", "an application of the choice"))
			}
		}
	},
}

var noChoices = check.Constraint{
	ID:       "NoChoicesConstraint",
	Doc:      "The Tapestry documents have no node for alternatives: a graph that is held to them alone has no choice.",
	Requires: []string{"ChoiceConstraint"},
	Codes:    []check.Code{{ID: "TAP0232", Meaning: "a choice, which is tapc's own, is in a graph for the Tapestry documents alone"}},
	Check: func(c *check.Context) {
		for n := range check.Each[*tensorops.Operation](c) {
			if n.Body.(*tensorops.Operation).IsChoice() && c.Go() {
				c.Report(c.Error("TAP0232", n, "/body/kernel", "%s holds alternatives open, which is tapc's own", c.Graph().Name(n.ID)).
					Want("what the Tapestry documents have", "a choice").WithHint("the pass choose takes one of the branches"))
			}
		}
	},
}

package check

import (
	"context"
	"fmt"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// The codes of findings about the verification itself.
const (
	CodeMore        = "TAP0001" // remark: there are more findings than are listed
	CodeInterrupted = "TAP0002" // the verification was interrupted, so nothing is proved
	CodeEnvironment = "TAP0003" // the environment itself is not valid
)

// Verify checks a graph against the environment: the type policy first, then each constraint in order, but only while there
// is no error, since later constraints rely on earlier ones. So the result holds every finding of the first constraint that
// fails (up to MaxFindings errors and as many others, then a remark) and the warnings of those before it. The order of the findings depends on the
// graph alone. A graph is valid when the result has no errors; one whose verification was interrupted by ctx has one.
func (e *Environment) Verify(ctx context.Context, g *ir.Graph) diag.List {
	if err := e.Validate(); err != nil {
		return diag.List{{Code: CodeEnvironment, Message: err.Error()}}
	}
	c := newContext(ctx, e, g)
	var all diag.List
	for _, k := range e.All() {
		all = append(all, c.run(k)...)
		if err := ctx.Err(); err != nil {
			return append(all, diag.Diagnostic{Code: CodeInterrupted, Constraint: k.ID, Location: diag.Location{File: g.File},
				Message: fmt.Sprintf("verification was interrupted: %v", context.Cause(ctx))})
		}
		if c.errors > 0 {
			break
		}
	}
	return all
}

// run gives the findings of one constraint.
func (c *Context) run(k Constraint) diag.List {
	c.id, c.found, c.errors, c.others = k.ID, nil, 0, 0
	k.Check(c)
	if max(c.errors, c.others) > MaxFindings {
		c.found = append(c.found, diag.Diagnostic{Code: CodeMore, Constraint: k.ID, Severity: diag.Remark,
			Location: diag.Location{File: c.graph.File},
			Message:  fmt.Sprintf("there are more findings of %s than the %d listed", k.ID, MaxFindings)})
	}
	return c.found
}

package tensorops

import (
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir/check"
)

var tensorDTypesAreValid = check.Constraint{
	ID: "TensorDTypesAreValidConstraint",
	Doc: "Every tensor, used or not, has an element type that the environment allows. The comparison is exact. By default these are " +
		"boolean, the integers of 4 (a byte each) to 64 bits, the floating point types and the complex types.",
	Requires: []string{"SchemaTypeConstraint"},
	Codes:    []check.Code{{ID: "TAP0121", Meaning: "a tensor has an element type that is not allowed"}},
	Check: func(c *check.Context) {
		allowed := c.Environment().DTypes
		for n, t := range check.Each[*Tensor](c) {
			if slices.Contains(allowed, t.DType) {
				continue
			}
			c.Report(c.Error("TAP0121", n, "/body/dtype", "%s has an element type that is not allowed", c.Graph().Name(n.ID)).
				Want("one of "+strings.Join(allowed, ", "), strconv.Quote(t.DType)))
		}
	},
}

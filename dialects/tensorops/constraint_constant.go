package tensorops

import "tensortapestry.org/tapc/ir/check"

// constantID is the id of the constraint of this file.
const constantID = "ConstantOperationConstraint"

var constants = check.Constraint{
	ID: constantID,
	Doc: "A constant has one result and says once what that is: a value; an entry of a data file, by file and key; bytes from an offset of a file on; or bytes. A view, of all but a value, says how the result reads " +
		"what is stored. Nothing else is a parameter.",
	Requires: []string{"TensorOperationAgreementConstraint"},
	Codes:    []check.Code{{ID: "TAP0701", Meaning: "a constant does not say what it is, says it twice, or has a parameter that means nothing"}},
	Check: func(c *check.Context) {
		for n, op := range check.Each[*Operation](c) {
			if base(op.Kernel) != "constant" {
				continue
			}
			_, bad := ConstOf(c.Graph(), n.ID)
			for _, d := range bad {
				c.Report(d)
			}
		}
	},
}

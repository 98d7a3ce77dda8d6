package mapping

import (
	"fmt"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/expr"
	"tensortapestry.org/tapc/frontends/mapping/outcome"
	"tensortapestry.org/tapc/ir/diag"
)

// Codes of the front ends' diagnostics.
const (
	CodeGraph    = "TAP1401"    // a foreign graph that is not well formed: a cycle, two producers, a value that is not there
	CodeUnmapped = outcome.Code // an operation that no rule maps
	CodeFiles    = "TAP0860"    // files that a run reads or writes, in a vocabulary that has none
	CodeInput    = "TAP1403"    // an input or output whose type or size is not known, or that is no tensor
)

// Report says what became of each operation.
type Report = outcome.Report

func (r *Region) opVersion(op *foreign.Op) string {
	name := op.Type
	if op.Domain != "" {
		name = op.Domain + ":" + name
	}
	if v := r.version(op.Domain); v > 0 { // not where vocabularies have releases instead of numbers
		name += fmt.Sprintf("@%d", v)
	}
	return name
}

func (r *Region) fail(op *foreign.Op, cause string, why error) {
	r.m.report.Fail(outcome.Unmapped{Op: r.opVersion(op), Cause: cause, Reason: why.Error(), Wants: expr.WantedBy(why), At: r.at(op)})
}

// at says where an operation stands: by line, or by its number among those of its graph.
func (r *Region) at(op *foreign.Op) diag.Location {
	name := op.Name
	if name == "" && len(op.Out) > 0 {
		name = op.Out[0]
	}
	l := diag.Location{File: r.m.report.File, Line: int(op.Pos.Line), Column: int(op.Pos.Col), Node: name}
	if op.Pos.Doc > 0 && r.graph.Path != "" {
		l.Pointer = fmt.Sprintf("%s/%d", r.graph.Path, op.Pos.Doc-1)
	}
	return l
}

func (r *Region) fault(format string, args ...any) error {
	return diag.Errorf(CodeGraph, "foreign-graph", diag.Location{File: r.m.report.File, Node: r.inside}, format, args...)
}

package proto

import "tensortapestry.org/tapc/ir/diag"

var severities = [...]struct {
	wire Diagnostic_Severity
	diag diag.Severity
}{{Diagnostic_ERROR, diag.Error}, {Diagnostic_WARNING, diag.Warning}, {Diagnostic_REMARK, diag.Remark}}

// NewDiagnostic makes the message for a diagnostic.
func NewDiagnostic(d diag.Diagnostic) *Diagnostic {
	m := &Diagnostic{Code: d.Code, Constraint: d.Constraint, Message: d.Message, Location: newLocation(d.Location),
		Expected: d.Expected, Found: d.Found, Hint: d.Hint}
	for _, s := range severities {
		if s.diag == d.Severity {
			m.Severity = s.wire
		}
	}
	for _, n := range d.Notes {
		m.Notes = append(m.Notes, &Note{Message: n.Message, Location: newLocation(n.Location)})
	}
	return m
}

func newLocation(l diag.Location) *Location {
	if l == (diag.Location{}) {
		return nil
	}
	return &Location{File: l.File, Line: int32(l.Line), Column: int32(l.Column), Pointer: l.Pointer, Node: l.Node}
}

// Diag gives the diagnostic that the message holds. A location that names a node by number is asked of at. A severity that
// this version does not know counts as an error.
func (d *Diagnostic) Diag(at func(number uint32, field string) diag.Location) diag.Diagnostic {
	out := diag.Diagnostic{Code: d.Code, Constraint: d.Constraint, Message: d.Message, Location: d.Location.diag(at),
		Expected: d.Expected, Found: d.Found, Hint: d.Hint}
	for _, s := range severities {
		if s.wire == d.Severity {
			out.Severity = s.diag
		}
	}
	for _, n := range d.Notes {
		out.Notes = append(out.Notes, diag.Note{Message: n.Message, Location: n.Location.diag(at)})
	}
	return out
}

func (l *Location) diag(at func(uint32, string) diag.Location) diag.Location {
	switch {
	case l == nil:
		return diag.Location{}
	case l.Number > 0:
		return at(l.Number-1, l.Field)
	}
	return diag.Location{File: l.File, Line: max(int(l.Line), 0), Column: max(int(l.Column), 0), Pointer: l.Pointer, Node: l.Node}
}

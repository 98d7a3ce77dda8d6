// Package diag holds diagnostics: what is wrong with a user's graph, where, what was expected and what was found.
//
// Every check in tapc reports through this package, so that text, JSON and SARIF output and the exit status are decided in
// one place. It imports nothing of tapc but the standard library. Read next: package ir.
package diag

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Severity says how bad a diagnostic is.
type Severity uint8

// The severities, worst first.
const (
	Error Severity = iota
	Warning
	Remark
)

// String gives the severity's name as it stands in text and JSON.
func (s Severity) String() string {
	return [...]string{"error", "warning", "remark"}[s]
}

// Location is a place in the user's input. The zero Location is "unknown". Line and Column count from 1; Column counts bytes.
type Location struct {
	File    string
	Line    int
	Column  int
	Pointer string // JSON pointer into the document, when it is JSON
	Node    string // readable name of the node
}

// String gives file:line:column, leaving out what is not known; "" if nothing is.
func (l Location) String() string {
	switch {
	case l.File == "":
		return ""
	case l.Line == 0:
		return l.File
	case l.Column == 0:
		return fmt.Sprintf("%s:%d", l.File, l.Line)
	}
	return fmt.Sprintf("%s:%d:%d", l.File, l.Line, l.Column)
}

// Note is a related place or fact of a diagnostic.
type Note struct {
	Message  string
	Location Location
}

// Diagnostic is one finding. Code is stable across releases; Constraint is the stable id of the constraint that found it
// ("parse" and "value" for what comes before constraints).
type Diagnostic struct {
	Code       string
	Constraint string
	Severity   Severity
	Message    string
	Location   Location
	Expected   string
	Found      string
	Notes      []Note
	Hint       string
}

// Errorf makes an error diagnostic of a constraint at a place.
func Errorf(code, constraint string, at Location, format string, args ...any) Diagnostic {
	return Diagnostic{Code: code, Constraint: constraint, Location: at, Message: fmt.Sprintf(format, args...)}
}

// Want returns the diagnostic with what was expected and what was found.
func (d Diagnostic) Want(expected, found string) Diagnostic {
	d.Expected, d.Found = expected, found
	return d
}

// WithNote returns the diagnostic with one more note.
func (d Diagnostic) WithNote(at Location, format string, args ...any) Diagnostic {
	d.Notes = append(d.Notes[:len(d.Notes):len(d.Notes)], Note{Message: fmt.Sprintf(format, args...), Location: at})
	return d
}

// WithHint returns the diagnostic with advice on how to mend the input.
func (d Diagnostic) WithHint(format string, args ...any) Diagnostic {
	d.Hint = fmt.Sprintf(format, args...)
	return d
}

// Error gives the diagnostic as one line: place, severity, message, code.
func (d Diagnostic) Error() string {
	var b strings.Builder
	if at := d.Location.String(); at != "" {
		b.WriteString(at + ": ")
	}
	fmt.Fprintf(&b, "%s: ", d.Severity)
	b.WriteString(d.Message)
	if d.Expected != "" || d.Found != "" {
		fmt.Fprintf(&b, ": expected %s, found %s", d.Expected, d.Found)
	}
	if tag := d.tag(); tag != "" {
		b.WriteString(" [" + tag + "]")
	}
	return b.String()
}

func (d Diagnostic) tag() string {
	switch {
	case d.Constraint == "":
		return d.Code
	case d.Code == "":
		return d.Constraint
	}
	return d.Code + " " + d.Constraint
}

// List is several diagnostics in a stable order. As an error it renders all of them.
type List []Diagnostic

// Error renders every diagnostic on a line of its own.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// HasErrors says whether any diagnostic is an error.
func (l List) HasErrors() bool {
	for _, d := range l {
		if d.Severity == Error {
			return true
		}
	}
	return false
}

// Err returns the list as an error, or nil when it holds no error.
func (l List) Err() error {
	if l.HasErrors() {
		return l
	}
	return nil
}

// FromError returns the diagnostics inside an error; any other error becomes one diagnostic without a place.
func FromError(err error) List {
	if err == nil {
		return nil
	}
	var list List
	if errors.As(err, &list) {
		return list
	}
	var one Diagnostic
	if errors.As(err, &one) {
		return List{one}
	}
	return List{{Message: err.Error()}}
}

// Reported is FromError for the report of a run: errors without a code have one that says who is at fault.
func Reported(err error) List {
	list := slices.Clone(FromError(err))
	for i, d := range list {
		if d.Code == "" && d.Severity == Error {
			list[i].Code = codeOf(err)
		}
	}
	return list
}

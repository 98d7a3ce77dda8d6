package app

import (
	"bytes"

	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/loomjson"
)

// DiagnosticForms are the values of --diagnostics.
var DiagnosticForms = []string{"text", "json", "sarif"}

// Report writes diagnostics to standard error, or keeps them for the one document at the end of the run.
func (a *App) Report(list diag.List) {
	if len(list) == 0 {
		return
	}
	list = a.refine(list)
	if a.Format == "json" || a.Format == "sarif" {
		a.held = append(a.held, list...)
		return
	}
	for i, d := range list {
		if d.Location == (diag.Location{}) {
			list[i].Location.File = "tapc" // not about a file: the line begins with the program's name
		}
	}
	var b bytes.Buffer
	diag.WriteText(&b, list, a.source) // a buffer takes everything
	a.Stderr.Write(b.Bytes())          // nowhere is left to say that standard error fails
}

// flush writes the document of diagnostics that the run held back.
func (a *App) flush() error {
	switch a.Format {
	case "json":
		return diag.WriteJSON(a.Stderr, a.held)
	case "sarif":
		return diag.WriteSARIF(a.Stderr, a.held, a.source)
	}
	return nil
}

// source gives the text of a file that was read.
func (a *App) source(file string) ([]byte, bool) {
	s, ok := a.Sources[file]
	if !ok || s.Binary {
		return nil, false
	}
	text, err := s.Text.Bytes()
	return text, err == nil
}

// refineBudget bounds the bytes that are scanned to find the lines of pointers.
const refineBudget = 256 << 20

// refine replaces the place of a node by the place of the field that a JSON pointer names.
func (a *App) refine(list diag.List) diag.List {
	out := make(diag.List, len(list))
	budget := refineBudget
	for i, d := range list {
		d.Location = a.refineLocation(d.Location, &budget)
		d.Notes = append([]diag.Note(nil), d.Notes...)
		for j := range d.Notes {
			d.Notes[j].Location = a.refineLocation(d.Notes[j].Location, &budget)
		}
		out[i] = d
	}
	return out
}

func (a *App) refineLocation(at diag.Location, budget *int) diag.Location {
	s, ok := a.Sources[at.File]
	if !ok || at.Pointer == "" || !s.Loom {
		return at
	}
	text, err := s.Text.Bytes()
	if err != nil || *budget < len(text) {
		return at
	}
	*budget -= len(text)
	if line, col, ok := loomjson.Locate(text, at.Pointer); ok {
		at.Line, at.Column = line, col
	}
	return at
}

// ReportedOr ends a run whose report is its result: with status 0, or 1 when something is not mapped.
func ReportedOr(err error) error {
	status := diag.ExitOK
	if err != nil {
		status = diag.ExitStatus(err)
	}
	return &diag.StatusError{Status: status, Err: Reported{}}
}

// Reported is the error of input whose diagnostics are written already.
type Reported struct{}

func (Reported) Error() string { return "the input is at fault" }

// Fail reports one of several errors and gives the one that decides the exit status: the first of the worst.
func (a *App) Fail(before, err error) error {
	if _, done := err.(Reported); !done {
		a.Report(diag.Reported(err))
	}
	err = &diag.StatusError{Status: diag.ExitStatus(err), Err: Reported{}}
	if before != nil && diag.ExitStatus(before) >= diag.ExitStatus(err) {
		return before
	}
	return err
}

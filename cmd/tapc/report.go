package main

import (
	"bytes"

	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/loomjson"
)

// diagnosticForms are the values of --diagnostics.
var diagnosticForms = []string{"text", "json", "sarif"}

// report writes diagnostics to standard error, or keeps them for the one document at the end of the run.
func (a *app) report(list diag.List) {
	if len(list) == 0 {
		return
	}
	list = a.refine(list)
	if a.format == "json" || a.format == "sarif" {
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
	a.stderr.Write(b.Bytes())          // nowhere is left to say that standard error fails
}

// flush writes the document of diagnostics that the run held back.
func (a *app) flush() error {
	switch a.format {
	case "json":
		return diag.WriteJSON(a.stderr, a.held)
	case "sarif":
		return diag.WriteSARIF(a.stderr, a.held, a.source)
	}
	return nil
}

// source gives the text of a file that was read.
func (a *app) source(file string) ([]byte, bool) {
	s, ok := a.sources[file]
	if !ok || s.form.binary {
		return nil, false
	}
	text, err := s.text.Bytes()
	return text, err == nil
}

// refineBudget bounds the bytes that are scanned to find the lines of pointers.
const refineBudget = 256 << 20

// refine replaces the place of a node by the place of the field that a JSON pointer names.
func (a *app) refine(list diag.List) diag.List {
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

func (a *app) refineLocation(at diag.Location, budget *int) diag.Location {
	s, ok := a.sources[at.File]
	if !ok || at.Pointer == "" || s.form.name != "loom" {
		return at
	}
	text, err := s.text.Bytes()
	if err != nil || *budget < len(text) {
		return at
	}
	*budget -= len(text)
	if line, col, ok := loomjson.Locate(text, at.Pointer); ok {
		at.Line, at.Column = line, col
	}
	return at
}

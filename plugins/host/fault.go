package host

import (
	"errors"
	"fmt"
	"strings"

	"tensortapestry.org/tapc/ir/diag"
)

// Kind is a way for a plugin to fail.
type Kind uint8

// The kinds of faults.
const (
	CannotStart Kind = iota
	NotAPlugin
	WrongVersion
	PrintedFirst
	CrashedAtStart
	NoAnswer
	WrongDigest
	BadDescription
	Crashed
	TimedOut
	OutOfMemory
	OutOfProcessorTime
	Flooded
	Garbage
	TooLarge
	InvalidGraph
	ChangedProgram
	ChangedValues
	Failed
	OutOfSpace
)

// ConstraintID stands in the diagnostics of plugins' faults.
const ConstraintID = "plugin"

// Kinds lists the diagnostic code and the meaning of every kind of fault, by Kind.
var Kinds = [...]struct{ Code, Meaning string }{
	CannotStart:        {"TAP1001", "the plugin's file can not be run here"},
	NotAPlugin:         {"TAP1002", "the program is not a plugin for tapc"},
	WrongVersion:       {"TAP1003", "the plugin speaks another version of the protocol"},
	PrintedFirst:       {"TAP1004", "the plugin printed to standard output before it served"},
	CrashedAtStart:     {"TAP1005", "the plugin ended before it served"},
	NoAnswer:           {"TAP1006", "the plugin did not start to serve in time"},
	WrongDigest:        {"TAP1007", "the plugin's file is not the one that was locked"},
	BadDescription:     {"TAP1008", "what the plugin says of itself is not valid"},
	Crashed:            {"TAP1011", "the plugin ended in the middle of its work"},
	TimedOut:           {"TAP1012", "the plugin did not finish in time"},
	OutOfMemory:        {"TAP1013", "the plugin used more memory or processes than it may"},
	OutOfProcessorTime: {"TAP1014", "the plugin used more processor time than it may"},
	Flooded:            {"TAP1015", "the plugin wrote more to standard error, or more reports, than it may"},
	Garbage:            {"TAP1016", "the plugin's answer can not be decoded, or breaks the protocol"},
	TooLarge:           {"TAP1017", "the plugin's answer is larger than it may be"},
	InvalidGraph:       {"TAP1018", "the plugin's graph breaks a constraint of its dialect"},
	ChangedProgram:     {"TAP1019", "the plugin's graph has other inputs or outputs than the one it was given"},
	ChangedValues:      {"TAP1020", "the plugin's graph computes other values"},
	Failed:             {"TAP1021", "the plugin reports that it failed"},
	OutOfSpace:         {"TAP1022", "the plugin's folder holds more than it may"},
}

// Fault is a plugin's failure. As an error it is one diagnostic; the exit status it asks for is diag.ExitInternal.
type Fault struct {
	Kind   Kind
	Plugin string
	Part   string   // "pass NAME", "back end NAME" or ""
	Detail string   // what happened, as a clause
	Hint   string   // how to mend it
	Stderr []string // the last lines that the plugin wrote
	Notes  []string
}

// Error gives the diagnostic on one line.
func (f *Fault) Error() string { return f.Diagnostic().Error() }

// Diagnostic gives the fault for people and machines.
func (f *Fault) Diagnostic() diag.Diagnostic {
	where := "plugin " + f.Plugin
	if f.Part != "" {
		where += ", " + f.Part
	}
	text := Kinds[f.Kind].Meaning
	if f.Detail != "" {
		text += ": " + f.Detail
	}
	d := diag.Diagnostic{Code: Kinds[f.Kind].Code, Constraint: ConstraintID, Message: where + ": " + text, Hint: f.Hint}
	for _, n := range f.Notes {
		d.Notes = append(d.Notes, diag.Note{Message: n})
	}
	for i, line := range f.Stderr {
		if i == 0 {
			line = fmt.Sprintf("the last it wrote to standard error: %s", line)
		}
		d.Notes = append(d.Notes, diag.Note{Message: line})
	}
	return d
}

// Unwrap gives the error that carries the exit status and the diagnostic.
func (f *Fault) Unwrap() error {
	return &diag.StatusError{Status: diag.ExitInternal, Err: f.Diagnostic()}
}

// IsFault gives the plugin's fault inside an error.
func IsFault(err error) (*Fault, bool) {
	var f *Fault
	ok := errors.As(err, &f)
	return f, ok
}

// clean makes a plugin's text fit to be shown: one line without control characters, of at most n bytes.
func clean(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' || r == 0xfffd {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n-len("…")], "") + "…"
	}
	return s
}

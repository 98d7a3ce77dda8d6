// Package run runs regression tests that are written in the files they test: lines "RUN: command" anywhere in a file,
// usually in a comment, and CHECK lines for what filecheck shall find in the command's output.
//
// It is lit, LLVM's test runner, as a Go package: Suite runs a directory's tests as subtests of a Go test, Main is the
// command. Commands run in package shell, without any shell of the system, so that a test means the same everywhere.
//
// The package may import shell, the filecheck engine and the standard library. Read next: script.go for what a test
// file says, subst.go for %s and its like, exec.go for the execution of a test, bless.go for CHECK lines that are
// written by the tool.
package run

import (
	"time"

	"tensortapestry.org/tapc/tools/lit/shell"
)

// Config says how tests are found and run. The zero value runs every file that has a RUN line near its start.
type Config struct {
	Tools         map[string]shell.Tool // commands by name, before built-in ones and those in PATH
	Features      []string              // for REQUIRES, UNSUPPORTED, XFAIL and %if, beside those of the platform
	Substitutions []Substitution        // applied in order, before the built-in ones
	Suffixes      []string              // of test files; empty means any file with a RUN line
	Excludes      []string              // names of files and directories that hold no tests, beside Inputs and Output
	Env           []string              // NAME=VALUE, added to the few variables that tests inherit
	OutDir        string                // where temporary files go; tests run in the directory that mirrors theirs
	Timeout       time.Duration         // of one test; 0 is none
	Passes        int                   // passes over the substitutions until nothing changes; 0 is one pass
	Rewrite       bool                  // regenerate the CHECK lines of tests that ask for it with BLESS
	XFail         []string              // names of tests that are expected to fail
}

// Substitution replaces a text in RUN lines.
type Substitution struct{ From, To string }

// Code is the outcome of a test.
type Code string

// The outcomes.
const (
	Pass        Code = "PASS"
	FlakyPass   Code = "FLAKYPASS" // passed after a retry
	XFail       Code = "XFAIL"     // failed, as expected
	XPass       Code = "XPASS"     // passed, but was expected to fail
	Fail        Code = "FAIL"
	Unresolved  Code = "UNRESOLVED" // could not be run: the test itself is wrong
	Unsupported Code = "UNSUPPORTED"
	Timeout     Code = "TIMEOUT"
	Skipped     Code = "SKIPPED" // not started because too many others had failed
)

// Codes lists the outcomes in the order of summaries.
var Codes = []Code{Skipped, Unsupported, Pass, FlakyPass, XFail, Unresolved, Timeout, Fail, XPass}

// Bad tells whether the outcome makes the whole run fail.
func (c Code) Bad() bool {
	return c == XPass || c == Fail || c == Unresolved || c == Timeout
}

// Result is what came of a test. Output explains it: the commands, what they printed and how they ended.
type Result struct {
	Code    Code
	Output  string
	Elapsed time.Duration
	Blessed bool // the test's CHECK lines were rewritten
}

// Test is a test file. Name is its path from the suite's directory, with slashes.
type Test struct {
	Name string
	Path string
	cfg  *Config // with what the directory's own configuration adds
	dir  dirConfig
}

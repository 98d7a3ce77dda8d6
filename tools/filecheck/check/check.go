// Package check is the FileCheck engine: it tells whether a text contains what the directives of a check file ask
// for, in their order, and explains where it does not.
//
// It follows LLVM 19's FileCheck in directives, options, exit status and, to the byte, in the text that it prints, so
// that LLVM's own test suite is its specification. Run checks texts in memory; Main is the command.
//
// The package may import ere (regular expressions) and the standard library, nothing of tapc. Read next: kind.go for
// the directives, parse.go for check files, pattern.go for what follows a directive, match.go for the engine itself,
// dump.go for the annotated input.
package check

import "bytes"

// Exit statuses of Run and Main.
const (
	StatusMatch    = 0 // the input is as the check file says
	StatusMismatch = 1 // it is not
	StatusError    = 2 // usage, a bad check file, an empty input
)

// Options select what is checked and how. The zero value is FileCheck's default, with the annotated dump of the
// input after a mismatch.
type Options struct {
	Prefixes     []string // of check directives; empty means CHECK
	Comments     []string // prefixes of comments; empty means COM and RUN
	AllowUnused  bool     // a prefix need not occur in the check file
	AllowEmpty   bool     // the input may be empty
	ImplicitNots []string // patterns that may not occur between positive matches
	Defines      []string // NAME=TEXT, or #FORMAT,NAME=EXPRESSION for numbers
	Rules        Rules
	Verbosity    int  // 1 reports good matches, 2 also discarded and absent ones
	Strict       bool // refuse what looks like a mistyped directive
	Dump         Dump
	Color        bool // mark messages with ANSI colors
	defaulted    bool // Prefixes is the default
}

// Rules change how text is compared.
type Rules struct {
	FullLines   bool // positive patterns must match whole lines
	StrictSpace bool // do not merge horizontal white space
	IgnoreCase  bool // ASCII letters match in both cases
	VarScope    bool // forget variables not named $... at each LABEL
	DagOverlap  bool // matches of one DAG group may overlap (deprecated)
}

// Text is a named text.
type Text struct {
	Name string
	Data []byte
}

// Diagnostic is one message: its severity ("error", "note", "remark"), place and words. Line is 0 where there is no
// place.
type Diagnostic struct {
	Severity  string
	File      string
	Line, Col int
	Message   string
}

// Report is the outcome of a run. Text is all that the FileCheck command would print on stderr; Diagnostics are the
// messages in it.
type Report struct {
	Status      int
	Text        string
	Diagnostics []Diagnostic
}

// Run checks input against the directives in checks. It never fails otherwise than by its report.
func Run(opts Options, checks, input Text) Report {
	return run(opts, checks, func() (Text, error) { return input, nil }, "")
}

// run loads the input only once the check file has been found good, as the command does. commandLine is shown when
// the input is empty.
func run(opts Options, checks Text, load func() (Text, error), commandLine string) Report {
	var out bytes.Buffer
	p := &printer{w: &out, color: opts.Color}
	status := execute(&opts, p, checks, load, commandLine)
	return Report{Status: status, Text: out.String(), Diagnostics: p.seen}
}

func execute(opts *Options, p *printer, checks Text, load func() (Text, error), commandLine string) int {
	if !validDefines(opts.Defines, p) || !validPrefixes(opts, p) {
		return StatusError
	}
	prog, ok := parseFile(opts, p, newSource(checks.Name, canonical(checks.Data, opts.Rules.StrictSpace)))
	if !ok {
		return StatusError
	}
	text, err := load()
	if err != nil {
		p.plain("%s", err)
		return StatusError
	}
	if len(text.Data) == 0 && !opts.AllowEmpty {
		p.plain("FileCheck error: '%s' is empty.", text.Name)
		if commandLine != "" {
			p.plain("FileCheck command line:  %s", commandLine)
		}
		return StatusError
	}
	input := newSource(text.Name, canonical(text.Data, opts.Rules.StrictSpace))
	m := &matcher{opts: opts, out: p, prog: prog, input: input}
	status := StatusMatch
	if !m.match() {
		status = StatusMismatch
	}
	if opts.Dump.wanted(status) {
		p.dump(opts, checks.Name, input, m.marks)
	}
	return status
}

// canonical returns data with "\r\n" as "\n" and, unless strict, runs of horizontal white space as one space.
func canonical(data []byte, strict bool) string {
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		c := data[i]
		if c == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			continue
		}
		if strict || c != ' ' && c != '\t' {
			out = append(out, c)
			continue
		}
		out = append(out, ' ')
		for i+1 < len(data) && (data[i+1] == ' ' || data[i+1] == '\t') {
			i++
		}
	}
	return string(out)
}

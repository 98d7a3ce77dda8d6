package check

import "slices"

// kind is what a directive asks for.
type kind int

const (
	kindPlain kind = iota
	kindNext
	kindSame
	kindNot
	kindDag
	kindLabel
	kindEmpty
	kindComment
	kindEOF // added after the last directive to close a trailing group of NOTs and DAGs
	// What a directive turns out to be when it is wrong.
	kindMisspelled
	kindBadNot
	kindBadCount
)

// kinds names each kind: its suffix in check files and messages, and its short form in the input dump.
var kinds = [...]struct{ suffix, short string }{
	kindPlain:   {"", "check"},
	kindNext:    {"-NEXT", "next"},
	kindSame:    {"-SAME", "same"},
	kindNot:     {"-NOT", "not"},
	kindDag:     {"-DAG", "dag"},
	kindLabel:   {"-LABEL", "label"},
	kindEmpty:   {"-EMPTY", "empty"},
	kindComment: {"", "com"},
	kindEOF:     {"", "eof"},
}

// directive is the part of a check line before its pattern.
type directive struct {
	kind    kind
	count   int // of a COUNT; else 1
	literal bool
	prefix  string
}

// describe returns the directive as messages name it.
func (d directive) describe() string {
	if d.kind == kindEOF {
		return "implicit EOF"
	}
	text := d.prefix + kinds[d.kind].suffix
	if d.count > 1 {
		text += "-COUNT"
	}
	if d.literal {
		text += "{LITERAL}"
	}
	return text
}

// short returns the directive as the input dump labels it.
func (d directive) short() string {
	if d.count > 1 {
		return "count"
	}
	return kinds[d.kind].short
}

// suffixes lists what may follow the hyphen, in the order in which it is tried.
var suffixes = []struct {
	name string
	kind kind
}{
	{"NEXT", kindNext}, {"SAME", kindSame}, {"NOT", kindNot}, {"DAG", kindDag}, {"LABEL", kindLabel},
	{"EMPTY", kindEmpty},
}

// badNots are combinations with NOT that mean nothing.
var badNots = []string{
	"DAG-NOT:", "NOT-DAG:", "NEXT-NOT:", "NOT-NEXT:", "SAME-NOT:", "NOT-SAME:", "EMPTY-NOT:", "NOT-EMPTY:",
}

// scanDirective reads the directive at the start of text, which starts with prefix. It returns what follows; found is
// false where this is no directive.
func scanDirective(opts *Options, text span, prefix string) (d directive, rest span, found bool) {
	d = directive{kind: kindPlain, count: 1, prefix: prefix}
	rest = text.from(len(prefix))
	if rest.empty() {
		return d, rest, false
	}
	if slices.Contains(opts.Comments, prefix) {
		d.kind = kindComment
		rest, found = rest.cut(":")
		return d, rest, found
	}
	if rest.has(":") || rest.has("{") {
		rest, found = scanModifiers(&d, rest)
		return d, rest, found
	}
	after, misspelled := rest.cut("_")
	if !misspelled {
		var ok bool
		if after, ok = rest.cut("-"); !ok {
			return d, rest, false
		}
	}
	rest, found = scanSuffix(&d, after)
	if found && misspelled {
		d.kind = kindMisspelled
	}
	return d, rest, found
}

func scanSuffix(d *directive, rest span) (span, bool) {
	if after, ok := rest.cut("COUNT-"); ok {
		return scanCount(d, after)
	}
	for _, bad := range badNots {
		if rest.has(bad) {
			d.kind = kindBadNot
			return rest, true
		}
	}
	for _, s := range suffixes {
		if after, ok := rest.cut(s.name); ok {
			d.kind = s.kind
			return scanModifiers(d, after)
		}
	}
	return rest, false
}

// scanCount reads the number of a COUNT, from 1 to 2^31-1.
func scanCount(d *directive, rest span) (span, bool) {
	const most = 1<<31 - 1
	n := 0
	digits := 0
	for text := rest.String(); digits < len(text) && '0' <= text[digits] && text[digits] <= '9'; digits++ {
		n = min(10*n+int(text[digits]-'0'), most+1)
	}
	rest = rest.from(digits)
	if n < 1 || n > most || !rest.has(":") && !rest.has("{") {
		d.kind = kindBadCount
		return rest, true
	}
	d.count = n
	return scanModifiers(d, rest)
}

// scanModifiers reads an optional {LITERAL} and the colon.
func scanModifiers(d *directive, rest span) (span, bool) {
	if after, ok := rest.cut(":"); ok {
		return after, true
	}
	rest, ok := rest.cut("{")
	if !ok {
		return rest, false
	}
	for {
		if rest, ok = skipSpace(rest).cut("LITERAL"); !ok {
			return rest, false
		}
		d.literal = true
		if rest, ok = skipSpace(rest).cut(","); !ok {
			return rest.cut("}:")
		}
	}
}

// skipSpace skips white space of any kind.
func skipSpace(s span) span {
	text := s.String()
	n := 0
	for n < len(text) && (text[n] == ' ' || '\t' <= text[n] && text[n] <= '\r') {
		n++
	}
	return s.from(n)
}

package check

import (
	"slices"
	"sort"
	"strings"
)

// program is a parsed check file.
type program struct {
	src   *source
	steps []*step
	vars  *scope
}

// step is a positive directive and the DAG and NOT directives before it.
type step struct {
	*pattern
	before []*pattern
}

// validPrefixes checks the prefixes of opts and fills in the defaults.
func validPrefixes(opts *Options, p *printer) bool {
	used := map[string]bool{}
	defaults := func(given []string, names ...string) []string {
		if len(given) > 0 {
			return given
		}
		for _, name := range names {
			used[name] = true
		}
		return names
	}
	checks := defaults(opts.Prefixes, "CHECK")
	comments := defaults(opts.Comments, "COM", "RUN")
	if !validNames(p, "check", opts.Prefixes, used) || !validNames(p, "comment", opts.Comments, used) {
		return false
	}
	opts.defaulted = len(opts.Prefixes) == 0
	opts.Prefixes, opts.Comments = checks, comments
	return true
}

func validNames(p *printer, what string, names []string, used map[string]bool) bool {
	for _, name := range names {
		switch {
		case name == "":
			p.plain("error: supplied %s prefix must not be the empty string", what)
		case strings.ContainsFunc(name, func(r rune) bool { return r > 0x7f || !wordByte(byte(r)) }):
			p.plain("error: supplied %s prefix must start with a letter and contain only alphanumeric characters, "+
				"hyphens, and underscores: '%s'", what, name)
		case used[name]:
			p.plain("error: supplied %s prefix must be unique among check and comment prefixes: '%s'", what, name)
		default:
			used[name] = true
			continue
		}
		return false
	}
	return true
}

// wordByte tells whether c can be part of a word that looks like a directive.
func wordByte(c byte) bool { return nameByte(c) || c == '-' }

// fileParser reads a check file.
type fileParser struct {
	opts    *Options
	out     *printer
	prog    *program
	finder  finder
	pending []*pattern // DAGs and NOTs that wait for the next positive directive
	nots    []*pattern // from Options.ImplicitNots
	used    map[string]bool
	marked  map[int]bool // lines with a directive
	end     span         // where the search for directives ended
}

// parseFile reads the directives of src. It reports what is wrong and returns false.
func parseFile(opts *Options, out *printer, src *source) (*program, bool) {
	f := &fileParser{
		opts: opts, out: out, prog: &program{src: src, vars: newScope()},
		finder: newFinder(src.text, opts), used: map[string]bool{}, marked: map[int]bool{},
	}
	if !define(opts.Defines, f.prog.vars, out) || !f.implicitNots() {
		return nil, false
	}
	f.pending = slices.Clone(f.nots)
	if !f.directives(src.all()) {
		return nil, false
	}
	if opts.Strict && !f.strict() {
		return nil, false
	}
	if !f.prefixesUsed() {
		return nil, false
	}
	if len(f.pending) > 0 {
		end := &pattern{directive: directive{kind: kindEOF, prefix: opts.Prefixes[0]}, at: f.end}
		f.prog.steps = append(f.prog.steps, &step{end, f.pending})
	}
	return f.prog, true
}

func (f *fileParser) implicitNots() bool {
	for i, text := range f.opts.ImplicitNots {
		const before = "-implicit-check-not='"
		src := newSource("command line", before+text+"'")
		d := directive{kind: kindNot, count: 1, prefix: "IMPLICIT-CHECK"}
		p, bad := parsePattern(f.opts, f.prog.vars, d, src.all().slice(len(before), len(before)+len(text)), 0)
		if f.failed(bad) {
			return false
		}
		p.implicit = i + 1
		f.nots = append(f.nots, p)
	}
	return true
}

// failed reports problems.
func (f *fileParser) failed(bad []*problem) bool {
	for _, b := range bad {
		f.out.problem(b)
	}
	return len(bad) > 0
}

func (f *fileParser) fail(at span, format string, args ...any) bool {
	return !f.failed([]*problem{problemf(at, format, args...)})
}

// directives reads the directives in text.
func (f *fileParser) directives(text span) bool {
	for {
		found, d, rest, ok := f.next(text)
		if !ok {
			f.end = found.to(0)
			return true
		}
		if d.kind != kindComment {
			f.used[d.prefix] = true
		}
		line, _ := text.src.position(found.lo)
		f.marked[line] = true
		switch d.kind {
		case kindMisspelled:
			return f.fail(found, "misspelled directive '%s'", found.to(rest.lo-found.lo))
		case kindBadNot:
			return f.fail(rest, "unsupported -NOT combo on prefix '%s'", d.prefix)
		case kindBadCount:
			return f.fail(rest, "invalid count in -COUNT specification on prefix '%s'", d.prefix)
		}
		if !f.opts.Rules.StrictSpace || !f.opts.Rules.FullLines {
			rest = rest.trimLeft()
		}
		end := strings.IndexAny(rest.String(), "\n\r")
		if end < 0 {
			end = rest.len()
		}
		if d.kind != kindComment && !f.add(found, d, rest.to(end), line) {
			return false
		}
		text = rest.from(end)
	}
}

// next finds the next directive in text: where it starts, what it is and the text behind it.
func (f *fileParser) next(text span) (found span, d directive, rest span, ok bool) {
	for !text.empty() {
		at, prefix := f.finder.find(text.lo)
		if prefix == "" {
			break
		}
		inWord := at > text.lo && wordByte(text.src.text[at-1])
		text = text.from(at - text.lo)
		if !inWord {
			if d, rest, ok = scanDirective(f.opts, text, prefix); ok {
				return text, d, rest, true
			}
		}
		n := len(prefix)
		for n < text.len() && wordByte(text.String()[n]) {
			n++
		}
		text = text.from(n)
	}
	return text, d, rest, false
}

// add parses a directive's pattern and files it.
func (f *fileParser) add(found span, d directive, text span, line int) bool {
	p, bad := parsePattern(f.opts, f.prog.vars, d, text, line)
	if f.failed(bad) {
		return false
	}
	switch d.kind {
	case kindLabel:
		if p.usesVariables() {
			return f.fail(found, "found '%s-LABEL:' with variable definition or use", d.prefix)
		}
	case kindNext, kindSame, kindEmpty:
		if len(f.prog.steps) == 0 {
			return f.fail(found, "found '%s%s' without previous '%s: line", d.prefix, kinds[d.kind].suffix, d.prefix)
		}
	case kindDag, kindNot:
		f.pending = append(f.pending, p)
		return true
	}
	f.prog.steps = append(f.prog.steps, &step{p, f.pending})
	f.pending = slices.Clone(f.nots)
	return true
}

// prefixesUsed reports prefixes that do not occur. Implicit patterns alone are enough to check.
func (f *fileParser) prefixesUsed() bool {
	var missing []string
	for _, name := range sortedUnique(f.opts.Prefixes) {
		if !f.used[name] {
			missing = append(missing, "'"+name+":'")
		}
	}
	none := len(missing) == len(f.opts.Prefixes)
	enough := len(missing) == 0 || f.opts.AllowUnused && !none
	if enough || f.opts.defaulted && len(f.nots) > 0 {
		return true
	}
	word := "prefix"
	if len(missing) > 1 {
		word = "prefixes"
	}
	f.out.plain("error: no check strings found with %s %s", word, strings.Join(missing, ", "))
	return false
}

// finder finds the occurrences of prefixes in a text from left to right.
type finder struct {
	text  string
	names []string // longest first
	at    []int    // next known occurrence of each; len(text) if none is left
}

func newFinder(text string, opts *Options) finder {
	f := finder{text: text, names: slices.Concat(opts.Prefixes, opts.Comments)}
	sort.SliceStable(f.names, func(i, j int) bool { return len(f.names[i]) > len(f.names[j]) })
	f.at = make([]int, len(f.names))
	for i := range f.at {
		f.at[i] = -1
	}
	return f
}

// find returns the first occurrence at or after from, of the longest prefix that stands there, or "".
func (f *finder) find(from int) (at int, name string) {
	at = len(f.text)
	for i, n := range f.names {
		if f.at[i] < from {
			f.at[i] = len(f.text)
			if k := strings.Index(f.text[from:], n); k >= 0 {
				f.at[i] = from + k
			}
		}
		if f.at[i] < at {
			at, name = f.at[i], n
		}
	}
	return at, name
}

package pipeline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir/diag"
)

// SourceName is the name of a pipeline's text in diagnostics.
const SourceName = "--passes"

// The bounds of a pipeline.
const (
	maxNesting = 100
	maxRounds  = 10 // default of a group's max
)

// Pipeline is a list of steps.
type Pipeline struct{ Steps []Step }

// Step is a pass with its settings or, if Pass is nil, a group of steps that runs until it changes nothing, at most Max times.
type Step struct {
	Pass     *Pass
	Settings []Setting
	Group    []Step
	Max      int
	At       diag.Location // in the pipeline's text
}

// String writes the pipeline so that it reads back the same.
func (p Pipeline) String() string { return stepsText(p.Steps) }

// Names lists the passes, those of groups once.
func (p Pipeline) Names() []string {
	var names []string
	for i := range p.Steps {
		if p.Steps[i].Pass != nil {
			names = append(names, p.Steps[i].Pass.Name)
		}
		names = append(names, Pipeline{Steps: p.Steps[i].Group}.Names()...)
	}
	return names
}

// Paths gives the values of all options of type Path, in order: the files that the passes may read.
func (p Pipeline) Paths() []string {
	var paths []string
	eachPass(p.Steps, func(s *Step) {
		for _, x := range s.Settings {
			if o := findOption(s.Pass.Options, x.Name); o != nil && o.Type == Path {
				paths = append(paths, x.Value)
			}
		}
	})
	return paths
}

// Values gives what settings say for options of a name, of any pass, in order.
func (p Pipeline) Values(option string) []string {
	var values []string
	eachPass(p.Steps, func(s *Step) {
		for _, x := range s.Settings {
			if x.Name == option {
				values = append(values, x.Value)
			}
		}
	})
	return values
}

// Renamed gives a pipeline's text with other names for the files that the passes may read; a text without any stays as it is.
func (t *Table) Renamed(text string, name func(path string) (string, error)) (string, error) {
	p, err := ParsePipeline(text, t)
	if err != nil || len(p.Paths()) == 0 {
		return text, err
	}
	eachPass(p.Steps, func(s *Step) {
		for i, x := range s.Settings {
			if o := findOption(s.Pass.Options, x.Name); err == nil && o != nil && o.Type == Path {
				s.Settings[i].Value, err = name(x.Value)
			}
		}
	})
	return p.String(), err
}

func stepsText(steps []Step) string {
	parts := make([]string, len(steps))
	for i := range steps {
		parts[i] = steps[i].String()
	}
	return strings.Join(parts, ",")
}

// String writes the step as it stands in a pipeline.
func (s *Step) String() string {
	if s.Pass == nil {
		return fmt.Sprintf("%s(%s){max=%d}", groupName, stepsText(s.Group), s.Max)
	}
	if len(s.Settings) == 0 {
		return s.Pass.Name
	}
	parts := make([]string, len(s.Settings))
	for i, x := range s.Settings {
		parts[i] = x.String()
	}
	return s.Pass.Name + "{" + strings.Join(parts, ",") + "}"
}

// ParsePipeline reads a pipeline: names of passes separated by commas, each with settings in braces, such as
// "simplify{fuel=10},fix(cse,dce){max=4}". A setting without a value means true. Values with spaces, commas, parentheses or
// braces stand in double quotes. A blank text is the pipeline that does nothing. An error is one of usage, with a diagnostic at its column.
func ParsePipeline(text string, t *Table) (Pipeline, error) {
	if strings.TrimSpace(text) == "" {
		return Pipeline{}, nil
	}
	p := &parser{text: text, table: t}
	steps := p.steps(0)
	if p.err == nil && p.pos < len(text) {
		p.fail(p.pos, "expected a comma or the end, found %q", p.rest())
	}
	if p.err == nil {
		p.checkOrder(steps)
	}
	if p.err != nil {
		return Pipeline{}, &diag.StatusError{Status: diag.ExitUsage, Err: *p.err}
	}
	return Pipeline{steps}, nil
}

type parser struct {
	text  string
	pos   int
	table *Table
	err   *diag.Diagnostic
}

// fail keeps the first error.
func (p *parser) fail(at int, format string, args ...any) {
	p.failAt(placeIn(p.text, at), format, args...)
}

// notKnown is fail for a name that is not known.
func (p *parser) notKnown(at int, format string, args ...any) {
	if p.err == nil {
		p.fail(at, format, args...)
		p.err.Code = diag.CodeUnknown
	}
}

func (p *parser) failAt(at diag.Location, format string, args ...any) {
	if p.err == nil {
		d := diag.Errorf("", "", at, format, args...)
		p.err = &d
	}
}

func placeIn(text string, at int) diag.Location {
	before := text[:at]
	return diag.Location{File: SourceName, Line: strings.Count(before, "\n") + 1, Column: at - strings.LastIndexByte(before, '\n')}
}

// rest shows the text at the present place.
func (p *parser) rest() string {
	r := p.text[p.pos:]
	if len(r) > 20 {
		return strings.ToValidUTF8(r[:20], "") + "…"
	}
	return r
}

func (p *parser) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// accept takes a character if it is next, and white space around it.
func (p *parser) accept(c byte) bool {
	p.space()
	if p.pos >= len(p.text) || p.text[p.pos] != c {
		return false
	}
	p.pos++
	p.space()
	return true
}

func (p *parser) expect(c byte, where string) {
	if p.err == nil && !p.accept(c) {
		p.fail(p.pos, "expected %q %s, found %q", c, where, p.rest())
	}
}

// name takes a word of letters, digits and -.
func (p *parser) name(what string) (string, int) {
	p.space()
	at := p.pos
	for p.pos < len(p.text) && (isAlnum(p.text[p.pos]) || p.text[p.pos] == '-' || p.text[p.pos] == '_') {
		p.pos++
	}
	if at == p.pos {
		p.fail(at, "expected %s, found %q", what, p.rest())
	}
	return p.text[at:p.pos], at
}

func isAlnum(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

func (p *parser) steps(depth int) []Step {
	var out []Step
	for p.err == nil {
		out = append(out, p.step(depth))
		if !p.accept(',') {
			break
		}
	}
	return out
}

func (p *parser) step(depth int) Step {
	name, at := p.name("the name of a pass")
	s := Step{At: placeIn(p.text, at)}
	if p.err != nil {
		return s
	}
	if name == groupName {
		p.group(&s, at, depth)
		return s
	}
	if s.Pass = p.table.Find(name); s.Pass == nil {
		p.notKnown(at, "there is no pass %q%s", name, didYouMean(name, append(p.table.Names(), groupName)))
		return s
	}
	s.Settings = p.settings(s.Pass.Name, s.Pass.Options)
	for _, o := range s.Pass.Options {
		if o.Required && !slices.ContainsFunc(s.Settings, func(x Setting) bool { return x.Name == o.Name }) {
			p.fail(at, "pass %s needs its option %s: %s", name, o.Name, o.Doc)
		}
	}
	return s
}

func (p *parser) group(s *Step, at, depth int) {
	if depth >= maxNesting {
		p.fail(at, "groups are nested more than %d deep", maxNesting)
		return
	}
	p.expect('(', "after "+groupName)
	if p.err != nil {
		return
	}
	s.Group = p.steps(depth + 1)
	p.expect(')', "after the passes of the group")
	s.Max = maxRounds
	for _, x := range p.settings(groupName, []Option{{Name: "max", Type: Int}}) {
		n, _ := strconv.Atoi(x.Value) // it is an integer already
		if s.Max = n; n < 1 {
			p.fail(at, "max must be 1 or more, found %s", x.Value)
		}
	}
}

// settings reads what stands in braces, if there are any.
func (p *parser) settings(owner string, options []Option) []Setting {
	if p.err != nil || !p.accept('{') || p.accept('}') {
		return nil
	}
	var out []Setting
	for p.err == nil {
		name, at := p.name("the name of an option")
		if p.err != nil {
			return nil
		}
		v := "true"
		valueAt := at
		if p.accept('=') {
			valueAt = p.pos
			v = p.value()
		}
		if p.err == nil {
			out = append(out, p.setting(owner, options, out, Setting{name, v}, at, valueAt))
		}
		if !p.accept(',') {
			break
		}
	}
	p.expect('}', "after the options of "+owner)
	return out
}

// setting checks one setting.
func (p *parser) setting(owner string, options []Option, before []Setting, s Setting, at, valueAt int) Setting {
	i := slices.IndexFunc(options, func(o Option) bool { return o.Name == s.Name })
	switch {
	case i < 0:
		var names []string
		for _, o := range options {
			names = append(names, o.Name)
		}
		p.notKnown(at, "%s has no option %q%s", owner, s.Name, didYouMean(s.Name, names))
	case !options[i].Many && slices.ContainsFunc(before, func(b Setting) bool { return b.Name == s.Name }):
		p.fail(at, "option %s is there twice", s.Name)
	default:
		if _, err := options[i].parse(s.Value); err != nil {
			p.fail(valueAt, "%v", err)
		}
	}
	return s
}

// value takes a value, quoted or plain.
func (p *parser) value() string {
	rest := p.text[p.pos:]
	if strings.HasPrefix(rest, `"`) {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			p.fail(p.pos, "the quotes of a value do not end, or an escape is unknown")
			return ""
		}
		p.pos += len(quoted)
		text, _ := strconv.Unquote(quoted) // QuotedPrefix has checked it
		return text
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return !isPlain(r) })
	if end < 0 {
		end = len(rest)
	}
	if end == 0 {
		p.fail(p.pos, "expected a value, found %q", p.rest())
	}
	p.pos += end
	return rest[:end]
}

// didYouMean gives the end of a message about an unknown name.
func didYouMean(word string, names []string) string {
	if near, ok := diag.Nearest(word, names); ok {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(names) == 0 {
		return "; it has none"
	}
	names = slices.Sorted(slices.Values(names))
	return "; expected one of " + strings.Join(names, ", ")
}

// checkOrder checks the order constraints between the first uses of passes.
func (p *parser) checkOrder(steps []Step) {
	var order []*Step
	eachPass(steps, func(s *Step) {
		if !slices.ContainsFunc(order, func(o *Step) bool { return o.Pass == s.Pass }) {
			order = append(order, s)
		}
	})
	for i, s := range order {
		for _, c := range s.Pass.After {
			if slices.ContainsFunc(order[i+1:], func(o *Step) bool { return o.Pass.Name == c.Name }) {
				p.failAt(s.At, "%s must come after %s: %s", s.Pass.Name, c.Name, c.Reason)
			}
		}
	}
}

func eachPass(steps []Step, visit func(*Step)) {
	for i := range steps {
		if steps[i].Pass != nil {
			visit(&steps[i])
		}
		eachPass(steps[i].Group, visit)
	}
}

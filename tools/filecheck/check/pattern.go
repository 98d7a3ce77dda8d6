package check

import (
	"strings"

	"tensortapestry.org/tapc/tools/filecheck/ere"
)

// pattern is a directive and what it looks for: a fixed text, or a regular expression with holes for the values of
// variables.
type pattern struct {
	directive
	at       span // where the pattern's text starts
	line     int  // of the directive; 0 for a pattern from the command line
	implicit int  // which of Options.ImplicitNots this is, from 1; 0 for others
	fixed    string
	parts    []part
	groups   int            // groups opened so far
	strings  map[string]int // string variables it defines, to their groups
	numbers  map[*number]int
	fold     bool
	compiled *ere.Regexp // of a regular expression without holes
}

// part is a piece of regular expression, or a hole.
type part struct {
	text string
	hole *hole
}

// hole is a use of a variable or an expression; from is its text in the check file.
type hole struct {
	from  span
	block *numBlock // nil for a string variable
}

// parsePattern reads the text after a directive.
func parsePattern(opts *Options, vars *scope, d directive, text span, line int) (*pattern, []*problem) {
	p := &pattern{
		directive: d, at: text, line: line, fold: opts.Rules.IgnoreCase,
		strings: map[string]int{}, numbers: map[*number]int{},
	}
	full := opts.Rules.FullLines && d.kind != kindNot
	if !opts.Rules.StrictSpace || !opts.Rules.FullLines {
		text = text.trimRight()
	}
	switch {
	case text.empty() && d.kind != kindEmpty:
		return nil, []*problem{problemf(text, "found empty check string with prefix '%s:'", d.prefix)}
	case !text.empty() && d.kind == kindEmpty:
		return nil, []*problem{problemf(text,
			"found non-empty check string for empty check with prefix '%s:'", d.prefix)}
	case d.kind == kindEmpty:
		p.add("(\n$)")
	case d.literal, !full && text.index("{{") < 0 && text.index("[[") < 0:
		p.fixed = text.String()
	default:
		b := &patternBuilder{pattern: p, vars: vars}
		if bad := b.build(text, full, opts.Rules.StrictSpace); bad != nil {
			return nil, bad
		}
	}
	return p, nil
}

func (p *pattern) add(text string) { p.parts = append(p.parts, part{text: text}) }

// usesVariables tells whether the pattern uses a variable or defines one other than a number: LLVM lets labels define
// numbers.
func (p *pattern) usesVariables() bool {
	for _, part := range p.parts {
		if part.hole != nil {
			return true
		}
	}
	return len(p.strings) > 0
}

// example returns the text that near misses are measured against.
func (p *pattern) example() string {
	if p.fixed != "" {
		return p.fixed
	}
	var out strings.Builder
	for _, part := range p.parts {
		out.WriteString(part.text)
	}
	return out.String()
}

// patternBuilder translates a pattern's text to parts.
type patternBuilder struct {
	*pattern
	vars *scope
}

func (b *patternBuilder) build(text span, full, strict bool) []*problem {
	before, after := "", ""
	if full {
		before, after = "^ *", " *$"
		if strict {
			before, after = "^", "$"
		}
		b.add(before)
	}
	for !text.empty() {
		var bad []*problem
		switch {
		case text.has("{{"):
			text, bad = b.regexBlock(text)
		case text.has("[[") && !text.has("[[["):
			text, bad = b.variableBlock(text)
		default:
			text = b.fixedText(text)
		}
		if bad != nil {
			return bad
		}
	}
	b.add(after)
	return nil
}

// fixedText adds text up to the next block.
func (b *patternBuilder) fixedText(text span) span {
	end := text.len()
	for _, open := range []string{"{{", "[["} {
		if i := text.from(1).index(open); i >= 0 {
			end = min(end, i+1)
		}
	}
	b.add(ere.Escape(text.to(end).String()))
	return text.from(end)
}

// regexBlock adds {{regex}}, in a group of its own where an alternative could reach beyond it.
func (b *patternBuilder) regexBlock(text span) (span, []*problem) {
	end := text.index("}}")
	if end < 0 {
		return text, []*problem{problemf(text, "found start of regex string with no end '}}'")}
	}
	grouped := text.index("|") >= 0
	if grouped {
		b.add("(")
		b.groups++
	}
	if bad := b.regex(text.slice(2, end)); bad != nil {
		return text, []*problem{bad}
	}
	if grouped {
		b.add(")")
	}
	return text.from(end + 2), nil
}

// regex adds a regular expression that must be complete in itself.
func (b *patternBuilder) regex(expr span) *problem {
	re, err := ere.Compile(expr.String(), 0)
	if err != nil {
		return problemf(expr, "invalid regex: %s", err)
	}
	b.add(expr.String())
	b.groups += re.Groups()
	return nil
}

// variableBlock adds [[...]].
func (b *patternBuilder) variableBlock(text span) (span, []*problem) {
	inner := text.from(2)
	end, bad := blockEnd(inner)
	if bad != nil {
		return text, []*problem{bad}
	}
	if end < 0 {
		return text, []*problem{problemf(text, "Invalid substitution block, no ]] found")}
	}
	body, rest := inner.to(end), inner.from(end+2)
	if expr, ok := body.cut("#"); ok {
		return rest, b.numericBlock(expr, false)
	}
	return rest, b.stringBlock(body)
}

// blockEnd returns the offset of the "]]" that closes a block, or -1. Brackets inside must balance; a backslash hides
// the next byte.
func blockEnd(s span) (int, *problem) {
	text := s.String()
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			depth++
		case ']':
			if depth == 0 && i+1 < len(text) && text[i+1] == ']' {
				return i, nil
			}
			if depth == 0 {
				return -1, problemf(s.at(i), `missing closing "]" for regex variable`)
			}
			depth--
		}
	}
	return -1, nil
}

// stringBlock adds [[name]], [[name:regex]] or the legacy [[@LINE+n]].
func (b *patternBuilder) stringBlock(body span) []*problem {
	colon := body.index(":")
	head := body
	if colon >= 0 {
		head = body.to(colon)
	}
	if i := strings.IndexAny(head.String(), blank); i >= 0 {
		return []*problem{problemf(body.from(i), "unexpected whitespace")}
	}
	name, rest, bad := parseName(body)
	if bad != nil {
		return spaced(bad)
	}
	pseudo := name.has("@")
	if colon < 0 {
		if pseudo {
			return b.numericBlock(body, true)
		}
		return b.useString(name, rest)
	}
	expr, ok := rest.cut(":")
	if pseudo || !ok {
		return []*problem{problemf(name, "invalid name in string variable definition")}
	}
	return b.defineString(name, expr)
}

func (b *patternBuilder) useString(name, rest span) []*problem {
	if !rest.empty() {
		return []*problem{problemf(name, "invalid name in string variable use")}
	}
	group, here := b.strings[name.String()]
	if !here {
		b.parts = append(b.parts, part{hole: &hole{from: name}})
		return nil
	}
	if group > 9 {
		return []*problem{problemf(name, "Can't back-reference more than 9 variables")}
	}
	b.add("\\" + string(rune('0'+group)))
	return nil
}

func (b *patternBuilder) defineString(name, expr span) []*problem {
	id := name.String()
	if b.vars.numbers[id] != nil {
		return []*problem{problemf(name, "numeric variable with name '%s' already exists", id)}
	}
	b.groups++
	b.strings[id] = b.groups
	b.vars.defined[id] = true
	b.add("(")
	if !expr.empty() {
		if bad := b.regex(expr); bad != nil {
			return []*problem{bad}
		}
	}
	b.add(")")
	return nil
}

// numericBlock adds [[#...]].
func (b *patternBuilder) numericBlock(expr span, legacy bool) []*problem {
	block, bad := parseNumBlock(b.vars, b.line, legacy, expr)
	if bad != nil {
		return spaced(bad...)
	}
	if block.def != nil {
		b.groups++
		b.numbers[block.def] = b.groups
		b.vars.numbers[block.def.name] = block.def
		b.add("(")
	}
	if block.expr != nil {
		b.parts = append(b.parts, part{hole: &hole{from: expr, block: &block}})
	} else if bad := b.wildcard(block.format, expr); bad != nil {
		return []*problem{bad}
	}
	if block.def != nil {
		b.add(")")
	}
	return nil
}

func (b *patternBuilder) wildcard(f format, at span) *problem {
	re, err := ere.Compile(f.wildcard(), 0)
	if err != nil {
		return problemf(at, "invalid regex: %s", err)
	}
	b.add(f.wildcard())
	b.groups += re.Groups()
	return nil
}

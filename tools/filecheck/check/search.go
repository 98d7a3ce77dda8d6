package check

import (
	"errors"
	"strings"

	"tensortapestry.org/tapc/tools/filecheck/ere"
)

// hit is where a pattern matched, as offsets into the region searched.
type hit struct{ pos, end int }

// errNone reports that a pattern does not occur.
var errNone = errors.New("not found")

// search looks for p in region and remembers what it captures. The error is errNone, or problems with the pattern
// itself, which are returned beside it.
func (p *pattern) search(region span, vars *scope) (hit, []*problem, error) {
	text := region.String()
	switch {
	case p.kind == kindEOF:
		return hit{len(text), len(text)}, nil, nil
	case p.fixed != "":
		i := p.indexFixed(text)
		if i < 0 {
			return hit{}, nil, errNone
		}
		return hit{i, i + len(p.fixed)}, nil, nil
	}
	re, bad := p.regexp(vars)
	if bad != nil {
		return hit{}, bad, errNone
	}
	if re == nil {
		return hit{}, nil, errNone
	}
	caps, err := re.Find(text)
	if err != nil {
		return hit{}, []*problem{problemf(p.at, "%s", err)}, errNone
	}
	if caps == nil {
		return hit{}, nil, errNone
	}
	p.capture(region, caps, vars)
	found := hit{caps[0], caps[1]}
	if p.kind == kindEmpty {
		found.pos++ // the pattern takes the line end before the empty line, which is not part of it
	}
	return found, nil, nil
}

func (p *pattern) indexFixed(text string) int {
	if p.fold {
		return strings.Index(lowerASCII(text), lowerASCII(p.fixed))
	}
	return strings.Index(text, p.fixed)
}

// lowerASCII lowers ASCII letters only, so that offsets stay the same.
func lowerASCII(s string) string {
	out := []byte(s)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return string(out)
}

// regexp fills the holes and compiles the result. It returns nil where the pieces do not make a valid whole, which
// then matches nothing.
func (p *pattern) regexp(vars *scope) (*ere.Regexp, []*problem) {
	if p.compiled != nil {
		return p.compiled, nil
	}
	if p.line != 0 {
		vars.line.value = intValue(p.line)
	}
	var text strings.Builder
	var bad []*problem
	holes := false
	for _, part := range p.parts {
		text.WriteString(part.text)
		if part.hole != nil {
			holes = true
			value, failed := part.hole.value(vars)
			text.WriteString(value)
			bad = append(bad, part.hole.problems(failed)...)
		}
	}
	if bad != nil {
		return nil, bad
	}
	flags := ere.Newline
	if p.fold {
		flags |= ere.FoldCase
	}
	re, err := ere.Compile(text.String(), flags)
	if err != nil {
		return nil, nil
	}
	if !holes {
		p.compiled = re
	}
	return re, nil
}

// value returns the regular expression for what fills the hole.
func (h *hole) value(vars *scope) (string, []failure) {
	if h.block == nil {
		v, ok := vars.text[h.from.String()]
		if !ok {
			return "", []failure{{undefined: true, at: h.from}}
		}
		return ere.Escape(v.String()), nil
	}
	v, failed := h.block.expr.eval()
	if failed != nil {
		return "", failed
	}
	text, ok := h.block.format.write(v)
	if !ok {
		return "", []failure{{at: h.from}}
	}
	return text, nil
}

func (h *hole) problems(failed []failure) []*problem {
	var bad []*problem
	for _, f := range failed {
		if f.undefined {
			bad = append(bad, problemf(f.at, "undefined variable: %s", f.at))
			continue
		}
		bad = append(bad, problemf(h.from, "unable to substitute variable or numeric expression: overflow error"))
	}
	return bad
}

// capture stores the variables that a match defines.
func (p *pattern) capture(region span, caps []int, vars *scope) {
	group := func(n int) span {
		if caps[2*n] < 0 {
			return region.at(0)
		}
		return region.slice(caps[2*n], caps[2*n+1])
	}
	for name, n := range p.strings {
		vars.text[name] = group(n)
	}
	for variable, n := range p.numbers {
		variable.text = group(n)
		variable.value = variable.format.read(variable.text.String())
	}
}

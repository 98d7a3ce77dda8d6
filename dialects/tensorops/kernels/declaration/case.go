package declaration

import (
	"fmt"
	"strings"
)

// Case is an example in a declaration: what is given (operands, attributes, type variables) and the outputs wanted.
type Case struct {
	Text        string
	Given, Want []CaseItem
	Line        int
}

// CaseItem is a name with its values; a variadic operand has several.
type CaseItem struct {
	Name   string
	Values []Literal
}

// Literal is a number or word, or a list.
type Literal struct {
	Word string
	List []Literal
	Many bool // it is a list
}

// maxLiteral bounds the elements of a case.
const maxLiteral = 4096

// parseCase reads "x = [1, -2]; slope = 2 -> result = [1, -4]". Selections of a variadic operand stand between bars.
func parseCase(s string) (Case, error) {
	c := Case{Text: s}
	arrow := strings.LastIndex(s, "->") // an equation among the given things has one too
	if arrow < 0 || strings.TrimSpace(s[arrow+2:]) == "" {
		return c, fmt.Errorf("expected \"GIVEN -> OUTPUTS\", found %q", s)
	}
	var err error
	if c.Given, err = parseItems(s[:arrow]); err == nil {
		c.Want, err = parseItems(s[arrow+2:])
	}
	return c, err
}

func parseItems(s string) ([]CaseItem, error) {
	var items []CaseItem
	for _, part := range strings.Split(s, ";") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, text, ok := strings.Cut(part, "=")
		x := CaseItem{Name: strings.TrimSpace(name)}
		if !ok || !isName(x.Name) {
			return nil, fmt.Errorf("expected NAME = VALUE, found %q", strings.TrimSpace(part))
		}
		for _, one := range strings.Split(text, "|") {
			p := literalParser{text: one}
			v, err := p.value(0)
			if err == nil && strings.TrimSpace(p.text) != "" {
				err = fmt.Errorf("expected the end, found %q", strings.TrimSpace(p.text))
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", x.Name, err)
			}
			x.Values = append(x.Values, v)
		}
		items = append(items, x)
	}
	return items, nil
}

type literalParser struct {
	text  string
	count int
}

func (p *literalParser) value(depth int) (Literal, error) {
	p.text = strings.TrimLeft(p.text, " \t")
	if p.count++; p.count > maxLiteral || depth > 16 {
		return Literal{}, fmt.Errorf("expected at most %d elements in 16 dimensions", maxLiteral)
	}
	if quoted, ok := strings.CutPrefix(p.text, "\""); ok {
		word, rest, closed := strings.Cut(quoted, "\"")
		if !closed {
			return Literal{}, fmt.Errorf("expected a closing quote, found %q", quoted)
		}
		p.text = rest
		return Literal{Word: word}, nil
	}
	rest, list := strings.CutPrefix(p.text, "[")
	if !list {
		n := strings.IndexAny(p.text, ",] \t")
		if n < 0 {
			n = len(p.text)
		}
		word := p.text[:n]
		p.text = p.text[n:]
		if word == "" {
			return Literal{}, fmt.Errorf("expected a value, found %q", p.text)
		}
		return Literal{Word: word}, nil
	}
	p.text = strings.TrimLeft(rest, " \t")
	v := Literal{Many: true}
	for first := true; ; first = false {
		if end, ok := strings.CutPrefix(p.text, "]"); ok && (first || len(v.List) > 0) {
			p.text = end
			return v, nil
		}
		if !first {
			more, ok := strings.CutPrefix(p.text, ",")
			if !ok {
				return v, fmt.Errorf("expected \",\" or \"]\", found %q", p.text)
			}
			p.text = more
		}
		x, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		v.List = append(v.List, x)
		p.text = strings.TrimLeft(p.text, " \t")
	}
}

package run

import (
	"fmt"
	"regexp"
	"strings"
)

// evaluate computes a boolean expression over features: names, names with {{regex}} parts (true if a feature matches
// as a whole), "true", "false", "!", "&&", "||" and parentheses.
func evaluate(expr string, features map[string]bool) (bool, error) {
	p := &boolParser{text: expr, features: features}
	p.next()
	v, err := p.or()
	if err == nil && p.token != "" {
		err = p.expected("end of expression")
	}
	if err != nil {
		return false, fmt.Errorf("%w in expression %q", err, expr)
	}
	return v, nil
}

type boolParser struct {
	text     string // what is left
	token    string // the next token; "" at the end
	features map[string]bool
	depth    int
}

var boolToken = regexp.MustCompile(`^(?:[-+=._a-zA-Z0-9]|\{\{.+?\}\})+|^(?:[()!]|&&|\|\|)`)

func (p *boolParser) next() {
	p.text = strings.TrimSpace(p.text)
	p.token = boolToken.FindString(p.text)
	if p.token == "" && p.text != "" {
		p.token = p.text[:1] // fails where it stands
	}
	p.text = p.text[len(p.token):]
}

func (p *boolParser) expected(what string) error {
	found := p.token
	if found == "" {
		found = "end of expression"
	}
	return fmt.Errorf("expected %s, found %q", what, found)
}

func (p *boolParser) accept(token string) bool {
	if p.token != token {
		return false
	}
	p.next()
	return true
}

func (p *boolParser) or() (bool, error) {
	v, err := p.and()
	for err == nil && p.accept("||") {
		var w bool
		w, err = p.and()
		v = v || w
	}
	return v, err
}

func (p *boolParser) and() (bool, error) {
	v, err := p.not()
	for err == nil && p.accept("&&") {
		var w bool
		w, err = p.not()
		v = v && w
	}
	return v, err
}

func (p *boolParser) not() (bool, error) {
	if p.depth++; p.depth > 1000 {
		return false, fmt.Errorf("too deep")
	}
	defer func() { p.depth-- }()
	if p.accept("!") {
		v, err := p.not()
		return !v, err
	}
	if p.accept("(") {
		v, err := p.or()
		if err == nil && !p.accept(")") {
			err = p.expected("')'")
		}
		return v, err
	}
	return p.name()
}

func (p *boolParser) name() (bool, error) {
	token := p.token
	if token == "" || strings.Contains("()!&&||", token) || boolToken.FindString(token) != token {
		return false, p.expected("a feature, '!' or '('")
	}
	p.next()
	if !strings.Contains(token, "{{") {
		return p.features[token] || token == "true", nil
	}
	re, err := featureRegexp(token)
	if err != nil {
		return false, err
	}
	for f, on := range p.features {
		if on && re.MatchString(f) {
			return true, nil
		}
	}
	return false, nil
}

// featureRegexp translates a name with {{regex}} parts.
func featureRegexp(token string) (*regexp.Regexp, error) {
	var out strings.Builder
	for token != "" {
		fixed, rest, found := strings.Cut(token, "{{")
		out.WriteString(regexp.QuoteMeta(fixed))
		if !found {
			break
		}
		var expr string
		expr, token, _ = strings.Cut(rest, "}}")
		out.WriteString("(?:" + expr + ")")
	}
	return regexp.Compile("^(?:" + out.String() + ")$")
}

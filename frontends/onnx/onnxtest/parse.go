package onnxtest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Model writes the model of a text, or says what is wrong with the text, with its line.
func Model(text string) ([]byte, error) {
	p := &parser{}
	line := 1
	for rest := text; rest != ""; {
		m := token.FindString(rest)
		if m == "" {
			return nil, fmt.Errorf("line %d: unexpected %q", line, rest[:1])
		}
		if t := strings.TrimSpace(m); t != "" && t[0] != '#' {
			p.tokens, p.lines = append(p.tokens, t), append(p.lines, line)
		}
		line += strings.Count(m, "\n")
		rest = rest[len(m):]
	}
	m, err := p.model()
	if err != nil {
		at := 0
		if len(p.lines) > 0 {
			at = p.lines[min(p.at, len(p.lines)-1)]
		}
		return nil, fmt.Errorf("line %d: %w", at, err)
	}
	return m, nil
}

// Must is Model for texts that are right.
func Must(text string) []byte {
	m, err := Model(text)
	if err != nil {
		panic(err)
	}
	return m
}

var token = regexp.MustCompile(`^(\s+|#[^\n]*|"[^"]*"|=>|-?[0-9]+(\.[0-9]*)?(e-?[0-9]+)?|[A-Za-z_][A-Za-z0-9_./]*|[<>(){}\[\],:=@?])`)

type parser struct {
	tokens []string
	lines  []int
	at     int
}

func (p *parser) peek() string {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return ""
}

func (p *parser) next() string {
	t := p.peek()
	p.at++
	return t
}

func (p *parser) accept(t string) bool {
	if p.peek() != t {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(t string) error {
	if p.accept(t) {
		return nil
	}
	return fmt.Errorf("expected %q, found %q", t, p.peek())
}

func (p *parser) model() ([]byte, error) {
	var m message
	if err := p.header(func(key string) error {
		switch key {
		case "ir_version":
			n, err := p.integer()
			m.number(1, n)
			return err
		case "opset_import":
			return p.opsets(&m, 8)
		}
		return fmt.Errorf("unknown key %q", key)
	}); err != nil {
		return nil, err
	}
	g, err := p.graph()
	if err != nil {
		return nil, err
	}
	m.bytes(7, g)
	for p.peek() == "<" {
		f, err := p.function()
		if err != nil {
			return nil, err
		}
		m.bytes(25, f)
	}
	if p.at < len(p.tokens) {
		return nil, fmt.Errorf("expected the end, found %q", p.peek())
	}
	return m, nil
}

// header reads <key: …, key: …>.
func (p *parser) header(value func(key string) error) error {
	if err := p.expect("<"); err != nil {
		return err
	}
	for !p.accept(">") {
		key := p.next()
		if err := p.expect(":"); err != nil {
			return err
		}
		if err := value(key); err != nil {
			return err
		}
		p.accept(",")
	}
	return nil
}

func (p *parser) opsets(m *message, field int32) error {
	return p.list("[", "]", func() error {
		var o message
		o.text(1, unquote(p.next()))
		if err := p.expect(":"); err != nil {
			return err
		}
		n, err := p.integer()
		o.number(2, n)
		m.bytes(protoNumber(field), o)
		return err
	})
}

func (p *parser) integer() (int64, error) { return strconv.ParseInt(p.next(), 10, 64) }

func unquote(s string) string { return strings.Trim(s, `"`) }

// list reads what stands between two brackets, separated by commas.
func (p *parser) list(open, end string, item func() error) error {
	if err := p.expect(open); err != nil {
		return err
	}
	for !p.accept(end) {
		if p.at >= len(p.tokens) {
			return fmt.Errorf("expected %q, found the end", end)
		}
		if err := item(); err != nil {
			return err
		}
		if !p.accept(",") && p.peek() != end {
			return fmt.Errorf("expected \",\" or %q, found %q", end, p.peek())
		}
	}
	return nil
}

func (p *parser) graph() (message, error) {
	var g message
	g.text(2, p.next())
	for _, field := range []int32{11, 12} {
		if field == 12 {
			if err := p.expect("=>"); err != nil {
				return nil, err
			}
		}
		if err := p.list("(", ")", func() error { return p.port(&g, field) }); err != nil {
			return nil, err
		}
	}
	if p.peek() == "<" {
		if err := p.list("<", ">", func() error {
			t, err := p.constant()
			g.bytes(5, t)
			return err
		}); err != nil {
			return nil, err
		}
	}
	return g, p.nodes(&g, 1)
}

// port reads "float[N, 4] x"; a type alone has no shape, "seq(float)" is a sequence, and "map(int64, float)" a map.
func (p *parser) port(g *message, field int32) error {
	kind, err := p.portType()
	if err != nil {
		return err
	}
	var info message
	info.text(1, unquote(p.next()))
	info.bytes(2, kind)
	g.bytes(protoNumber(field), info)
	return nil
}

func (p *parser) portType() (message, error) {
	var kind, inner message
	switch {
	case p.accept("seq"):
		err := p.list("(", ")", func() error {
			elem, err := p.portType()
			inner.bytes(1, elem)
			return err
		})
		kind.bytes(4, inner)
		return kind, err
	case p.accept("map"):
		keyed := false
		err := p.list("(", ")", func() error {
			if !keyed {
				inner.number(1, elements[p.next()].code)
				keyed = true
				return nil
			}
			value, err := p.portType()
			inner.bytes(2, value)
			return err
		})
		kind.bytes(5, inner)
		return kind, err
	}
	t, err := p.tensorType()
	kind.bytes(1, t)
	return kind, err
}

func (p *parser) tensorType() (message, error) {
	var t message
	e, ok := elements[p.next()]
	if !ok {
		return nil, fmt.Errorf("unknown element type %q", p.tokens[p.at-1])
	}
	t.number(1, e.code)
	if p.peek() != "[" {
		return t, nil
	}
	var shape message
	err := p.list("[", "]", func() error {
		var d message
		word := p.next()
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			d.number(1, n)
		} else if word != "?" {
			d.text(2, unquote(word))
		}
		shape.bytes(1, d)
		return nil
	})
	t.bytes(2, shape)
	return t, err
}

// constant reads "float[2] w = {1, 2}".
func (p *parser) constant() (message, error) {
	elem, dims, err := p.sizes()
	if err != nil {
		return nil, err
	}
	name := p.next()
	if err := p.expect("="); err != nil {
		return nil, err
	}
	return p.tensor(name, elem, dims)
}

func (p *parser) sizes() (elem string, dims []int64, err error) {
	elem = p.next()
	if p.peek() == "[" {
		err = p.list("[", "]", func() error {
			n, err := p.integer()
			dims = append(dims, n)
			return err
		})
	}
	return elem, dims, err
}

func (p *parser) tensor(name, elem string, dims []int64) (message, error) {
	var t message
	e, ok := elements[elem]
	if !ok || e.put == nil {
		return nil, fmt.Errorf("constants of the type %q can not be written", elem)
	}
	for _, n := range dims {
		t.number(1, n)
	}
	t.number(2, e.code)
	t.text(8, name)
	var raw []byte
	err := p.list("{", "}", func() error {
		f, err := strconv.ParseFloat(p.next(), 64)
		raw = e.put(raw, f)
		return err
	})
	t.bytes(9, raw)
	return t, err
}

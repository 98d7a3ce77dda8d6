package onnxtest

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

func protoNumber(n int32) protowire.Number { return protowire.Number(n) }

// nodes reads { … } into a field of a graph or function.
func (p *parser) nodes(g *message, field int32) error {
	if err := p.expect("{"); err != nil {
		return err
	}
	for !p.accept("}") {
		if p.at >= len(p.tokens) {
			return fmt.Errorf("expected \"}\", found the end")
		}
		n, err := p.node()
		if err != nil {
			return err
		}
		g.bytes(protoNumber(field), n)
	}
	return nil
}

// node reads "[name] y, z = domain.Op<a = 1>(x, , w)". An empty name is an output or input that is left out.
func (p *parser) node() (message, error) {
	var n message
	if p.accept("[") {
		n.text(3, p.next())
		if err := p.expect("]"); err != nil {
			return nil, err
		}
	}
	for {
		n.text(2, p.name("=", ","))
		if p.accept("=") {
			break
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
	domain, op := "", p.next()
	if i := strings.LastIndexByte(op, '.'); i >= 0 {
		domain, op = op[:i], op[i+1:]
	}
	n.text(4, op)
	n.text(7, domain)
	if p.peek() == "<" {
		if err := p.list("<", ">", func() error {
			a, err := p.attribute()
			n.bytes(5, a)
			return err
		}); err != nil {
			return nil, err
		}
	}
	return n, p.list("(", ")", func() error {
		n.text(1, p.name(",", ")"))
		return nil
	})
}

// name reads a name, or nothing before one of two marks.
func (p *parser) name(marks ...string) string {
	for _, m := range marks {
		if p.peek() == m {
			return ""
		}
	}
	return unquote(p.next())
}

// attribute reads "name = value".
func (p *parser) attribute() (message, error) {
	var a message
	a.text(1, p.next())
	if err := p.expect("="); err != nil {
		return nil, err
	}
	t := p.peek()
	switch {
	case t == "@":
		p.next()
		a.text(21, p.next())
		a.number(20, 2)
		return a, nil
	case t == "[":
		return a, p.values(&a)
	case t != "" && (t[0] == '"' || t[0] == '-' || t[0] >= '0' && t[0] <= '9'):
		kind, err := p.scalar(&a, 2, 3, 4)
		a.number(20, kind)
		return a, err
	}
	if e, ok := elements[t]; ok && e.put != nil {
		elem, dims, err := p.sizes()
		if err != nil {
			return nil, err
		}
		value, err := p.tensor("", elem, dims)
		a.bytes(5, value)
		a.number(20, 4)
		return a, err
	}
	g, err := p.graph()
	a.bytes(6, g)
	a.number(20, 5)
	return a, err
}

// values reads a list of numbers or strings; its kind is that of the first one.
func (p *parser) values(a *message) error {
	kind := int64(2)
	if err := p.list("[", "]", func() (err error) {
		kind, err = p.scalar(a, 7, 8, 9)
		return err
	}); err != nil {
		return err
	}
	a.number(20, kind+5)
	return nil
}

// scalar writes a number or string to the field for its kind: 1 a float, 2 an integer, 3 a string.
func (p *parser) scalar(a *message, float, integer, text int32) (int64, error) {
	t := p.next()
	if strings.HasPrefix(t, `"`) {
		a.text(protoNumber(text), unquote(t))
		return 3, nil
	}
	if n, err := strconv.ParseInt(t, 10, 64); err == nil {
		a.number(protoNumber(integer), n)
		return 2, nil
	}
	f, err := strconv.ParseFloat(t, 64)
	a.float(protoNumber(float), f)
	return 1, err
}

// function reads <domain: "d", opset_import: […]> name <attr, …> (x) => (y) { … }.
func (p *parser) function() (message, error) {
	var f message
	domain := ""
	if err := p.header(func(key string) error {
		switch key {
		case "domain":
			domain = unquote(p.next())
			return nil
		case "opset_import":
			return p.opsets(&f, 9)
		}
		return fmt.Errorf("unknown key %q", key)
	}); err != nil {
		return nil, err
	}
	f.text(1, p.next())
	f.text(10, domain)
	if p.peek() == "<" {
		if err := p.list("<", ">", func() error { f.text(6, p.next()); return nil }); err != nil {
			return nil, err
		}
	}
	for _, field := range []int32{4, 5} {
		if field == 5 {
			if err := p.expect("=>"); err != nil {
				return nil, err
			}
		}
		if err := p.list("(", ")", func() error { f.text(protoNumber(field), p.next()); return nil }); err != nil {
			return nil, err
		}
	}
	return f, p.nodes(&f, 7)
}

package namespace

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/scanner"

	"tensortapestry.org/tapc/frontends/mapping"
)

// groups are the words for element types that mostly stand together.
var groups = map[string][]string{
	"int":     {"int8", "int16", "int32", "int64"},
	"uint":    {"uint8", "uint16", "uint32", "uint64"},
	"float":   {"float16", "float32", "float64"},
	"complex": {"complex64", "complex128"},
	"float8":  {"float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"},
}

// Parse reads a dictionary: a head, and an operator a line, with the statements of its body on lines that begin with white space.
func Parse(file, text string) (*Dictionary, error) {
	d := &Dictionary{ops: map[string][]*Op{}}
	var op *Op
	for i, line := range strings.Split(text, "\n") {
		p := newParser(line)
		var err error
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			continue
		case line[0] == ' ' && op != nil && op.Body != nil && !op.Body.ByTypes:
			err = p.statement(op.Body.Graph)
			op.Body.text = append(op.Body.text, strings.TrimSpace(line))
		case op == nil && d.head(line, &err):
		default:
			if op, err = p.op(); err == nil {
				err = d.add(op)
			}
		}
		if err == nil {
			err = p.end(line)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	if d.Name == "" || d.Last == 0 && d.Releases == nil {
		return nil, fmt.Errorf("%s: expected lines with namespace, and versions or releases", file)
	}
	return d, nil
}

// head reads a line about the dictionary itself; it gives false for any other.
func (d *Dictionary) head(line string, err *error) bool {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "namespace":
		d.Name = rest
	case "source":
		d.Source = strings.TrimSpace(d.Source + " " + rest)
	case "versions":
		first, last, ok := strings.Cut(rest, "..")
		a, errA := strconv.ParseInt(first, 10, 32)
		b, errB := strconv.ParseInt(last, 10, 32)
		if d.First, d.Last = a, b; !ok || errA != nil || errB != nil || a < 1 || b < a {
			*err = fmt.Errorf("expected versions FIRST..LAST, found %q", rest)
		}
	case "releases":
		d.Releases = strings.Fields(rest)
		d.Last = int64(len(d.Releases)) - 1
	case "prefixed":
		d.prefixed = true
	default:
		return false
	}
	return true
}

func (d *Dictionary) add(o *Op) error {
	list := d.ops[o.Name]
	if n := len(list); n > 0 && list[n-1].Since >= o.Since {
		return fmt.Errorf("%s is there twice, or not in order, at version %d", o.Name, o.Since)
	}
	if o.Since > d.Last {
		return fmt.Errorf("%s is since version %d, after the last one %d", o.Name, o.Since, d.Last)
	}
	d.ops[o.Name] = append(list, o)
	return nil
}

// lineParser reads one line.
type lineParser struct {
	s     scanner.Scanner
	tok   rune
	err   error
	depth int
}

func newParser(line string) *lineParser {
	p := &lineParser{}
	p.s.Init(strings.NewReader(line))
	p.s.Mode = scanner.ScanIdents | scanner.ScanInts | scanner.ScanFloats | scanner.ScanStrings
	p.s.Error = func(_ *scanner.Scanner, msg string) { p.fail("%s", msg) }
	p.tok = p.s.Scan()
	return p
}

func (p *lineParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("column %d: %s", p.s.Position.Column, fmt.Sprintf(format, args...))
	}
}

func (p *lineParser) end(line string) error {
	if strings.HasPrefix(line, " ") || p.err != nil {
		if p.err == nil && p.tok != scanner.EOF {
			p.fail("expected the end of the line, found %q", p.s.TokenText())
		}
		return p.err
	}
	return nil
}

func (p *lineParser) next() string {
	t := p.s.TokenText()
	p.tok = p.s.Scan()
	return t
}

func (p *lineParser) is(text string) bool {
	return p.tok != scanner.EOF && p.tok != scanner.String && p.s.TokenText() == text
}

func (p *lineParser) accept(text string) bool {
	if p.is(text) {
		p.next()
		return true
	}
	return false
}

func (p *lineParser) expect(text string) {
	if !p.accept(text) {
		p.fail("expected %q, found %q", text, p.s.TokenText())
	}
}

// name reads a name, which is quoted when it is no identifier.
func (p *lineParser) name() string {
	switch p.tok {
	case scanner.Ident:
		return p.next()
	case scanner.String:
		s, err := strconv.Unquote(p.next())
		if err != nil {
			p.fail("%v", err)
		}
		return s
	}
	p.fail("expected a name, found %q", p.s.TokenText())
	return ""
}

func (p *lineParser) integer() int64 {
	sign := int64(1)
	if p.accept("-") {
		sign = -1
	}
	n, err := strconv.ParseInt(p.s.TokenText(), 10, 64)
	if p.tok != scanner.Int || err != nil {
		p.fail("expected an integer, found %q", p.s.TokenText())
	}
	p.next()
	return sign * n
}

// op reads "Name since (inputs) -> (outputs) {attributes} T: types; is traits body version".
func (p *lineParser) op() (*Op, error) {
	o := &Op{Name: p.name()}
	if p.tok == scanner.Int {
		o.Since = p.integer()
	}
	if o.Deprecated = p.accept("deprecated"); o.Deprecated {
		return o, p.finish()
	}
	o.In = p.ports()
	p.expect("-")
	p.expect(">")
	o.Out = p.ports()
	if p.accept("{") {
		o.Attrs = p.attrs()
	}
	for p.err == nil && p.tok == scanner.Ident && !p.is("is") && !p.is("body") {
		t := Types{Var: p.name()}
		p.expect(":")
		t.Allowed = p.union()
		p.expect(";")
		o.Types = append(o.Types, t)
	}
	if p.accept("is") {
		for p.tok == scanner.Ident && !p.is("body") {
			o.Traits = append(o.Traits, p.name())
		}
	}
	if p.accept("body") {
		o.Body = p.body(o)
	}
	return o, p.finish()
}

func (p *lineParser) finish() error {
	if p.err == nil && p.tok != scanner.EOF {
		p.fail("expected the end of the line, found %q", p.s.TokenText())
	}
	return p.err
}

func (p *lineParser) ports() []Port {
	p.expect("(")
	var out []Port
	for p.err == nil && !p.accept(")") {
		x := Port{Name: p.name()}
		for p.accept("/") {
			x.Aliases = append(x.Aliases, p.name())
		}
		x.Optional = p.accept("?")
		if x.Variadic = p.accept("*"); x.Variadic {
			x.Least = int(p.integer())
			x.Mixed = p.accept("mixed")
		}
		p.expect(":")
		x.Type = p.typ()
		out = append(out, x)
		if !p.is(")") {
			p.expect(",")
		}
	}
	return out
}

// typ reads one type, such as float32, seq(int64) or map(string, float32).
func (p *lineParser) typ() string {
	t := p.name()
	if p.accept("(") {
		t += "(" + p.typ()
		for p.accept(",") {
			t += "," + p.typ()
		}
		p.expect(")")
		t += ")"
	}
	return t
}

// union reads types until something else comes; a container holds each of the types in its parentheses.
func (p *lineParser) union() []string {
	if p.depth++; p.depth > 8 {
		p.fail("types are nested too deep")
		return nil
	}
	defer func() { p.depth-- }()
	var out []string
	for p.err == nil && (p.tok == scanner.Ident || p.is("@")) {
		if p.accept("@") {
			members := groups[p.name()]
			if members == nil {
				p.fail("expected a group of types after @")
			}
			out = append(out, members...)
			continue
		}
		name := p.name()
		switch {
		case name == "map" && p.accept("("):
			key := p.typ()
			p.expect(",")
			out = append(out, "map("+key+","+p.typ()+")")
			p.expect(")")
		case p.accept("("):
			for _, t := range p.union() {
				out = append(out, name+"("+t+")")
			}
			p.expect(")")
		default:
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// attrTypes are the words for the types of attributes.
var attrTypes = []string{"float", "int", "string", "bool", "tensor", "graph", "type", "shape", "floats", "ints", "strings", "bools", "tensors", "graphs",
	"types", "shapes", "sparse_tensor", "sparse_tensors", "func", "any"}

func (p *lineParser) attrs() []Attr {
	var out []Attr
	for p.err == nil && !p.accept("}") {
		a := Attr{Name: p.name(), Required: p.accept("!")}
		p.expect(":")
		a.Type = p.name()
		if !slices.Contains(attrTypes, a.Type) {
			p.fail("expected a type of an attribute, found %q", a.Type)
		}
		if p.accept("=") {
			v := p.value()
			a.Default = &v
		}
		if p.accept("of") {
			for p.tok == scanner.String {
				a.Words = append(a.Words, p.name())
			}
		}
		out = append(out, a)
		if !p.is("}") {
			p.expect(",")
		}
	}
	return out
}

// value reads an attribute's value.
func (p *lineParser) value() mapping.Value {
	if p.depth++; p.depth > 32 {
		p.fail("values are nested too deep")
		return mapping.Value{}
	}
	defer func() { p.depth-- }()
	switch {
	case p.tok == scanner.String:
		return mapping.StringValue(p.name())
	case p.accept("@"):
		return mapping.Reference(p.name())
	case p.accept("["):
		return p.list()
	case p.accept("true"):
		return mapping.BoolValue(true)
	case p.accept("false"):
		return mapping.BoolValue(false)
	case p.accept("tensor"):
		return p.tensor()
	case p.accept("graph"):
		return mapping.Value{Kind: mapping.GraphKind, Graph: p.graph()}
	case p.tok == scanner.Ident: // the name of a type
		return mapping.StringValue(p.name())
	}
	return p.number()
}

func (p *lineParser) number() mapping.Value {
	text := ""
	if p.accept("-") {
		text = "-"
	}
	tok := p.tok
	text += p.s.TokenText()
	p.next()
	if tok == scanner.Int {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return mapping.IntValue(i)
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if tok != scanner.Int && tok != scanner.Float || err != nil {
		p.fail("expected a value, found %q", text)
	}
	return mapping.FloatValue(f)
}

func (p *lineParser) list() mapping.Value {
	out := mapping.ListValue()
	for p.err == nil && !p.accept("]") {
		out.List = append(out.List, p.value())
		if !p.is("]") {
			p.expect(",")
		}
	}
	return out
}

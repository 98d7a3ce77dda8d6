package namespace

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/lang"
)

// nameForm is what the name of a dictionary is.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)

// How deep types and values may nest.
const maxTypes, maxValues = 8, 32

// groups are the words for element types that mostly stand together.
var groups = map[string][]string{
	"int":     {"int8", "int16", "int32", "int64"},
	"uint":    {"uint8", "uint16", "uint32", "uint64"},
	"float":   {"float16", "float32", "float64"},
	"complex": {"complex64", "complex128"},
	"float8":  {"float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"},
}

// CodeForm is the code of a file that is no dictionary.
const CodeForm = "TAP1435"

// Parse reads a dictionary: a head, and an operator a line, with the statements of its body on lines that begin with white space. An error is a diagnostic of
// the line.
func Parse(file, text string) (*Dictionary, error) {
	d := &Dictionary{ops: map[string][]*Op{}}
	var op *Op
	for i, line := range strings.Split(text, "\n") {
		var err error
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			continue
		case line[0] == ' ' && op != nil && op.Body != nil && !op.Body.ByTypes:
			err = readLine(line, func(p *lineParser) { p.statement(op.Body.Graph) })
			op.Body.text = append(op.Body.text, strings.TrimSpace(line))
		case op == nil && d.head(line, &err):
		default:
			if err = readLine(line, func(p *lineParser) { op = p.op() }); err == nil {
				err = d.add(op)
			}
		}
		if err != nil {
			return nil, diag.Errorf(CodeForm, "namespace", diag.Location{File: file, Line: i + 1}, "%v", err)
		}
	}
	if d.Name == "" || d.Last == 0 && d.Releases == nil {
		return nil, diag.Errorf(CodeForm, "namespace", diag.Location{File: file}, "expected lines with namespace, and versions or releases")
	}
	return d, nil
}

// head reads a line about the dictionary itself; it gives false for any other.
func (d *Dictionary) head(line string, err *error) bool {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "namespace":
		if d.Name = rest; !nameForm.MatchString(rest) {
			*err = fmt.Errorf("expected a name of letters, digits, dots, lines and slashes, found %q", rest)
		}
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
		if sorted := slices.Sorted(slices.Values(d.Releases)); len(sorted) == 0 || len(slices.Compact(sorted)) < len(d.Releases) {
			*err = fmt.Errorf("expected the names of one or more releases, each once, found %q", rest)
		}
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

// lexicon is what a line is made of.
var lexicon = lang.Lexicon{Symbols: []string{"->", "(", ")", "[", "]", "{", "}", ",", ":", ";", "=", "/", "?", "*", "!", "@", "-"}}

// lineParser reads one line.
type lineParser struct {
	lang.Cursor
	err error
}

// readLine reads the whole of a line.
func readLine(line string, read func(p *lineParser)) error {
	c, err := lexicon.Cursor(line)
	if err != nil {
		return err
	}
	p := &lineParser{Cursor: c}
	read(p)
	if p.err == nil && !p.next(lang.End) {
		p.fail("expected the end of the line, found %v", p.Peek())
	}
	return p.err
}

// fail keeps the first error.
func (p *lineParser) fail(format string, args ...any) { p.keep(fmt.Errorf(format, args...)) }

func (p *lineParser) keep(err error) {
	if p.err == nil && err != nil {
		p.err = fmt.Errorf("column %d: %w", p.Peek().Column, err)
	}
}

func (p *lineParser) next(kind lang.Kind) bool { return p.Peek().Kind == kind }

func (p *lineParser) expect(text string) { p.keep(p.Expect(text)) }

// name reads a name, which is quoted when it is no identifier.
func (p *lineParser) name() string {
	s, err := p.Want("a name", lang.Name, lang.String)
	p.keep(err)
	return s
}

// list reads items with commas between them up to a closing symbol.
func (p *lineParser) list(closing string, item func()) {
	p.keep(p.List(closing, func() error {
		item()
		return p.err
	}))
}

func (p *lineParser) integer() int64 {
	sign := int64(1)
	if p.Accept("-") {
		sign = -1
	}
	text, err := p.Want("an integer", lang.Number)
	p.keep(err)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		p.fail("expected an integer, found %q", text)
	}
	return sign * n
}

// op reads "Name since (inputs) -> (outputs) {attributes} T: types; is traits body version".
func (p *lineParser) op() *Op {
	o := &Op{Name: p.name()}
	if p.next(lang.Number) {
		o.Since = p.integer()
	}
	if o.Deprecated = p.Accept("deprecated"); o.Deprecated {
		return o
	}
	o.In = p.ports()
	p.expect("->")
	o.Out = p.ports()
	if p.Accept("{") {
		o.Attrs = p.attrs()
	}
	for p.err == nil && p.next(lang.Name) && !p.Is("is") && !p.Is("body") {
		t := Types{Var: p.name()}
		p.expect(":")
		t.Allowed = p.union()
		p.expect(";")
		o.Types = append(o.Types, t)
	}
	if p.Accept("is") {
		for p.next(lang.Name) && !p.Is("body") {
			o.Traits = append(o.Traits, p.name())
		}
	}
	if p.Accept("body") {
		o.Body = p.body(o)
	}
	return o
}

func (p *lineParser) ports() []Port {
	p.expect("(")
	var out []Port
	p.list(")", func() {
		x := Port{Name: p.name()}
		for p.Accept("/") {
			x.Aliases = append(x.Aliases, p.name())
		}
		x.Optional = p.Accept("?")
		if x.Variadic = p.Accept("*"); x.Variadic {
			x.Least = int(p.integer())
			x.Mixed = p.Accept("mixed")
		}
		p.expect(":")
		x.Type = p.typ()
		out = append(out, x)
	})
	return out
}

// typ reads one type, such as float32, seq(int64) or map(string, float32).
func (p *lineParser) typ() string {
	t := p.name()
	if p.Accept("(") {
		t += "(" + p.typ()
		for p.Accept(",") {
			t += "," + p.typ()
		}
		p.expect(")")
		t += ")"
	}
	return t
}

// union reads types until something else comes; a container holds each of the types in its parentheses.
func (p *lineParser) union() []string {
	if p.keep(p.Enter(maxTypes)); p.err != nil {
		return nil
	}
	defer p.Leave()
	var out []string
	for p.err == nil && (p.next(lang.Name) || p.Is("@")) {
		if p.Accept("@") {
			members := groups[p.name()]
			if members == nil {
				p.fail("expected a group of types after @")
			}
			out = append(out, members...)
			continue
		}
		name := p.name()
		switch {
		case name == "map" && p.Accept("("):
			key := p.typ()
			p.expect(",")
			out = append(out, "map("+key+","+p.typ()+")")
			p.expect(")")
		case p.Accept("("):
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
	p.list("}", func() {
		a := Attr{Name: p.name(), Required: p.Accept("!")}
		p.expect(":")
		a.Type = p.name()
		if !slices.Contains(attrTypes, a.Type) {
			p.fail("expected a type of an attribute, found %q", a.Type)
		}
		if p.Accept("=") {
			v := p.value()
			a.Default = &v
		}
		if p.Accept("of") {
			for p.next(lang.String) {
				a.Words = append(a.Words, p.name())
			}
		}
		out = append(out, a)
	})
	return out
}

// value reads an attribute's value.
func (p *lineParser) value() foreign.Value {
	if p.keep(p.Enter(maxValues)); p.err != nil {
		return foreign.Value{}
	}
	defer p.Leave()
	switch {
	case p.next(lang.String):
		return foreign.StringValue(p.name())
	case p.Accept("@"):
		return foreign.Reference(p.name())
	case p.Accept("["):
		return p.values()
	case p.Accept("true"):
		return foreign.BoolValue(true)
	case p.Accept("false"):
		return foreign.BoolValue(false)
	case p.Accept("tensor"):
		return p.tensor()
	case p.Accept("graph"):
		return foreign.Value{Kind: foreign.GraphKind, Graph: p.graph()}
	case p.next(lang.Name): // the name of a type
		return foreign.StringValue(p.name())
	}
	return p.number()
}

func (p *lineParser) number() foreign.Value {
	text := ""
	if p.Accept("-") {
		text = "-"
	}
	digits, err := p.Want("a value", lang.Number)
	p.keep(err)
	text += digits
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return foreign.IntValue(i)
	}
	f, _ := strconv.ParseFloat(text, 64) // the lexicon has checked that it is a number
	return foreign.FloatValue(f)
}

func (p *lineParser) values() foreign.Value {
	out := foreign.ListValue()
	p.list("]", func() { out.List = append(out.List, p.value()) })
	return out
}

package kernels

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parse reads kernel declarations. A declaration starts with "kernel NAME"; every further line is one clause, indented:
//
//	kernel linear
//	  doc   The product of x with A, plus b.
//	  in    x | X: T [*batch, i]
//	  in    b?: T [o]
//	  out   result: T [*batch, o]
//	  types T: numeric
//	  attr  activation: word(none, relu) = none
//	  let   y = sum(i) x * A
//	  let   result = y
//
// Lines that start with # are comments. An error names the file and the line.
func Parse(file, text string) ([]*Decl, error) {
	var decls []*Decl
	for i, line := range strings.Split(text, "\n") {
		if t := strings.TrimSpace(line); t == "" || t[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		err := error(nil)
		switch {
		case word == "kernel":
			if !isName(rest) {
				err = fmt.Errorf("kernel name %q is not a name", rest)
			}
			decls = append(decls, &Decl{Name: rest, Source: fmt.Sprintf("%s:%d", file, i+1)})
		case len(decls) == 0:
			err = fmt.Errorf("expected \"kernel NAME\", found %q", word)
		default:
			err = decls[len(decls)-1].clause(word, rest)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	for _, d := range decls {
		if err := d.check(); err != nil {
			return nil, fmt.Errorf("%s: kernel %s: %w", d.Source, d.Name, err)
		}
	}
	return decls, nil
}

func (d *Decl) clause(word, rest string) (err error) {
	switch word {
	case "doc":
		d.Doc = strings.TrimSpace(d.Doc + " " + rest)
	case "in", "out":
		var o OperandDecl
		if o, err = parseOperand(rest); err == nil {
			o.Out = word == "out"
			d.Operands = append(d.Operands, o)
		}
	case "types":
		name, class, _ := strings.Cut(rest, ":")
		v := TypeVar{strings.TrimSpace(name), strings.TrimSpace(class)}
		if classes[v.Class] == nil {
			return fmt.Errorf("unknown type class %q", v.Class)
		}
		d.Types = append(d.Types, v)
	case "attr":
		var a AttrDecl
		if a, err = parseAttr(rest); err == nil {
			d.Attrs = append(d.Attrs, a)
		}
	case "let":
		name, value, ok := strings.Cut(rest, "=")
		if name = strings.TrimSpace(name); !ok || !isName(name) {
			return fmt.Errorf("expected \"let NAME = EXPRESSION\"")
		}
		d.Lets = append(d.Lets, Let{name, strings.TrimSpace(value)})
	default:
		return fmt.Errorf("unknown clause %q", word)
	}
	return err
}

func isName(s string) bool {
	for i, c := range s {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// parseOperand reads "x | X: T [*batch, i]", with "?" after the names of an optional operand and "..." after a variadic one.
func parseOperand(s string) (OperandDecl, error) {
	var o OperandDecl
	names, rest, ok := strings.Cut(s, ":")
	typ, index, ok2 := strings.Cut(rest, "[")
	if !ok || !ok2 || !strings.HasSuffix(index, "]") {
		return o, fmt.Errorf("expected NAME: TYPE [INDEX], found %q", s)
	}
	names = strings.TrimSpace(names)
	names, o.Optional = strings.CutSuffix(names, "?")
	names, o.Variadic = strings.CutSuffix(names, "...")
	for _, n := range strings.Split(names, "|") {
		if n = strings.TrimSpace(n); !isName(n) {
			return o, fmt.Errorf("operand name %q is not a name", n)
		}
		o.Names = append(o.Names, n)
	}
	o.Type = strings.TrimSpace(typ)
	index = strings.TrimSpace(strings.TrimSuffix(index, "]"))
	if index == "" {
		return o, nil
	}
	for _, item := range strings.Split(index, ",") {
		x, err := parseIndexItem(strings.TrimSpace(item))
		if err != nil {
			return o, err
		}
		o.Index = append(o.Index, x)
	}
	return o, nil
}

func parseIndexItem(s string) (IndexItem, error) {
	group, ok := strings.CutPrefix(s, "*")
	if !ok {
		terms, err := parseTerms(s)
		return IndexItem{Terms: terms}, err
	}
	words := strings.Fields(group)
	x := IndexItem{}
	switch {
	case len(words) == 1:
	case len(words) == 2 && words[1] == "broadcast":
		x.Use = Broadcast
	case len(words) == 3 && words[1] == "drop":
		x.Use, x.Attr = Drop, words[2]
	case len(words) == 3 && words[1] == "permute":
		x.Use, x.Attr = Permute, words[2]
	default:
		return x, fmt.Errorf("index item %q: expected *GROUP, broadcast, drop ATTR or permute ATTR", s)
	}
	x.Group = words[0]
	return x, nil
}

// parseTerms reads a sum of products of whole numbers, attribute names and one dimension; the last name of a product with
// two names is the attribute.
func parseTerms(s string) ([]Term, error) {
	var terms []Term
	s = strings.ReplaceAll(s, "-", "+-")
	for _, part := range strings.Split(s, "+") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		t := Term{Factor: 1}
		if rest, minus := strings.CutPrefix(part, "-"); minus {
			t.Factor, part = -1, strings.TrimSpace(rest)
		}
		for _, f := range strings.Split(part, "*") {
			f = strings.TrimSpace(f)
			n, err := strconv.ParseInt(f, 10, 32)
			switch {
			case err == nil:
				t.Factor *= n
			case !isName(f):
				return nil, fmt.Errorf("index item %q: %q is neither a name nor a number", s, f)
			case t.Dim == "":
				t.Dim = f
			case t.Attr == "":
				t.Attr = f
			default:
				return nil, fmt.Errorf("index item %q is not affine", s)
			}
		}
		terms = append(terms, t)
	}
	if len(terms) == 0 {
		return nil, fmt.Errorf("empty index item")
	}
	return terms, nil
}

// parseAttr reads "activation: word(none, relu) = none".
func parseAttr(s string) (AttrDecl, error) {
	var a AttrDecl
	name, rest, ok := strings.Cut(s, ":")
	if a.Name = strings.TrimSpace(name); !ok || !isName(a.Name) {
		return a, fmt.Errorf("expected NAME: TYPE, found %q", s)
	}
	rest, a.Default, a.HasDefault = strings.Cut(rest, "=")
	a.Default = strings.TrimSpace(a.Default)
	typ, args, _ := strings.Cut(strings.TrimSpace(rest), "(")
	i := slices.Index(attrTypes, typ)
	if i < 0 {
		return a, fmt.Errorf("unknown attribute type %q", typ)
	}
	a.Type = AttrType(i)
	args = strings.TrimSuffix(args, ")")
	switch a.Type {
	case AxesAttr, PermAttr:
		a.Of = args
	case WordAttr:
		for _, w := range strings.Split(args, ",") {
			a.Words = append(a.Words, strings.TrimSpace(w))
		}
	}
	return a, nil
}

package kernels

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tensortapestry.org/tapc/ir/scalar"
)

// Parse reads kernel declarations. A declaration starts with "kernel NAME", or "kernel NAMESPACE:NAME" for a kernel that is
// none of tapc's; every further line is one clause, indented:
//
//	kernel linear
//	  doc   The product of x with A, plus b.
//	  in    x | X: T [*batch, i]
//	  in    A: T [i, o]
//	  in    b?: T [o]
//	  out   result: T [*batch, o]
//	  types T: numeric
//	  attr  activation: word(none, relu) = none
//	  let   y = sum(i) x * A
//	  let   result = where(given(b), y + b, y)
//	  case  x = [[1, 2]]; A = [[1], [1]] -> result = [[3]]
//
// An index string has one entry for each dimension of the operand: a name (names that are the same have the same extent), a
// group such as *batch that stands for any number of dimensions (then perhaps "broadcast", "drop ATTR", "keep ATTR" or
// "permute ATTR"), "(m, *n) broadcast" for what stretches to several, or NAME = EXPRESSION where the coordinate is computed from other dimensions: the operand's own extent has
// the name then, and for a group *NAME the expression holds for each of its dimensions. What lies outside the operand reads
// as 0, or as what "else EXPRESSION" says behind the index string. A name with "..." is a dimension of its own for every
// selection of a variadic operand.
//
// The clause "size NAME = EXPRESSION" says how large a dimension is that no operand gives, or must be; "need CONDITION" what
// sizes and parameters must fulfil; "equation ATTR", instead of statements, that the text of an attribute, such as "ij,jk->ik",
// gives the index string of each input and of the result, which is the sum of the inputs' products; "term NAME = EXPRESSION" a name for an expression that stands wherever the name does; "cost" how many operations the kernel does, where counting the body's is wrong; "opaque"
// why the signature says too much. Lines that start
// with # are comments. Every case is worked out. An error names the file and the line, what was expected and what
// was found.
func Parse(file, text string) ([]*Decl, error) {
	decls, err := parse(file, text)
	for _, d := range decls {
		if line, err := d.checkCases(); err != nil {
			return nil, &SyntaxError{file, line, fmt.Errorf("kernel %s: %w", d.Name, err)}
		}
	}
	return decls, err
}

// parse is Parse that takes cases on trust.
func parse(file, text string) ([]*Decl, error) {
	var decls []*Decl
	for i, line := range strings.Split(text, "\n") {
		if !utf8.ValidString(line) {
			return nil, &SyntaxError{file, i + 1, fmt.Errorf("a line of text: expected UTF-8, found other bytes")}
		}
		if t := strings.TrimSpace(line); t == "" || t[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		err := error(nil)
		switch {
		case word == "kernel":
			err = checkKernelName(rest)
			decls = append(decls, &Decl{Name: rest, Place: Place{file, i + 1}})
		case len(decls) == 0:
			err = fmt.Errorf("expected \"kernel NAME\", found %q", word)
		default:
			err = decls[len(decls)-1].clause(i+1, word, rest)
		}
		if err != nil {
			return nil, &SyntaxError{file, i + 1, err}
		}
	}
	for _, d := range decls {
		if line, err := d.check(); err != nil {
			if line == 0 {
				line = d.Line
			}
			return nil, &SyntaxError{file, line, fmt.Errorf("kernel %s: %w", d.Name, err)}
		}
	}
	return decls, nil
}

// SyntaxError is what is wrong with a text of declarations, and where.
type SyntaxError struct {
	File string
	Line int
	Err  error
}

// Error gives the file, the line and the fault.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap gives the fault alone.
func (e *SyntaxError) Unwrap() error { return e.Err }

// head gives the comment that a text of declarations begins with, as one paragraph.
func head(text string) string {
	var words []string
	for _, line := range strings.Split(text, "\n") {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !ok {
			break
		}
		words = append(words, strings.Fields(comment)...)
	}
	return strings.Join(words, " ")
}

const clauseWords = "doc, in, out, types, attr, size, need, term, let, equation, cost, opaque, case"

func (d *Decl) clause(line int, word, rest string) (err error) {
	d.Clauses = append(d.Clauses, Clause{word, rest})
	switch word {
	case "doc":
		d.Doc = strings.TrimSpace(d.Doc + " " + rest)
	case "opaque":
		d.Opaque = strings.TrimSpace(d.Opaque + " " + rest)
	case "cost":
		d.Cost = rest
	case "equation":
		d.Equation = rest
	case "in", "out":
		var o OperandDecl
		if o, err = parseOperand(rest); err == nil {
			o.Out, o.Line = word == "out", line
			d.Operands = append(d.Operands, o)
		}
	case "types":
		var v TypeVar
		if v, err = parseType(rest); err == nil {
			d.Types = append(d.Types, v)
		}
	case "attr":
		var a AttrDecl
		if a, err = parseAttr(rest); err == nil {
			a.Line = line
			d.Attrs = append(d.Attrs, a)
		}
	case "let", "size", "term":
		err = d.addLet(line, word, rest)
	case "need":
		d.Needs = append(d.Needs, Let{Text: rest, Line: line})
	case "case":
		var c Case
		if c, err = parseCase(rest); err == nil {
			c.Line = line
			d.Cases = append(d.Cases, c)
		}
	default:
		return fmt.Errorf("expected a clause (%s), found %q", clauseWords, word)
	}
	return err
}

func (d *Decl) addLet(line int, word, rest string) error {
	name, value, ok := cutEqual(rest)
	l := Let{Name: name, Text: value, Line: line}
	if word == "size" {
		l.Name, l.Group = strings.CutPrefix(name, "*")
		l.Name, l.Each = strings.CutSuffix(l.Name, "...")
	}
	if !ok || !isName(l.Name) || value == "" {
		return fmt.Errorf("expected \"%s NAME = EXPRESSION\", found %q", word, rest)
	}
	switch word {
	case "size":
		d.Sizes = append(d.Sizes, l)
	case "term":
		d.Terms = append(d.Terms, l)
	default:
		d.Lets = append(d.Lets, l)
	}
	return nil
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// parseType reads "T: numeric", "U: any as wide as T" or "W: wide(T)".
func parseType(s string) (TypeVar, error) {
	name, class, ok := strings.Cut(s, ":")
	v := TypeVar{Name: strings.TrimSpace(name), Class: strings.TrimSpace(class)}
	if !ok || !isName(v.Name) {
		return v, fmt.Errorf("expected NAME: CLASS, found %q", s)
	}
	v.Class, v.Wide, _ = strings.Cut(v.Class, " as wide as ")
	if f, of, ok := strings.Cut(v.Class, "("); ok && strings.HasSuffix(of, ")") {
		v.Class, v.Of = f, strings.TrimSpace(strings.TrimSuffix(of, ")"))
		if typeFunctions[f] == nil {
			return v, fmt.Errorf("expected a function of types (%s), found %q", keys(typeFunctions), f)
		}
		if !isName(v.Of) {
			return v, fmt.Errorf("expected a type variable in %s(…), found %q", f, v.Of)
		}
		return v, nil
	}
	if classes[v.Class] == nil {
		return v, fmt.Errorf("expected a class of types (%s), found %q", keys(classes), v.Class)
	}
	return v, nil
}

func keys[V any](m map[string]V) string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// parseOperand reads "x | X: T [*batch, i] else 1", with "?" after the names of an optional operand and "..." after a
// variadic one.
func parseOperand(s string) (OperandDecl, error) {
	var o OperandDecl
	names, rest, ok := strings.Cut(s, ":")
	typ, rest, ok2 := strings.Cut(rest, "[")
	end := closing(rest)
	if !ok || !ok2 || end < 0 {
		return o, fmt.Errorf("expected NAME: TYPE [INDEX], found %q", s)
	}
	index, after := rest[:end], strings.TrimSpace(rest[end+1:])
	if after != "" {
		fill, ok := strings.CutPrefix(after, "else ")
		if o.Else = strings.TrimSpace(fill); !ok || o.Else == "" {
			return o, fmt.Errorf("expected \"else EXPRESSION\" behind the index string, found %q", after)
		}
	}
	names = strings.TrimSpace(names)
	names, o.Optional = strings.CutSuffix(names, "?")
	names, o.Variadic = strings.CutSuffix(names, "...")
	for _, n := range strings.Split(names, "|") {
		if n = strings.TrimSpace(n); !isName(n) || slices.Contains(o.Names, n) {
			return o, fmt.Errorf("expected names of the operand, each once, found %q", n)
		}
		o.Names = append(o.Names, n)
	}
	o.Type = strings.TrimSpace(typ)
	for _, item := range splitTop(index, ',') {
		x, err := parseIndexItem(item)
		if err != nil {
			return o, err
		}
		o.Index = append(o.Index, x)
	}
	return o, nil
}

// closing finds the bracket that closes one before s, or -1.
func closing(s string) int {
	depth := 1
	for i := range len(s) {
		switch s[i] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// splitTop cuts a text at a separator outside all brackets; the parts are trimmed. No text has no parts.
func splitTop(s string, at byte) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	var parts []string
	depth, start := 0, 0
	for i := range len(s) {
		switch {
		case s[i] == '(' || s[i] == '[':
			depth++
		case s[i] == ')' || s[i] == ']':
			depth--
		case s[i] == at && depth == 0:
			parts = append(parts, strings.TrimSpace(s[start:i]))
			start = i + 1
		}
	}
	return append(parts, strings.TrimSpace(s[start:]))
}

// parseIndexItem reads one entry of an index string.
func parseIndexItem(s string) (IndexItem, error) {
	own, at, computed := cutEqual(s)
	if computed {
		x, err := parseIndexItem(own)
		if err == nil && x.Use != Plain {
			err = fmt.Errorf("index entry %q: expected NAME = EXPRESSION or *NAME = EXPRESSION", s)
		}
		x.At = at
		return x, err
	}
	if list, ok := strings.CutPrefix(s, "("); ok {
		return parseBroadcastTo(s, list)
	}
	group, ok := strings.CutPrefix(s, "*")
	if !ok {
		name, each := strings.CutSuffix(s, "...")
		if !isName(name) {
			return IndexItem{}, fmt.Errorf("index entry %q: expected a dimension, a *group or NAME = EXPRESSION", s)
		}
		return IndexItem{Dim: name, Each: each}, nil
	}
	words := strings.Fields(group)
	x := IndexItem{}
	if len(words) > 1 {
		x.Use = GroupUse(max(0, slices.Index(groupUses, words[1])))
	}
	if want := map[GroupUse]int{Plain: 1, Broadcast: 2}[x.Use]; len(words) != want && (want > 0 || len(words) != 3) || !isName(words[0]) {
		return x, fmt.Errorf("index entry %q: expected *GROUP, then perhaps broadcast, drop ATTR, keep ATTR or permute ATTR", s)
	}
	if x.Group = words[0]; len(words) == 3 {
		x.Attr = words[2]
	}
	return x, nil
}

// parseBroadcastTo reads "(m, *n) broadcast".
func parseBroadcastTo(s, list string) (IndexItem, error) {
	x := IndexItem{Use: Broadcast}
	list, ok := strings.CutSuffix(strings.TrimSpace(strings.TrimSuffix(list, "broadcast")), ")")
	for _, part := range splitTop(list, ',') {
		y, err := parseIndexItem(part)
		if err != nil || y.Use != Plain || y.At != "" || y.Each {
			ok = false
		}
		x.To = append(x.To, y)
	}
	if !ok || len(x.To) == 0 || !strings.HasSuffix(s, "broadcast") {
		return x, fmt.Errorf("index entry %q: expected (DIMENSION, …) broadcast", s)
	}
	return x, nil
}

// cutEqual cuts "NAME = EXPRESSION" at the sign, which is not part of ==, <=, >= or !=.
func cutEqual(s string) (name, expression string, ok bool) {
	i := strings.IndexByte(s, '=')
	if i <= 0 || strings.IndexByte("<>!=", s[i-1]) >= 0 || i+1 < len(s) && s[i+1] == '=' {
		return s, "", false
	}
	return strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+1:]), true
}

// word is a name in an expression's text; call says that "(" follows it.
type word struct {
	name string
	call bool
	args []string // the names directly behind the "(", up to ")"
}

// wordsOf gives the names in an expression's text, in order.
func wordsOf(text string) []word {
	var list []word
	for i := 0; i < len(text); {
		n := i
		for n < len(text) && wordByte(text[n]) {
			n++
		}
		if n == i {
			i++
			continue
		}
		w := word{name: text[i:n]}
		rest := strings.TrimLeft(text[n:], " ")
		i = n
		if w.call = strings.HasPrefix(rest, "("); w.call {
			inner, _, _ := strings.Cut(rest[1:], ")")
			for _, a := range strings.Split(inner, ",") {
				w.args = append(w.args, strings.TrimSpace(a))
			}
		}
		if isName(w.name) {
			list = append(list, w)
		}
	}
	return list
}

func wordByte(c byte) bool {
	return c == '_' || c == '.' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// known are the words of the expression language that stand for themselves.
var known = []string{"true", "false", "inf", "nan"}

// functions are the functions of bodies beyond operators, casts and reductions.
var functions = []string{"given", "is", "fold", "size", "count", "linear", "stride", "lowest", "highest", "saturate", "offset", "total",
	"chain", "choose", "inside", "element", "entries", "among", "width"}

func isFunction(name string) bool {
	_, dtypeErr := scalar.ParseDType(name)
	return slices.Contains(functions, name) || scalar.IsFunction(name) || dtypeErr == nil
}

package declaration

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
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
// with # are comments. Cases are taken on trust. An error names the file and the line, what was expected and what
// was found.
func Parse(file, text string) ([]*Kernel, error) {
	var list []*reader
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
			list = append(list, &reader{k: &Kernel{Name: rest, Place: Place{file, i + 1}}})
		case len(list) == 0:
			err = fmt.Errorf("expected \"kernel NAME\", found %q", word)
		default:
			err = list[len(list)-1].clause(i+1, word, rest)
		}
		if err != nil {
			return nil, &SyntaxError{file, i + 1, err}
		}
	}
	var kernels []*Kernel
	for _, r := range list {
		if line, err := r.finish(); err != nil {
			if line == 0 {
				line = r.k.Line
			}
			return nil, &SyntaxError{file, line, fmt.Errorf("kernel %s: %w", r.k.Name, err)}
		}
		kernels = append(kernels, r.k)
	}
	return kernels, nil
}

// reader reads the clauses of one declaration. Its terms are names for expressions, which take the place of the names.
type reader struct {
	k     *Kernel
	terms []Let
}

// finish puts the terms in and checks what was read. It gives the line of what is wrong, 0 for the declaration as a whole.
func (r *reader) finish() (line int, err error) {
	for _, step := range []func() (int, error){r.k.checkParts, r.checkSyntax, r.putTerms, r.k.check} {
		if line, err = step(); err != nil {
			break
		}
	}
	return line, err
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

// Head gives the comment that a text of declarations begins with, as one paragraph.
func Head(text string) string {
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

func (r *reader) clause(line int, word, rest string) (err error) {
	d := r.k
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
		var o Operand
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
		var a Attr
		if a, err = parseAttr(rest); err == nil {
			a.Line = line
			d.Attrs = append(d.Attrs, a)
		}
	case "let", "size", "term":
		err = r.addLet(line, word, rest)
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

func (r *reader) addLet(line int, word, rest string) error {
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
		r.k.Sizes = append(r.k.Sizes, l)
	case "term":
		r.terms = append(r.terms, l)
	default:
		r.k.Lets = append(r.k.Lets, l)
	}
	return nil
}

// borderNames are the operations at the border of a graph, which are told by these names in any namespace.
var borderNames = []string{"check", "constant", "export", "import"}

// checkKernelName looks at a name that stands in a declaration: NAME or NAMESPACE:NAME.
func checkKernelName(name string) error {
	space, bare, ok := strings.Cut(name, ":")
	if !ok {
		space, bare = "x", name
	}
	if !isName(bare) || strings.HasPrefix(space, "-") || !isName(strings.ReplaceAll(space, "-", "_")) {
		return fmt.Errorf("expected a kernel's name, NAME or NAMESPACE:NAME, found %q", name)
	}
	if slices.Contains(borderNames, bare) {
		return fmt.Errorf("expected a name other than %s, which are operations of every graph, found %q", strings.Join(borderNames, ", "), name)
	}
	return nil
}

package template

import (
	"fmt"
	"slices"
	"strings"
)

// item is a definition of a kernel's text: a function or something else.
type item struct {
	name   string
	tokens []token
	body   int    // of a function: where its { is; 0 for what is no function
	inline bool   // a function that is part of its callers
	result string // of a function: its type
	params string // of a function, with the parentheses
	table  string // of a function: the C expression of its numbers; "" if it has none
}

// items cuts a text into its definitions.
func items(text string) ([]item, error) {
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	var out []item
	depth, from := 0, 0
	for i, t := range tokens {
		switch t.text {
		case "{", "(":
			depth++
		case "}", ")":
			depth--
		}
		ends := t.text == ";" || t.text == "}" && isFunction(tokens[from:i+1]) || t.text[0] == '#' && from == i
		if depth > 0 || !ends {
			continue
		}
		x, err := newItem(tokens[from : i+1])
		if err != nil {
			return nil, err
		}
		out = append(out, x)
		from = i + 1
	}
	if from != len(tokens) {
		return nil, fmt.Errorf("template: a definition that does not end")
	}
	return out, nil
}

// isFunction says whether tokens that end with } define a function: neither a type nor a value.
func isFunction(tokens []token) bool {
	if tokens[0].text == "typedef" {
		return false
	}
	for i, t := range tokens {
		switch t.text {
		case "=":
			return false
		case "{":
			return i > 0 && tokens[i-1].text == ")"
		}
	}
	return false
}

func newItem(tokens []token) (item, error) {
	x := item{tokens: slices.Clone(tokens)}
	if tokens[0].text == "extern" {
		return x, nil // a name of another file
	}
	if !isFunction(tokens) || tokens[len(tokens)-1].text != "}" {
		x.name = declared(tokens)
		return x, nil
	}
	x.body = index(tokens, "{")
	open, depth := x.body-1, 1
	for depth > 0 && open > 0 {
		open--
		switch tokens[open].text {
		case ")":
			depth++
		case "(":
			depth--
		}
	}
	if open < 1 {
		return x, fmt.Errorf("template: a function without a name")
	}
	x.name, x.inline = tokens[open-1].text, tokens[0].text == "TAPC_FN"
	x.params = texts(tokens[open:x.body])
	for i := 0; i < open-1; i++ {
		switch text := tokens[i].text; text {
		case "static", "inline", "TAPC_FN":
		case "__attribute__":
			i += 5 // ((noinline))
		default:
			x.result += text + " "
		}
	}
	x.table = numbersOf(tokens[open:])
	return x, nil
}

// numbersOf gives the expression of a function's numbers, by how it knows the kernel's table of addresses.
func numbersOf(tokens []token) string {
	text := " " + texts(tokens[:min(len(tokens), 400)]) + " "
	head, body, _ := strings.Cut(text, "{")
	if strings.Contains(head, "void * const * b ") {
		return "b[0]"
	}
	if strings.Contains(head, "const tapc_program * program ") {
		return "program->numbers[TAPC_TARGET]"
	}
	if !strings.Contains(head, "void * ctx ") {
		return ""
	}
	if strings.HasPrefix(body, " void * const * b = ctx ;") {
		return "((void *const *)ctx)[0]"
	}
	if rest, ok := strings.CutPrefix(body, " const "); ok {
		words := strings.Fields(rest)
		if i := slices.Index(words, "="); i > 1 && i+1 < len(words) && words[i+1] == "ctx" {
			return fmt.Sprintf("((const %s *)ctx)->b[0]", words[0])
		}
	}
	return ""
}

// declared gives the name that a type or a value is declared by; "" for a line of the preprocessor.
func declared(tokens []token) string {
	depth, name := 0, ""
	for _, t := range tokens {
		switch t.text {
		case "{", "(":
			depth++
		case "}", ")":
			depth--
		case "=", "[":
			if depth == 0 {
				return name
			}
		default:
			if depth == 0 && isLetter(t.text[0]) && t.text != "__attribute__" {
				name = t.text
			}
		}
	}
	return name
}

func index(tokens []token, text string) int {
	return slices.IndexFunc(tokens, func(t token) bool { return t.text == text })
}

// texts joins tokens with blanks.
func texts(tokens []token) string {
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = t.text
	}
	return strings.Join(words, " ")
}

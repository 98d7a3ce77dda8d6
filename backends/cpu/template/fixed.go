package template

import "strings"

// fix makes words of the numbers of a function's body that C wants to be constants: the sizes of arrays and of their alignment, cases, and arguments of
// functions of the compiler's. An enumeration of numbers becomes variables of its type.
func fix(tokens []token) []token {
	f := fixer{}
	for i, t := range tokens {
		f.at(tokens, i)
		if t.kind != word && f.fixed() {
			t.kind = word
		}
		f.out = append(f.out, t)
	}
	return f.out
}

type fixer struct {
	out      []token
	declares bool // the statement declares something, and no = came yet
	starts   bool // the next token begins a statement
	depth    int  // of parentheses in the statement
	brackets int  // open brackets of an array's size
	call     int  // the depth from which on arguments are constants; 0 for none
	isCase   bool
}

func (f *fixer) fixed() bool { return f.brackets > 0 || f.call > 0 && f.depth >= f.call || f.isCase }

// at looks at a token before it is taken.
func (f *fixer) at(tokens []token, i int) {
	text := tokens[i].text
	if f.starts {
		f.declares = i+1 < len(tokens) && isName(text) && (isName(tokens[i+1].text) || tokens[i+1].text == "*")
		f.starts, f.brackets, f.depth, f.call, f.isCase = false, 0, 0, 0, text == "case"
	}
	switch text {
	case ";", "{", "}":
		f.starts = text != "{" || i == 0 || tokens[i-1].text != "="
	case "(":
		f.depth++
		if f.call == 0 && i > 0 && constantArguments(tokens, i) {
			f.call = f.depth
		}
	case ")":
		if f.depth--; f.depth < f.call {
			f.call = 0
		}
	case "=":
		if f.depth == 0 {
			f.declares = false
		}
	case ":":
		f.isCase = false
	case ",":
		f.fetch(tokens, i)
	case "[":
		if f.brackets > 0 || f.declares && f.depth == 0 {
			f.brackets++
		}
	case "]":
		if f.brackets > 0 {
			f.brackets--
		}
	}
}

// fetch fixes the last two arguments of TAPC_FETCH, from the comma before them on.
func (f *fixer) fetch(tokens []token, i int) {
	if f.call == 0 && i+4 < len(tokens) && tokens[i+2].text == "," && tokens[i+4].text == ")" {
		depth := 0
		for j := i; j > 0; j-- {
			switch tokens[j].text {
			case ")":
				depth++
			case "(":
				if depth--; depth < 0 {
					if tokens[j-1].text == "TAPC_FETCH" {
						f.call = f.depth
					}
					return
				}
			}
		}
	}
}

// constantArguments says whether the parenthesis holds constants: behind the name of a function of the compiler's or the processor's, or of an attribute.
func constantArguments(tokens []token, i int) bool {
	name := tokens[i-1].text
	for _, prefix := range []string{"__builtin_", "__attribute__", "_Alignas", "_mm", "_tile"} {
		if strings.HasPrefix(name, prefix) {
			return !strings.HasPrefix(name, "__builtin_mem")
		}
	}
	return strings.Contains(name, "lane")
}

func isName(text string) bool {
	switch text {
	case "return", "else", "goto", "case", "sizeof", "for", "while", "do", "if":
		return false
	}
	return isLetter(text[0])
}

// unwrapped makes the enumerations of a function's body variables of their type.
func unwrapped(tokens []token) []token {
	var out []token
	for i := 0; i < len(tokens); i++ {
		if tokens[i].text != "enum" || i+1 == len(tokens) || tokens[i+1].text != "{" {
			out = append(out, tokens[i])
			continue
		}
		space := tokens[i].space
		out = append(out, token{space: space, text: "const"}, token{space: " ", text: "int"})
		for i += 2; tokens[i].text != "}"; i++ {
			out = append(out, tokens[i])
		}
	}
	return out
}

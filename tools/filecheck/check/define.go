package check

import (
	"fmt"
	"strings"
)

// validDefines checks that definitions have a name and a value. It reports those that do not and returns false.
func validDefines(defs []string, out *printer) bool {
	good := true
	for _, def := range defs {
		switch strings.IndexByte(def, '=') {
		case -1:
			out.plain("Missing equal sign in command-line definition '-D%s'", def)
			good = false
		case 0:
			out.plain("Missing variable name in command-line definition '-D%s'", def)
			good = false
		}
	}
	return good
}

// define sets the variables of valid definitions. It reports what is wrong and returns false.
func define(defs []string, vars *scope, out *printer) bool {
	good := true
	spans := defineSpans(defs)
	for i, text := range spans {
		for _, bad := range defineOne(text, strings.HasPrefix(defs[i], "#"), vars) {
			good = false
			if bad.at.src == nil {
				out.plain("%s", bad.text)
				continue
			}
			bad.spaced = true
			out.problem(bad)
		}
	}
	return good
}

// defineSpans writes the definitions into a text of their own, for messages to point at. Numeric ones are rewritten
// to the form that they have in check files.
func defineSpans(defs []string) []span {
	var text strings.Builder
	var at [][2]int
	for i, def := range defs {
		fmt.Fprintf(&text, "Global define #%d: ", i+1)
		if def[0] != '#' {
			at = append(at, [2]int{text.Len(), text.Len() + len(def)})
			text.WriteString(def + "\n")
			continue
		}
		fmt.Fprintf(&text, "%s (parsed as: [[", def)
		at = append(at, [2]int{text.Len(), text.Len() + len(def)})
		text.WriteString(strings.Replace(def, "=", ":", 1) + "]])\n")
	}
	src := newSource("Global defines", text.String())
	spans := make([]span, len(at))
	for i, a := range at {
		spans[i] = span{src, a[0], a[1]}
	}
	return spans
}

func defineOne(text span, numeric bool, vars *scope) []*problem {
	if numeric {
		return defineNumber(text.from(1), vars)
	}
	eq := text.index("=")
	whole := text.to(eq)
	name, rest, bad := parseName(whole)
	if bad != nil {
		return []*problem{bad}
	}
	if name.has("@") || !rest.empty() {
		return []*problem{problemf(whole, "invalid name in string variable definition '%s'", whole)}
	}
	id := name.String()
	if vars.numbers[id] != nil {
		return []*problem{problemf(name, "numeric variable with name '%s' already exists", id)}
	}
	if _, again := vars.text[id]; !again {
		vars.text[id] = text.from(eq + 1)
	}
	vars.defined[id] = true
	return nil
}

func defineNumber(text span, vars *scope) []*problem {
	block, bad := parseNumBlock(vars, 0, false, text)
	if bad != nil {
		return bad
	}
	if block.def == nil || block.expr == nil {
		return []*problem{problemf(text, "missing value in numeric variable definition")}
	}
	v, failed := block.expr.eval()
	for _, f := range failed {
		what := "overflow error"
		if f.undefined {
			what = "undefined variable: " + f.at.String()
		}
		bad = append(bad, &problem{text: what})
	}
	if bad == nil {
		block.def.value = v
		vars.numbers[block.def.name] = block.def
	}
	return bad
}

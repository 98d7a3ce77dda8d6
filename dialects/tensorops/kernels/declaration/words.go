package declaration

import (
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir/scalar"
)

// Word is a name in an expression's text; Call says that "(" follows it.
type Word struct {
	Name string
	Call bool
	Args []string // the names directly behind the "(", up to ")"
}

// cutEqual cuts "NAME = EXPRESSION" at the sign, which is not part of ==, <=, >= or !=.
func cutEqual(s string) (name, expression string, ok bool) {
	i := strings.IndexByte(s, '=')
	if i <= 0 || strings.IndexByte("<>!=", s[i-1]) >= 0 || i+1 < len(s) && s[i+1] == '=' {
		return s, "", false
	}
	return strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+1:]), true
}

// Words gives the names in an expression's text, in order.
func Words(text string) []Word {
	var list []Word
	for i := 0; i < len(text); {
		n := i
		for n < len(text) && wordByte(text[n]) {
			n++
		}
		if n == i {
			i++
			continue
		}
		w := Word{Name: text[i:n]}
		rest := strings.TrimLeft(text[n:], " ")
		i = n
		if w.Call = strings.HasPrefix(rest, "("); w.Call {
			inner, _, _ := strings.Cut(rest[1:], ")")
			for _, a := range strings.Split(inner, ",") {
				w.Args = append(w.Args, strings.TrimSpace(a))
			}
		}
		if isName(w.Name) {
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

func keys[V any](m map[string]V) string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

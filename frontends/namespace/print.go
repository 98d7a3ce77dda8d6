package namespace

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/frontends/foreign"
)

// String writes an operator as dictionaries have it, on one line, and the statements of its body on more.
func (o *Op) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", nameText(o.Name), o.Since)
	if o.Deprecated {
		return b.String() + " deprecated"
	}
	b.WriteString(" " + portsText(o.In) + " -> " + portsText(o.Out))
	if len(o.Attrs) > 0 {
		var list []string
		for _, a := range o.Attrs {
			list = append(list, a.String())
		}
		b.WriteString(" {" + strings.Join(list, ", ") + "}")
	}
	for _, t := range o.Types {
		b.WriteString(" " + t.Var + ": " + unionText(t.Allowed) + ";")
	}
	if len(o.Traits) > 0 {
		b.WriteString(" is " + strings.Join(o.Traits, " "))
	}
	switch {
	case o.Body == nil:
	case o.Body.ByTypes:
		b.WriteString(" body by types")
	default:
		fmt.Fprintf(&b, " body %d\n  %s", o.Body.Version, strings.Join(o.Body.text, "\n  "))
	}
	return b.String()
}

func nameText(s string) string {
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return strconv.Quote(s)
		}
	}
	return s
}

func portsText(list []Port) string {
	var out []string
	for _, p := range list {
		out = append(out, p.String())
	}
	return "(" + strings.Join(out, ", ") + ")"
}

// String writes a port as dictionaries have it.
func (p Port) String() string {
	t := nameText(p.Name)
	for _, a := range p.Aliases {
		t += "/" + nameText(a)
	}
	if p.Optional {
		t += "?"
	}
	if p.Variadic {
		t += "*" + strconv.Itoa(p.Least)
	}
	if p.Mixed {
		t += " mixed"
	}
	return t + ": " + p.Type
}

// String writes an attribute as dictionaries have it.
func (a Attr) String() string {
	t := nameText(a.Name)
	if a.Required {
		t += "!"
	}
	t += ": " + a.Type
	if a.Default != nil {
		text := ValueText(*a.Default)
		if a.Type == "type" || a.Type == "types" { // names of types
			text = strings.ReplaceAll(text, `"`, "")
		}
		t += " = " + text
	}
	if len(a.Words) > 0 {
		t += " of"
		for _, w := range a.Words {
			t += " " + strconv.Quote(w)
		}
	}
	return t
}

// ValueText writes a value as dictionaries have it.
func ValueText(v foreign.Value) string {
	switch v.Kind {
	case foreign.Bool:
		return strconv.FormatBool(v.Int != 0)
	case foreign.Int:
		return strconv.FormatInt(v.Int, 10)
	case foreign.Float:
		s := strconv.FormatFloat(v.Float, 'g', -1, 64)
		if !strings.ContainsAny(s, ".eIN") {
			s += ".0"
		}
		return s
	case foreign.String:
		return strconv.Quote(v.Str)
	case foreign.List:
		var out []string
		for _, x := range v.List {
			out = append(out, ValueText(x))
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	return v.Kind.String()
}

// groupOrder lists the groups of types in the order in which they are written.
var groupOrder = []string{"int", "uint", "float", "complex", "float8"}

// unionText writes types, with words for groups, and a container once around all that it holds.
func unionText(types []string) string {
	rest := map[string]bool{}
	held := map[string][]string{}
	for _, t := range types {
		container, inner, ok := strings.Cut(strings.TrimSuffix(t, ")"), "(")
		if ok && container != "map" {
			held[container] = append(held[container], inner)
			continue
		}
		rest[t] = true
	}
	var out []string
	for _, g := range groupOrder {
		if !slices.ContainsFunc(groups[g], func(t string) bool { return !rest[t] }) {
			out = append(out, "@"+g)
			for _, t := range groups[g] {
				delete(rest, t)
			}
		}
	}
	out = append(out, sortedKeys(rest)...)
	for _, c := range sortedKeys(held) {
		out = append(out, c+"("+unionText(held[c])+")")
	}
	return strings.Join(out, " ")
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// Change is one difference between two namespaces: an operator that only one has, or what differs in it.
type Change struct {
	Op   string   `json:"op"`
	What string   `json:"what"` // added, removed or changed
	How  []string `json:"how,omitempty"`
}

// Diff lists what is in b and not in a, or differs, by operator.
func Diff(a, b Namespace) []Change {
	was, is := map[string]*Op{}, map[string]*Op{}
	for _, o := range a.Ops() {
		was[o.Name] = o
	}
	for _, o := range b.Ops() {
		is[o.Name] = o
	}
	all := sortedKeys(was)
	for name := range is {
		if was[name] == nil {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	var out []Change
	for _, name := range all {
		switch x, y := was[name], is[name]; {
		case x == nil:
			out = append(out, Change{Op: name, What: "added"})
		case y == nil:
			out = append(out, Change{Op: name, What: "removed"})
		default:
			if how := differences(x, y); len(how) > 0 {
				out = append(out, Change{name, "changed", how})
			}
		}
	}
	return out
}

// differences says in what an operator differs. A since-version that is another while nothing else is counts too: its meaning changed.
func differences(x, y *Op) []string {
	var out []string
	side := func(word string, p, q []Port) {
		if portsText(p) != portsText(q) {
			out = append(out, fmt.Sprintf("%s %s → %s", word, portsText(p), portsText(q)))
		}
	}
	side("inputs", x.In, y.In)
	side("outputs", x.Out, y.Out)
	for _, a := range x.Attrs {
		switch b := y.Attr(a.Name); {
		case b == nil:
			out = append(out, "attribute "+a.Name+" removed")
		case a.String() != b.String():
			out = append(out, fmt.Sprintf("attribute %v → %v", a, *b))
		}
	}
	for _, a := range y.Attrs {
		if x.Attr(a.Name) == nil {
			out = append(out, "attribute "+a.String()+" added")
		}
	}
	for _, t := range y.Types {
		old := x.Allowed(t.Var)
		if more := without(t.Allowed, old); len(more) > 0 {
			out = append(out, fmt.Sprintf("%s also %s", t.Var, unionText(more)))
		}
		if less := without(old, t.Allowed); len(less) > 0 && less[0] != t.Var {
			out = append(out, fmt.Sprintf("%s not %s", t.Var, unionText(less)))
		}
	}
	if len(out) == 0 && x.Since != y.Since {
		out = append(out, fmt.Sprintf("since %d → %d, with the same ports, attributes and types", x.Since, y.Since))
	}
	return out
}

func without(a, b []string) []string {
	var out []string
	for _, x := range a {
		if !slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	return out
}

package declaration

import (
	"fmt"
	"slices"
	"strings"
)

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

// parseOperand reads "x | X: T [*batch, i] else 1", with "?" after the names of an optional operand and "..." after a
// variadic one.
func parseOperand(s string) (Operand, error) {
	var o Operand
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

package declaration

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// parseAttr reads "activation: word(none, relu) = none" or "stride: ints(o) in 1.. = 1".
func parseAttr(s string) (Attr, error) {
	var a Attr
	name, rest, ok := strings.Cut(s, ":")
	if a.Name = strings.TrimSpace(name); !ok || !isName(a.Name) {
		return a, fmt.Errorf("expected NAME: TYPE, found %q", s)
	}
	rest, a.Default, a.HasDefault = strings.Cut(rest, "=")
	a.Default = strings.TrimSpace(a.Default)
	rest, limits, limited := strings.Cut(rest, " in ")
	if limited {
		if err := a.limits(limits); err != nil {
			return a, err
		}
	}
	typ, args, _ := strings.Cut(strings.TrimSpace(rest), "(")
	i := slices.Index(attrTypes, typ)
	if i < 0 {
		return a, fmt.Errorf("expected a type of attribute (%s), found %q", strings.Join(attrTypes, ", "), typ)
	}
	a.Type = AttrType(i)
	return a, a.arguments(splitTop(strings.TrimSuffix(args, ")"), ','))
}

// arguments reads what stands in parentheses behind an attribute's type.
func (a *Attr) arguments(args []string) error {
	for _, w := range args {
		if !isName(w) {
			return fmt.Errorf("expected names in %s(…), found %q", a.Type, w)
		}
	}
	want := map[AttrType]int{AxesAttr: 1, PermAttr: 1, IntsAttr: 1, AxisAttr: 2, DTypeAttr: 1}[a.Type]
	switch {
	case a.Type == WordAttr:
		if a.Words = args; len(args) == 0 {
			return fmt.Errorf("expected the words of %s in word(…)", a.Name)
		}
		return nil
	case a.Type == IntsAttr && len(args) == 0:
		return nil
	case len(args) != want:
		return fmt.Errorf("expected %d names in %s(…), found %d", want, a.Type, len(args))
	}
	if want > 0 {
		a.Of = args[0]
	}
	if want > 1 {
		a.Then = args[1]
	}
	return nil
}

// limits reads "LEAST..MOST", where either may be left out.
func (a *Attr) limits(s string) error {
	least, most, ok := strings.Cut(strings.TrimSpace(s), "..")
	for _, x := range []struct {
		text string
		to   **int64
	}{{least, &a.Least}, {most, &a.Most}} {
		if x.text == "" {
			continue
		}
		n, err := strconv.ParseInt(x.text, 10, 64)
		if err != nil {
			ok = false
		}
		*x.to = &n
	}
	if !ok || a.Least == nil && a.Most == nil {
		return fmt.Errorf("expected limits LEAST..MOST behind \"in\", found %q", s)
	}
	return nil
}

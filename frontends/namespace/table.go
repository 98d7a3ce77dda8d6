package namespace

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/frontends/mapping/rules"
)

// CheckTable holds the rules of a table to the dictionary of its namespace: an operator is there at some version that the rule is for, with
// the attributes that the rule reads, and has as many inputs and outputs. An operator that is not there at all is one of the user's
// own, unless its name is nearly that of another. Domains without a dictionary are not checked. All that is wrong is reported, each
// with its line.
func (s Set) CheckTable(t *rules.Table) error {
	var all []error
	for _, r := range t.Rules {
		framework := t.Namespace
		if r.Domain != "" {
			framework += "/" + r.Domain
		}
		d := s.dictionary(framework)
		if d == nil {
			continue
		}
		if fault := d.checkRule(r); fault != "" {
			all = append(all, fmt.Errorf("%s:%d: rule %s: %s", t.File(), r.Line, r.Name, fault))
		}
	}
	return errors.Join(all...)
}

// checkRule says what is wrong with a rule, or "".
func (d *Dictionary) checkRule(r *rules.Rule) string {
	history := d.ops[r.Op]
	if len(history) == 0 {
		for _, name := range sortedKeys(d.ops) {
			if nearly(strings.ToLower(r.Op), strings.ToLower(name)) {
				return fmt.Sprintf("%s has no operator %s at any version: did you mean %s?", d.Name, r.Op, name)
			}
		}
		return "" // an operator of the user's own
	}
	var reach []*Op
	for i, o := range history {
		end := d.Last
		if i+1 < len(history) {
			end = history[i+1].Since - 1
		}
		if o.Deprecated && i == 0 && end >= r.From {
			return "" // deprecated as it came, so that models have it; the dictionary does not say how it was
		}
		if !o.Deprecated && end >= r.From && (r.To < 0 || o.Since <= r.To) {
			reach = append(reach, o)
		}
	}
	if len(reach) == 0 && d.First <= max(r.From, 1) {
		return fmt.Sprintf("%s is not there at the versions that the rule is for", r.Op)
	}
	if len(reach) == 0 || r.Refuses != "" {
		return "" // for versions that the dictionary does not have
	}
	for _, a := range r.Attrs {
		if !slices.ContainsFunc(reach, func(o *Op) bool { return o.Attr(a.Name) != nil }) && !slices.ContainsFunc(history, func(o *Op) bool { return o.Attr(a.Name) != nil }) {
			var names []string
			for _, x := range reach[len(reach)-1].Attrs {
				names = append(names, x.Name)
			}
			return fmt.Sprintf("%s has no attribute %s, at any version: it has %s", r.Op, a.Name, strings.Join(names, ", "))
		}
	}
	most, variadic := 0, false
	for _, o := range reach {
		most = max(most, len(o.In))
		variadic = variadic || slices.ContainsFunc(o.In, func(p Port) bool { return p.Variadic })
	}
	if !variadic && len(r.In) > most {
		return fmt.Sprintf("%s has at most %d inputs, and the rule takes %d", r.Op, most, len(r.In))
	}
	most, variadic = 0, false
	for _, o := range reach {
		most = max(most, len(o.Out))
		variadic = variadic || slices.ContainsFunc(o.Out, func(p Port) bool { return p.Variadic })
	}
	if !variadic && len(r.Out) > most {
		return fmt.Sprintf("%s has at most %d outputs, and the rule gives %d", r.Op, most, len(r.Out))
	}
	return ""
}

// nearly says whether one letter makes the difference between two words: one more, one less, or another.
func nearly(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch len(b) - len(a) {
	case 0:
		return i == len(a) || a[i+1:] == b[i+1:]
	case 1:
		return a[i:] == b[i+1:]
	}
	return false
}

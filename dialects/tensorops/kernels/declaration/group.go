package declaration

import (
	"slices"

	"tensortapestry.org/tapc/ir/scalar"
)

// IsGroup says whether a name stands for any number of dimensions.
func (d *Kernel) IsGroup(name string) bool {
	for _, o := range d.Operands {
		if slices.ContainsFunc(o.Index, func(x IndexItem) bool { return x.Group == name }) {
			return true
		}
	}
	return name != "" && (slices.ContainsFunc(d.Attrs, func(a Attr) bool { return a.Type == IntsAttr && a.Of == name }) ||
		slices.ContainsFunc(d.Sizes, func(l Let) bool { return l.Group && l.Name == name }))
}

// IsDim says whether a name stands for dimensions: in an index string, by a size or by an attribute.
func (d *Kernel) IsDim(name string) bool {
	for _, o := range d.Operands {
		if slices.ContainsFunc(o.Index, func(x IndexItem) bool { return x.Name() == name }) {
			return true
		}
	}
	return d.IsGroup(name) || slices.ContainsFunc(d.Sizes, func(l Let) bool { return l.Name == name })
}

// Between gives how many single dimensions stand behind a group and before, or behind, another, in the operand that has most.
func (d *Kernel) Between(group, then string) (most int, ok bool) {
	for _, o := range d.Operands {
		at := slices.IndexFunc(o.Index, func(x IndexItem) bool { return x.Group == group })
		if at < 0 || !slices.ContainsFunc(o.Index, func(x IndexItem) bool { return x.Group == then }) {
			continue
		}
		n := 0
		for _, x := range o.Index[at+1:] {
			if x.Group == "" {
				n++
			}
		}
		most, ok = max(most, n), true
	}
	return most, ok
}

// GroupsIn gives the groups that an expression takes dimension by dimension; linear and count take them as a whole.
func (d *Kernel) GroupsIn(text string) []string {
	var groups []string
	skip := 0
	for _, w := range Words(text) {
		switch {
		case skip > 0:
			skip--
		case w.Call && (w.Name == "linear" || w.Name == "count"):
			skip = len(w.Args)
		case w.Call && scalar.IsElementwise(w.Name): // its dimensions are its own
			return groups
		case !w.Call && d.IsGroup(w.Name):
			groups = append(groups, w.Name)
		case !w.Call:
			if a, ok := d.Attr(w.Name); ok && a.Type == IntsAttr && a.Of != "" {
				groups = append(groups, a.Of)
			}
		}
	}
	return groups
}

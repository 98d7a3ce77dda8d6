// Package dictionaries is the commands `tapc namespace list`, `show` and `diff`: the vocabularies of graphs, written as text or JSON. It must not read
// graphs. Read next: frontends/namespace.
package dictionaries

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/ir/diag"
)

// Find gives a namespace by its name. The error is one of usage.
func Find(name string) (namespace.Namespace, error) {
	n, err := namespace.Find(name)
	if err != nil {
		err = diag.Usage("%w", err)
	}
	return n, err
}

// Names are those of the dictionaries, each of which stands for its newest version.
func Names() (names []string) {
	for _, d := range namespace.All() {
		names = append(names, d.Name)
	}
	return names
}

// Known gives what holds values of a flag to namespaces that have a dictionary.
func Known(flag string) func(name string) error {
	return func(name string) error {
		_, err := namespace.Find(name)
		if err != nil {
			err = diag.Usage("%s: %w", flag, err)
		}
		return err
	}
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(true)
	return e.Encode(v)
}

// List writes the dictionaries, their versions, and how many operators the newest has.
func List(w io.Writer, asJSON bool) error {
	type row struct {
		Name     string `json:"name"`
		Versions string `json:"versions"`
		Newest   int    `json:"operators"`
		Source   string `json:"source,omitempty"`
	}
	var rows []row
	for _, d := range namespace.All() {
		newest := namespace.Namespace{Dictionary: d, Version: d.Last}
		rows = append(rows, row{d.Name, d.Range(), len(newest.Ops()), d.Source})
	}
	if asJSON {
		return writeJSON(w, rows)
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%-32s %5d operators, versions %s\n", r.Name, r.Newest, r.Versions)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Show writes the operators of a namespace, or those that are named at every version that changed them.
func Show(w io.Writer, name string, operators []string, asJSON bool) error {
	n, err := Find(name)
	if err != nil {
		return err
	}
	if len(operators) == 0 && asJSON {
		return writeJSON(w, n.Ops())
	}
	var b strings.Builder
	if len(operators) == 0 {
		fmt.Fprintf(&b, "# %v\n", n)
		if n.Source != "" {
			fmt.Fprintf(&b, "# from %s\n", n.Source)
		}
		for _, o := range n.Ops() {
			fmt.Fprintf(&b, "%v\n", o)
		}
	}
	var all []*namespace.Op
	for _, name := range operators {
		history := n.History(name)
		if history == nil {
			return diag.Unknown("operator of "+n.String(), name, names(n))
		}
		for _, o := range history {
			all = append(all, o)
			mark := " "
			if n.Op(o.Name) == o {
				mark = ">"
			}
			fmt.Fprintf(&b, "%s %s\n", mark, strings.ReplaceAll(o.String(), "\n", "\n  "))
		}
	}
	if asJSON {
		return writeJSON(w, all)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

func names(n namespace.Namespace) (list []string) {
	for _, o := range n.Ops() {
		list = append(list, o.Name)
	}
	return list
}

// Diff writes what one namespace has that another has not, or otherwise.
func Diff(w io.Writer, from, to string, asJSON bool) error {
	a, err := Find(from)
	if err != nil {
		return err
	}
	b, err := Find(to)
	if err != nil {
		return err
	}
	changes := namespace.Diff(a, b)
	if asJSON {
		return writeJSON(w, append([]namespace.Change{}, changes...))
	}
	var text strings.Builder
	signs, count := map[string]string{"added": "+", "removed": "-", "changed": "~"}, map[string]int{}
	for _, x := range changes {
		count[x.What]++
		fmt.Fprintf(&text, "%s %s\n", signs[x.What], x.Op)
		for _, how := range x.How {
			fmt.Fprintf(&text, "    %s\n", how)
		}
	}
	fmt.Fprintf(&text, "%v to %v: %d added, %d removed, %d changed\n", a, b, count["added"], count["removed"], count["changed"])
	_, err = io.WriteString(w, text.String())
	return err
}

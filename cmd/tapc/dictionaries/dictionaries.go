// Package dictionaries is the vocabularies that a command line knows, and the commands `tapc namespace list`, `show` and `diff`, which write them as text or
// JSON. It must not read graphs. Read next: frontends/namespace.
package dictionaries

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/ir/diag"
)

// Suffix is how names of files with dictionaries end.
const Suffix = ".ns"

// Known is what a command line says of vocabularies with --namespace: files with dictionaries, which it knows besides tapc's own, and the vocabulary of graphs that
// name none.
type Known struct {
	Values []string // of the flag: names, and files with Suffix
	Space  string   // the vocabulary of graphs that name none: the one that is named, or else that of the last file; "" without either
	set    namespace.Set
}

// Check holds values of a flag to namespaces that have a dictionary, while a command line is parsed; where it has a file of dictionaries, what has it is asked
// later.
func Check(fs *pflag.FlagSet, flag string, commandLine []string) {
	isFile := func(word string) bool { return strings.HasSuffix(word, Suffix) }
	flagnames.Check(fs, flag, namespace.Names(), func(name string) error {
		if slices.ContainsFunc(commandLine, isFile) {
			return nil
		}
		_, err := new(Known).Find("--"+flag, name)
		return err
	})
}

// Read reads the files. What is wrong with one is a diagnostic, a file of another kind or a name without a dictionary an error of usage.
func (k *Known) Read() error {
	named := ""
	for _, v := range k.Values {
		if !strings.HasSuffix(v, Suffix) {
			if named != "" {
				return diag.Usage("--namespace %s and %s: expected one vocabulary, and files whose names end in %s", named, v, Suffix)
			}
			named = v
			continue
		}
		text, err := inputfile.ReadText(v, inputfile.MaxText)
		if err != nil {
			return fmt.Errorf("--namespace: %w", err)
		}
		d, err := namespace.Parse(v, string(text))
		if err != nil {
			return err
		}
		if k.set, err = k.Set().With(d); err != nil {
			return diag.Errorf(namespace.CodeForm, "namespace", diag.Location{File: v}, "%v", err)
		}
		k.Space = d.Name
	}
	if named == "" {
		return nil
	}
	k.Space = named
	_, err := k.Find("--namespace", named)
	return err
}

// Set is all dictionaries.
func (k *Known) Set() namespace.Set {
	if k.set == nil {
		return namespace.All()
	}
	return k.set
}

// Find gives a namespace by the name that a flag or an argument has. The error is one of usage.
func (k *Known) Find(flag, name string) (namespace.Namespace, error) {
	n, err := k.Set().Find(name)
	switch {
	case err != nil && flag != "":
		err = diag.Usage("%s: %w", flag, err)
	case err != nil:
		err = diag.Usage("%w", err)
	}
	return n, err
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(true)
	return e.Encode(v)
}

// List writes the dictionaries, their versions, and how many operators the newest has.
func (k *Known) List(w io.Writer, asJSON bool) error {
	type row struct {
		Name     string `json:"name"`
		Versions string `json:"versions"`
		Newest   int    `json:"operators"`
		Source   string `json:"source,omitempty"`
	}
	var rows []row
	for _, d := range k.Set() {
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
func (k *Known) Show(w io.Writer, name string, operators []string, asJSON bool) error {
	n, err := k.Find("", name)
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
func (k *Known) Diff(w io.Writer, from, to string, asJSON bool) error {
	a, err := k.Find("", from)
	if err != nil {
		return err
	}
	b, err := k.Find("", to)
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

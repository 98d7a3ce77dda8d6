package info

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// WriteJSON writes what is known as one JSON object.
func (x *Info) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(x)
}

// Write writes what is known for people.
func (x *Info) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	x.head(t)
	ports(t, "inputs", x.Inputs)
	ports(t, "outputs", x.Outputs)
	if len(x.Dimensions) > 0 {
		fmt.Fprintf(t, "dimensions, to be given when compiling:\n")
	}
	for _, d := range x.Dimensions {
		if d.Name != "" {
			fmt.Fprintf(t, "  %s\tor, place by place, %s\n", d.Flags[0], strings.Join(d.Flags[1:], " "))
		} else {
			fmt.Fprintf(t, "  %s\n", d.Flags[0])
		}
	}
	x.operations(t)
	fmt.Fprintf(t, "parameters: %d in %d %s, %s\n", x.Parameters.Elements, x.Parameters.Tensors, plural(x.Parameters.Tensors, "tensor"), size(x.Parameters.Bytes))
	for _, f := range x.Faults {
		fmt.Fprintf(t, "missing: %s\n", f)
	}
	if x.Builds {
		fmt.Fprintf(t, "build it:\n  %s\n", x.Command)
	} else {
		why := "as it is: with what is missing, by"
		if len(x.Dimensions) > 0 {
			why = "as it is, at these sizes: with what is missing, or at sizes that fit, by"
		}
		fmt.Fprintf(t, "it can not be built %s\n  %s\n", why, x.Command)
	}
	return t.Flush()
}

func (x *Info) head(w io.Writer) {
	fmt.Fprintf(w, "%s: %s", x.File, x.Form)
	for _, v := range x.Versions {
		fmt.Fprintf(w, ", %s %d", v.Domain, v.Version)
	}
	if x.Producer != "" {
		fmt.Fprintf(w, ", by %s", x.Producer)
	}
	fmt.Fprintln(w)
}

func ports(w io.Writer, what string, list []Port) {
	fmt.Fprintf(w, "%s:\n", what)
	for _, p := range list {
		shape := "?"
		if p.Shape != nil {
			var words []string
			for _, s := range p.Shape {
				words = append(words, string(s))
			}
			shape = "[" + strings.Join(words, ", ") + "]"
		}
		kind := p.Type
		if kind == "" {
			kind = "?"
		}
		fmt.Fprintf(w, "  %s\t%s\t%s", p.Name, kind, shape)
		if p.Note != "" {
			fmt.Fprintf(w, "\t%s", p.Note)
		}
		fmt.Fprintln(w)
	}
}

// operations lists the operators, those first that are not mapped.
func (x *Info) operations(w io.Writer) {
	total, left := 0, 0
	for _, o := range x.Operators {
		total += o.Count
		if !o.Mapped {
			left++
		}
	}
	state := "all can be compiled"
	if left > 0 {
		state = fmt.Sprintf("%d %s can not all be compiled", left, plural(int64(left), "kind"))
	}
	fmt.Fprintf(w, "operators: %d of %d %s; %s\n", total, len(x.Operators), plural(int64(len(x.Operators)), "kind"), state)
	for _, mapped := range []bool{false, true} {
		for _, o := range x.Operators {
			if o.Mapped != mapped {
				continue
			}
			fmt.Fprintf(w, "  %6d  %s\n", o.Count, o.Name)
			for _, r := range o.Reasons {
				fmt.Fprintf(w, "          %s: %s", r.Cause, r.Text)
				if len(r.Nodes) > 0 {
					fmt.Fprintf(w, " [%s]", strings.Join(r.Nodes, ", "))
				}
				fmt.Fprintln(w)
			}
		}
	}
}

func plural(n int64, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// size writes bytes in the greatest unit of which there is at least one.
func size(n int64) string {
	units, x, i := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}, float64(n), 0
	for x >= 1024 && i+1 < len(units) {
		x, i = x/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d %s", n, plural(n, "byte"))
	}
	return fmt.Sprintf("%.1f %s", x, units[i])
}

// programName gives a name for the program of a file.
func programName(file string) string {
	name := filepath.Base(file)
	if i := strings.IndexByte(name, '.'); i > 0 {
		return name[:i]
	}
	return "program"
}

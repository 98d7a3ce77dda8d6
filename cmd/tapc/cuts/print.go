package cuts

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"tensortapestry.org/tapc/dialects/tensorops"
)

// Print writes a table for each operation.
func Print(w io.Writer, list []Operation) error {
	for _, op := range list {
		if op.Reason != "" {
			fmt.Fprintf(w, "%s: %s, can not be cut: %s\n", op.Operation, op.Kernel, op.Reason)
			continue
		}
		fmt.Fprintf(w, "%s: %s, index %s\n", op.Operation, op.Kernel, op.Index)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, d := range op.Dimensions {
			fmt.Fprintf(t, "  %s\t%d\t%s\t%s\t%s\n", d.Name, d.Extent, d.Cut, d.Step, d.why())
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// JSON writes the list as an object with the field operations.
func JSON(w io.Writer, list []Operation) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(map[string][]Operation{"operations": list})
}

// String says what a step takes: "18 operations, 72 bytes, 4 new".
func (s *Step) String() string {
	if s == nil {
		return "-"
	}
	text := fmt.Sprintf("%.0f operations, %.0f bytes, %.0f new", s.Operations, s.Bytes, s.Footprint)
	if s.Memory > 0 {
		text += fmt.Sprintf(", %.0f beside", s.Memory)
	}
	return text
}

// pairs says what the monoids of two numbers have.
var pairs = map[string]string{tensorops.LogSumExp: " (greatest, scaled sum)", tensorops.Moments: " (sum, squared distances)"}

// why says how parts are combined, what is read, or why there are none.
func (d *Dimension) why() string {
	var parts []string
	if len(d.Combine) > 0 {
		var names []string
		for _, name := range d.Combine {
			names = append(names, name+pairs[name])
		}
		parts = append(parts, "by "+strings.Join(names, ", then "))
	}
	if d.Reason != "" {
		parts = append(parts, d.Reason)
	}
	for _, x := range d.Inputs {
		text := fmt.Sprintf("%s[%d] along %d", x.Port, x.Entry, x.Dimension)
		switch {
		case x.Halo > 0 && x.Inexact:
			text += fmt.Sprintf(", halo at most %d", x.Halo)
		case x.Halo > 0:
			text += fmt.Sprintf(", halo %d", x.Halo)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

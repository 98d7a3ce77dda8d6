package compare

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// shownInside bounds the tensors between inputs and outputs that the table has: the worst. JSON has all.
const shownInside = 10

// steps says that more than the tolerance is within the bound of a tensor.
func (v *Values) steps() string {
	if slices.ContainsFunc(slices.Concat(v.Outputs, v.Inside), func(a Agreement) bool { return a.Within > v.Tolerance }) {
		return ", or a step of a type of 16 bits and less"
	}
	return ""
}

// Write shows the report as tables.
func (r *Report) Write(to io.Writer) error {
	var b strings.Builder
	model := r.Model
	if r.Size != "" {
		model += " at " + r.Size
	}
	fmt.Fprintf(&b, "%s: %s against %s\n\nvalues (tolerance %.3g of the greatest magnitude%s)\n", model, r.Ours, r.Against, r.Values.Tolerance, r.Values.steps())
	agreements(&b, r.Values.Outputs)
	if len(r.Values.Inside) > 0 {
		fmt.Fprintf(&b, "\nthe worst of %d tensors inside\n", len(r.Values.Inside))
		worst := slices.Clone(r.Values.Inside)
		slices.SortStableFunc(worst, func(a, b Agreement) int { return cmp.Compare(b.Scaled, a.Scaled) })
		agreements(&b, worst[:min(shownInside, len(worst))])
		if p := r.Values.Parting; p != nil {
			fmt.Fprintf(&b, "they first part at %s, which %s makes\n", p.Name, p.maker())
		} else {
			b.WriteString("none of them parts\n")
		}
	}
	r.measured(&b)
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// maker names the operation that makes a tensor.
func (t *Tensor) maker() string {
	switch {
	case t.Node != "":
		return fmt.Sprintf("node %q (%s)", t.Node, t.Operation)
	case t.Operation != "":
		return "a node without a name (" + t.Operation + ")"
	}
	return "an unknown node"
}

func agreements(b *strings.Builder, list []Agreement) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\ttensor\ttype\tunits\tto scale\tworst element\t")
	for _, a := range list {
		verdict, where := "agrees", ""
		if a.Parts {
			verdict = "PARTS"
		}
		units := fmt.Sprintf("%.0f", a.Units)
		if a.Units < 0 {
			units = "-"
		}
		if a.At != nil {
			where = fmt.Sprintf("%v is %s, expected %s", a.At, a.Got, a.Want)
		}
		if a.Fault != "" {
			where = a.Fault
		}
		fmt.Fprintf(w, "%s\t%s\t%s %v\t%s\t%.3g\t%s\t\n", verdict, a.Name, a.DType, a.Shape, units, a.Scaled, where)
	}
	w.Flush()
}

// measured shows speed, the time to start and memory.
func (r *Report) measured(b *strings.Builder) {
	for _, x := range []struct {
		name string
		c    *Contest
	}{{"a run", r.Speed}, {"a process that runs once", r.Startup}} {
		if x.c == nil {
			continue
		}
		fmt.Fprintf(b, "\n%s (%d rounds in turns; medians, with 95 %% of confidence)\n", x.name, x.c.Rounds)
		w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		fmt.Fprintf(w, "%s\t%s ms\n%s\t%s ms\n", r.Ours, x.c.Ours, r.Against, x.c.Against)
		fmt.Fprintf(w, "ratio, below 1 is faster\t%s\neach to itself\t%s, %s\n", x.c.Ratio, x.c.Same[0], x.c.Same[1])
		w.Flush()
	}
	if m := r.Memory; m != nil {
		fmt.Fprintf(b, "\nmemory of a process at most\n")
		w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		fmt.Fprintf(w, "%s\t%s\n%s\t%s", r.Ours, megabytes(m.Ours), r.Against, megabytes(m.Against))
		if m.Host > 0 {
			fmt.Fprintf(w, ", of which %s before it reads the model", megabytes(m.Host))
		}
		fmt.Fprintln(w)
		w.Flush()
	}
}

func (i Interval) String() string { return fmt.Sprintf("%.4g [%.4g, %.4g]", i.Median, i.Low, i.High) }

func megabytes(n int64) string {
	if n == 0 {
		return "not known"
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"tensortapestry.org/tapc/internal/dims"
	"tensortapestry.org/tapc/ir/diag"
)

// MostSizes bounds how many sizes of all dimensions together one program is compared at.
const MostSizes = 32

// Series is what comparisons found of one program, at each of its sizes; of one report, that the model has no sizes to choose.
type Series []*Report

// Sizes reads the values of --dim: those for each comparison, and what to call it, "" where there is one. Inputs, and a picture, are of one size.
func Sizes(flags []string, inputs []string, picture string) (each [][]string, names []string, err error) {
	one, several, err := dims.Split(flags)
	if err != nil || len(several) == 0 {
		return [][]string{flags}, []string{""}, err
	}
	if len(inputs) > 0 || picture != "" {
		return nil, nil, diag.Usage("--dim %s: with several sizes, compare takes no --input and no --picture", several[0].Name)
	}
	all, err := dims.Combinations(several, MostSizes)
	for _, at := range all {
		var values []string
		for i, d := range several {
			values = append(values, fmt.Sprintf("%s=%d", d.Name, at[i]))
		}
		each = append(each, append(append([]string{}, one...), values...))
		names = append(names, strings.Join(values, " "))
	}
	return each, names, err
}

// Agree says whether all outputs are within the tolerance, at all sizes.
func (s Series) Agree() bool {
	for _, r := range s {
		if !r.Values.Agree() {
			return false
		}
	}
	return true
}

// Write shows the reports and, if there are several, a table of all.
func (s Series) Write(to io.Writer) error {
	for _, r := range s {
		if err := r.Write(to); err != nil {
			return err
		}
		if len(s) > 1 {
			fmt.Fprintln(to)
		}
	}
	if len(s) == 1 {
		return nil
	}
	fmt.Fprintf(to, "one program at %d sizes\n", len(s))
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tsize\tto scale\tms\tother's ms\tratio\t")
	logs, timed := 0.0, 0
	for _, r := range s {
		verdict, worst := "agrees", 0.0
		for _, o := range r.Values.Outputs {
			worst = max(worst, o.Scaled)
			if o.Parts {
				verdict = "PARTS"
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%.3g\t", verdict, r.Size, worst)
		if r.Speed != nil {
			fmt.Fprintf(w, "%.4g\t%.4g\t%s", r.Speed.Ours.Median, r.Speed.Against.Median, r.Speed.Ratio)
			logs, timed = logs+math.Log(r.Speed.Ratio.Median), timed+1
		} else {
			fmt.Fprint(w, "\t\t")
		}
		fmt.Fprintln(w, "\t")
	}
	if timed > 0 {
		fmt.Fprintf(w, "\tgeometric mean\t\t\t\t%.4g\t\n", math.Exp(logs/float64(timed)))
	}
	return w.Flush()
}

// WriteJSON writes the report, or a list of reports.
func (s Series) WriteJSON(w io.Writer) error {
	if len(s) == 1 {
		return s[0].WriteJSON(w)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Sizes []*Report `json:"sizes"`
	}{s})
}

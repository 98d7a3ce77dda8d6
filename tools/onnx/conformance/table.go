package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Table counts results by status, and refused tests by operator and reason, most frequent first.
func Table(results []Result) string {
	count := map[Status]int{}
	reasons := map[string]int{}
	for _, r := range results {
		count[r.Status]++
		if r.Status == Refused {
			reasons[r.Reason]++
		}
	}
	var b strings.Builder
	for _, s := range []Status{Pass, Bound, Drawn, Near, Refused, Slow, Wrong, Crash} {
		fmt.Fprintf(&b, "%-20s %5d\n", s, count[s])
	}
	type row struct {
		reason string
		n      int
	}
	var rows []row
	for k, n := range reasons {
		rows = append(rows, row{k, n})
	}
	slices.SortFunc(rows, func(x, y row) int { return cmp.Or(cmp.Compare(y.n, x.n), cmp.Compare(x.reason, y.reason)) })
	if len(rows) > 0 {
		b.WriteString("\nrefused:\n")
	}
	for _, r := range rows {
		fmt.Fprintf(&b, "%6d  %s\n", r.n, r.reason)
	}
	return b.String()
}

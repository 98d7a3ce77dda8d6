package pipeline

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Stats are the counters of passes by "pass counter".
type Stats map[string]int

func (s Stats) add(pass, counter string, n int) { s[pass+" "+counter] += n }

// Write writes the counters as text, one a line, in the order of their names.
func (s Stats) Write(w io.Writer) error {
	names := make([]string, 0, len(s))
	wide := 1
	for n, v := range s {
		names = append(names, n)
		wide = max(wide, len(fmt.Sprint(v)))
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString("statistics:\n")
	for _, n := range names {
		fmt.Fprintf(&b, "  %*d  %s\n", wide, s[n], n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

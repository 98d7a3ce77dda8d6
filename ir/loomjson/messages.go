package loomjson

import (
	"strconv"
	"strings"
)

// quote writes a name for a message, cut short if it is long.
func quote(s string) string {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return strconv.Quote(s)
}

// expectNames lists what fields there are, for a message.
func expectNames(known []string) string {
	if len(known) == 0 {
		return "no fields"
	}
	quoted := make([]string, len(known))
	for i, k := range known {
		quoted[i] = quote(k)
	}
	if len(quoted) == 1 {
		return "only " + quoted[0]
	}
	return "one of " + strings.Join(quoted, ", ")
}

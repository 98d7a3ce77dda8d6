package guide

import "strings"

// Said is what a command said, in lines of their own behind a lead; nothing if it said nothing.
func Said(lead, said string) string {
	if said == "" {
		return ""
	}
	return lead + "\n  " + strings.ReplaceAll(said, "\n", "\n  ")
}

package pages

import (
	"strings"
	"testing"
)

// A place of the source is shown by its line, and one that only opens a bracket by all that is in it, clipped. Near miss: a bracket behind a name is not alone.
func TestExcerpt(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a line", "  %y = op\n  more", "  %y = op"},
		{"an object", "  {\n    \"id\": 1,\n    \"body\": {\n    }\n  },\n  {", "{\n  \"id\": 1,\n  \"body\": {\n  }\n},"},
		{"without an end", "[\n 1", "[\n 1"},
		{"behind a name", "  \"body\": {\n    1\n  }", "  \"body\": {"},
		{"a long line", strings.Repeat("x", mostLine+1), strings.Repeat("x", mostLine) + "…"},
		{"a long object", "{\n " + strings.Repeat("x", 2*mostLine) + "\n 1\n}", "{\n " + strings.Repeat("x", mostLine-3) + "…"},
	} {
		if got := excerpt(strings.Split(c.text, "\n")); got != c.want {
			t.Errorf("%s: %q, expected %q", c.name, got, c.want)
		}
	}
}

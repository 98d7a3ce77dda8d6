package into

import (
	"fmt"
	"testing"

	"tensortapestry.org/tapc/frontends/survey"
)

// Sizes that open ones are taken to be differ from each other in all runs, sums are sums, and no more than are bounded are open.
func TestSizes(t *testing.T) {
	open := []survey.Dim{{Name: "a"}, {Name: "a + b + 2"}, {Name: "b"}, {Places: []string{"x:1"}}, {Name: "c + d"}}
	list, err := Sizes(open)
	if err != nil || len(list) != runs {
		t.Fatal(list, err)
	}
	seen := map[int64]bool{}
	for _, run := range list {
		for _, key := range []string{"a", "b", "x:1", "c + d"} {
			if n := run[key]; n < 5 || seen[n] {
				t.Errorf("%s is %d, which another is", key, n)
			}
			seen[run[key]] = true
		}
		if run["a + b + 2"] != run["a"]+run["b"]+2 {
			t.Errorf("a sum is %v", run)
		}
	}
	for len(open) <= mostOpen {
		open = append(open, survey.Dim{Name: fmt.Sprint("n", len(open))})
	}
	if _, err := Sizes(open); err == nil {
		t.Error("more sizes than are bounded are open")
	}
}

package ir

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSortByName(t *testing.T) {
	for _, c := range []struct {
		list, want []string
		twice      []int
	}{
		{nil, nil, nil},
		{[]string{"a", "b"}, []string{"a", "b"}, nil},
		{[]string{"b", "a"}, []string{"a", "b"}, nil},
		{[]string{"b", "a", "b", "a", "b"}, []string{"a", "a", "b", "b", "b"}, []int{3, 2, 4}},
		{[]string{"a", "a"}, []string{"a", "a"}, []int{1}},
	} {
		var twice []int
		got := SortByName(c.list, func(s *string) string { return *s }, func(i int) { twice = append(twice, i) })
		if diff := cmp.Diff(c.want, got) + cmp.Diff(c.twice, twice); diff != "" {
			t.Errorf("%q: %s", c.list, diff)
		}
	}
}

package runs_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/search/runs"
)

// The longest run counts, of such that with the shortest part; what does not repeat is a run of length 0, of which every place is near.
func TestLongest(t *testing.T) {
	for _, c := range []struct {
		words []int
		want  runs.Run
	}{
		{[]int{9, 1, 2, 1, 2, 1, 2, 8}, runs.Run{From: 1, Period: 2, Length: 6}},
		{[]int{1, 1, 1, 1}, runs.Run{From: 0, Period: 1, Length: 4}},
		{[]int{1, 2, 3}, runs.Run{From: 0, Period: 1, Length: 0}},
		{nil, runs.Run{From: 0, Period: 1, Length: 0}},
	} {
		got := runs.Longest(c.words)
		if got != c.want {
			t.Errorf("%v: %+v, expected %+v", c.words, got, c.want)
		}
		for i := range c.words {
			if got.Length == 0 && !got.Near(i) {
				t.Errorf("%v: place %d is not looked at", c.words, i)
			}
		}
	}
	long := runs.Run{From: 1, Period: 2, Length: 10}
	for i, want := range []bool{true, true, true, true, true, false, false, false, false, true, true, true} {
		if long.Near(i) != want {
			t.Errorf("place %d: %v", i, !want)
		}
	}
}

// products is a list of n times a product with weights and a function of it.
func products(n int) *runs.List {
	l := &runs.List{}
	for i := range n {
		l.Steps = append(l.Steps, runs.Step{{Tensor: 3*i + 1, Out: true, Bytes: 1}, {Tensor: 3 * i, Bytes: 1}, {Tensor: 3*i + 2, Bytes: 100}},
			runs.Step{{Tensor: 3*i + 3, Out: true, Bytes: 1}, {Tensor: 3*i + 1, Bytes: 1}})
	}
	return l
}

// Stages have even loads, and none ends between a product and its function where these are one kernel, whether parts repeat or not.
func TestStages(t *testing.T) {
	for _, c := range []struct {
		n, stages int
		joined    bool
		want      []int
	}{{8, 2, true, []int{8}}, {8, 4, true, []int{4, 8, 12}}, {2, 2, true, []int{2}}, {2, 2, false, []int{1}}} {
		l := products(c.n)
		l.Repeat(slices.Repeat([]int{0, 1}, c.n))
		l.Mark(func(tensor int) bool { return c.joined && tensor%3 == 1 })
		if got := l.Stages(c.stages); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
	one := &runs.List{Steps: products(1).Steps}
	one.Mark(func(int) bool { return true })
	if got := one.Stages(2); !slices.Equal(got, []int{1}) { // there is one kernel alone
		t.Errorf("one kernel in two stages: %v", got)
	}
}

// A tensor lives from the step that makes it to the last that reads it, and in another stage from the beginning of that.
func TestLives(t *testing.T) {
	l := products(2)
	class := func(tensor int) int {
		if tensor == 0 || tensor%3 == 2 {
			return -1
		}
		return tensor
	}
	spots, ends := l.Lives([]int{0, 0, 1, 1}, class)
	want := []runs.Spot{
		{Stage: 0, Live: []runs.Lives{{Tensor: 1, Count: 1}}, Made: []int{1}},
		{Stage: 0, Live: []runs.Lives{{Tensor: 1, Count: 1}, {Tensor: 3, Count: 1}}, Made: []int{3}},
		{Stage: 1, Live: []runs.Lives{{Tensor: 3, Count: 1}, {Tensor: 4, Count: 1}}, Made: []int{4}},
		{Stage: 1, Live: []runs.Lives{{Tensor: 4, Count: 1}, {Tensor: 6, Count: 1}}, Made: []int{6}},
	}
	if diff := cmp.Diff(want, spots); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]int{nil, {1, 3}, {3}, {4}}, ends); diff != "" {
		t.Error(diff)
	}
}

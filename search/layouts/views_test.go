package layouts_test

import (
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/search"
)

// viewed are graphs in which an operation reads a view, which %v is: a permutation, every second row, and rows in reverse.
var viewed = []string{`tapc 1
%x = tensor float32 [0:256, 0:128]
%w = tensor float32 [0:256, 0:64]
%v = tensor float32 [0:128, 0:256]
%y = tensor float32 [0:128, 0:64]
%view = operation op:permute {perm: [1, 0]} (tensor: %x) -> (result: %v)
%mul = operation op:matmul (X: %v, Y: %w) -> (Z: %y)
`, `tapc 1
%x = tensor float32 [0:256, 0:128]
%w = tensor float32 [0:128, 0:128]
%v = tensor float32 [0:128, 0:128]
%y = tensor float32 [0:128, 0:128]
%view = operation op:slice {lengths: [128, 128], starts: [0, 0], steps: [2, 1]} (tensor: %x) -> (result: %v)
%sum = operation op:add (tensors: [%v, %w]) -> (result: %y)
`, `tapc 1
%x = tensor float32 [0:128, 0:128]
%w = tensor float32 [0:128, 0:128]
%v = tensor float32 [0:128, 0:128]
%y = tensor float32 [0:128, 0:128]
%view = operation op:reverse {dims: [0]} (tensor: %x) -> (result: %v)
%mul = operation op:matmul (X: %v, Y: %w) -> (Z: %y)
`}

// copied puts a copy behind the view, which readers read.
func copied(graph string) string {
	lines := strings.Split(strings.TrimSpace(graph), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "%v = ") {
			lines[i] += "\n" + strings.Replace(l, "%v", "%copied", 1)
		}
	}
	last := len(lines) - 1
	lines[last] = "%copy = operation op:copy (tensor: %v) -> (result: %copied)\n" + strings.Replace(lines[last], "%v", "%copied", 1)
	return strings.Join(lines, "\n") + "\n"
}

// What docs/search.md says of views, that are no row of the table: whatever plan a graph has in which a view is copied, one of the graph without the copy is as good in all objectives.
func TestCopiesAreNeverBetter(t *testing.T) {
	for _, graph := range viewed {
		all := func(source string) search.Frontier {
			f, _, ok := search.Enumerate(space(t, source, 2, nil), 1_000_000)
			if !ok || len(f.Points) == 0 {
				t.Fatalf("not all plans of\n%s", source)
			}
			return f
		}
		views, copies := all(graph), all(copied(graph))
		for _, c := range copies.Points {
			if !slices.ContainsFunc(views.Points, func(v search.Point) bool {
				return !slices.ContainsFunc([]int{0, 1, 2}, func(k int) bool { return v.Price.Costs[k] > c.Price.Costs[k]*(1+1e-12) })
			}) {
				t.Errorf("no plan with a view is as good as %v with a copy: %v\n%s", c.Price.Costs, views.Points, graph)
			}
		}
	}
}

package plandiff_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/cmd/tapc/plandiff"
	"tensortapestry.org/tapc/dialects/application/planfile"
)

func TestCompare(t *testing.T) {
	read := func(text string) *planfile.Plan {
		p, err := planfile.Parse("plan.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a := read(`{"version": 1, "mesh": [{"axis": "t", "size": 4}], "cuts": [{"target": "up", "cut": "2x1"}, {"target": "same", "cut": "4"}],
		"tensors": [{"tensor": "w1", "dims": ["-", "t"]}, {"tensor": "w2", "dims": ["t", "-"]}]}`)
	b := read(`{"version": 1, "mesh": [{"axis": "t", "size": 8}], "cuts": [{"target": "same", "cut": "4"}, {"target": "down", "cut": "by16x1"}],
		"tensors": [{"tensor": "w1", "dims": ["-", "t?"]}, {"tensor": "x", "dims": ["-", "-"]}]}`)
	want := `b, compared with a:
  mesh: t=8 (8 devices), instead of t=4 (4 devices)
  cut of "up": is not cut by name, instead of 2x1
  cut of "down": by16x1; it is not cut by name in the other
  tensor "w1": [-, t], dimension 1 open, a 1/8 on each device, instead of [-, t], a 1/4 on each device
  tensor "w2": lies as propagation finds, instead of [t, -], a 1/4 on each device
  tensor "x": [-, -], a whole copy on each device; it lies as propagation finds in the other
1 things are the same
`
	if diff := cmp.Diff(want, plandiff.Compare(a, b, "a", "b")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := plandiff.Compare(a, a, "a", "b"); got != "a and b ask for the same\n" {
		t.Error(got)
	}
}

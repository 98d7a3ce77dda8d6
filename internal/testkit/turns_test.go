package testkit

import (
	"fmt"
	"testing"
)

// Every case has its turn once in a period, and every rotation has its share of the cases.
func TestTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts the turns of a whole run")
	}
	const every, cases = 4, 22
	t.Setenv(ConformanceVariable, "")
	turns := [cases]int{}
	for n := range every {
		t.Setenv(RotationVariable, fmt.Sprint(100+n))
		run, share := Turns(t, every), 0
		for i := range cases {
			if run() {
				turns[i]++
				share++
			}
		}
		if share < cases/every || share > cases/every+1 {
			t.Errorf("rotation %d has %d of %d cases, expected a share of %d", n, share, cases, every)
		}
	}
	for i, n := range turns {
		if n != 1 {
			t.Errorf("case %d has %d turns in %d rotations, expected 1", i, n, every)
		}
	}
	t.Setenv(ConformanceVariable, "full")
	for run, i := Turns(t, every), 0; i < cases; i++ {
		if !run() {
			t.Errorf("case %d does not run where all are asked for", i)
		}
	}
	if got, want := command("TestX/case_1", 3), "TAPC_ROTATION=3 go test tensortapestry.org/tapc/internal/testkit -run '^TestX$/^case_1$'"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
}

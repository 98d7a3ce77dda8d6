package layouts_test

import (
	"testing"

	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/layouts"
	"tensortapestry.org/tapc/tools/bench/search/graphs"
)

// Few rounds find at least 8 points of the frontier of time and memory, for layers in the shape of Llama on several numbers of devices.
func TestPointsOfAFrontier(t *testing.T) {
	for _, devices := range []int64{8, 16, 128} {
		x := space(t, graphs.Llama8B(4, 1, 2048).Text(), devices, func(s *layouts.Settings) { s.Objectives = layouts.Objectives[:2] })
		f := search.Run(t.Context(), x, search.Options{Rounds: 12, Trials: 256, Workers: 2, Near: 0.002, Resume: points(x.Prove(2))}).Frontier
		if len(f.Points) < 8 {
			t.Errorf("%d devices: %d points", devices, len(f.Points))
		}
		t.Logf("%d devices: %d points", devices, len(f.Points))
	}
}

package tile_test

import (
	"errors"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/configs"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/passes/tile"
)

// considered gives the config that is chosen for a kernel. One is, no other that is not refused takes less, and all are of the target.
func considered(t *testing.T, title string, x target, a *nest.Analysis) *schedule.Config {
	t.Helper()
	all, err := tile.Consider(a, configs.Chooser{For: isa.Target{Target: x.Target, Machine: "x86_64"}}, nil)
	if err != nil {
		t.Fatalf("%s: %v", title, err)
	}
	var chosen []*tile.Candidate
	for i := range all {
		if all[i].Chosen {
			chosen = append(chosen, &all[i])
		}
	}
	if len(chosen) != 1 {
		t.Fatalf("%s, %s: %d of %d candidates are chosen", title, x.name, len(chosen), len(all))
	}
	c := chosen[0]
	for i := range all {
		o := &all[i]
		if o.Refused == nil && (o.Cost.Less(c.Cost) || o.Cost.Seconds <= 0 || o.Cost.Low > o.Cost.Seconds || o.Cost.High < o.Cost.Seconds) {
			t.Errorf("%s, %s: %s takes %v, and %s is chosen, which takes %v", title, x.name, o, o.Cost, c, c.Cost)
		}
		if o.Config.Target != x.Name() {
			t.Errorf("%s, %s: a config for %s", title, x.name, o.Config.Target)
		}
	}
	return c.Config
}

// refusing is a chooser all of whose candidates are refused.
type refusing struct{ tile.Chooser }

func (refusing) Candidates(*nest.Analysis) []tile.Candidate {
	return []tile.Candidate{{Refused: errors.New("too deep")}, {Refused: errors.New("too wide")}}
}

// TestAllRefused: where no candidate is left, the error says why of each.
func TestAllRefused(t *testing.T) {
	if _, err := tile.Consider(nil, refusing{}, nil); err == nil || err.Error() != "all 2 candidates are refused: too deep\ntoo wide" {
		t.Errorf("%v", err)
	}
}

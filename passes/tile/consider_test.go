package tile_test

import (
	"fmt"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/passes/tile"
)

// unrestricted is a chooser of all that the pass lists, also what a back end cannot write.
type unrestricted struct{ target }

func (u unrestricted) Target() (schedule.DeviceType, string) { return schedule.CPU, u.Name() }

func (u unrestricted) Candidates(a *nest.Analysis) []tile.Candidate {
	return u.target.Candidates(a, func(nest.Form, *schedule.Config) error { return nil })
}

func (unrestricted) Check(*nest.Analysis, *schedule.Config) error { return nil }

// checkConsidered holds the candidates of a kernel to what Bind does: one is chosen, no other that is not refused takes less, its form is the
// one that loops are bound for, and its sizes are theirs.
func checkConsidered(t *testing.T, title string, x target, k *schedule.Kernel, a *nest.Analysis, form nest.Form) {
	t.Helper()
	all, err := tile.Consider(a, unrestricted{x})
	if err != nil {
		t.Fatalf("%s: %v", title, err)
	}
	chosen := []*tile.Candidate{}
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
		if o := &all[i]; o.Refused == nil && (o.Cost.Less(c.Cost) || o.Cost.Seconds <= 0 || o.Cost.Low > o.Cost.Seconds || o.Cost.High < o.Cost.Seconds) {
			t.Errorf("%s, %s: %s takes %v, and %s is chosen, which takes %v", title, x.name, o, o.Cost, c, c.Cost)
		}
	}
	if fmt.Sprintf("%T", c.Form) != fmt.Sprintf("%T", form) {
		t.Errorf("%s, %s: %s is chosen, and loops are bound for a %T", title, x.name, c, form)
		return
	}
	if words := sizes(k, form); !strings.Contains(c.String(), words) {
		t.Errorf("%s, %s: %q is chosen, and loops are cut as %q", title, x.name, c, words)
	}
}

// sizes says in the words of candidates how the loops of a kernel are cut.
func sizes(k *schedule.Kernel, form nest.Form) string {
	level := func(d nest.Dim, i int) int64 { return k.Loops[d.Inner()].Levels[i].Tile }
	switch f := form.(type) {
	case *nest.Contraction:
		text := fmt.Sprintf("n %d/%d/%d", level(f.Col, 0), level(f.Col, 1), level(f.Col, 2))
		if f.Row.Inner() >= 0 {
			text = fmt.Sprintf("m %d/%d, %s", level(f.Row, 0), level(f.Row, 1), text)
		}
		if n := len(f.Reduction); n > 0 {
			text += fmt.Sprintf(", k %d", level(f.Reduction[n-1], 0))
		}
		return text
	case *nest.Winograd:
		return fmt.Sprintf("tiles of %d×", level(f.Down.Dim, 1))
	case *nest.BackToBack:
		if f.Row >= 0 {
			return fmt.Sprintf("m %d,", k.Loops[f.Row].Levels[0].Tile)
		}
	}
	return ""
}

package pages

import (
	"encoding/json"
	"testing"

	"tensortapestry.org/tapc/ir/diag"
)

// FuzzFrontier: a frontier file is refused with a code, or a page has its points.
func FuzzFrontier(f *testing.F) {
	for _, s := range []string{
		`{"version": 1, "objectives": ["time", "memory"], "machine": "two", "devices": 2, "points": [{"costs": {"time": 1e-3, "memory": 4096}, "mesh": [2], "from": "start", "round": 1}]}`,
		`{"version": 1, "objectives": ["time"], "points": [{"costs": {"memory": 1}}]}`,
		`{"version": 1, "objectives": ["time"], "points": [{"costs": {"time": 1}, "plan": {"version": 1}}]}`,
		`{"version": 1, "objectives": ["time"], "points": [{"costs": {"time": 1}, "unsaid": "no plan says it", "plan": null}]}`,
		`{"version": 2}`, `[]`, `1e999`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := readFrontier("f.json", data)
		if err != nil {
			if list := diag.FromError(err); len(list) == 0 || list[0].Code == "" {
				t.Errorf("%v", err)
			}
			return
		}
		var drawn plot
		if err := json.Unmarshal(text, &drawn); err != nil || len(drawn.Points) == 0 {
			t.Errorf("%s: %v", text, err)
		}
		for _, p := range drawn.Points {
			if len(p.Values) != len(drawn.Objectives) {
				t.Errorf("a point has %d values of %d objectives", len(p.Values), len(drawn.Objectives))
			}
		}
	})
}

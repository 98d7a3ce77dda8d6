package plans

import (
	"testing"

	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/ir/diag"
)

// FuzzResume: a frontier file is refused with a code, or what is read of it are trials of the space.
func FuzzResume(f *testing.F) {
	genes := []int{3, 2}
	for _, s := range []string{
		`{"version": 1, "digest": "d", "objectives": ["time"], "seed": 1, "rounds": 2, "points": [{"trial": [2, 1], "from": "start", "round": 1}]}`,
		`{"version": 1, "digest": "d", "objectives": [], "state": {"restarts": 1, "nearest": 2.5, "rates": [{"name": "swap", "gained": 1, "of": 2}],
		"parents": [{"from": "swap", "round": 1, "trial": [0, 0]}], "seen": "AAAAAAAAAAA="}}`,
		`{"version": 1, "digest": "d", "points": [{"trial": [3, 1]}]}`,
		`{"version": 1, "digest": "d", "state": {"seen": "AAAA"}}`,
		`{"version": 2}`, `[]`, `{"digest": "e"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &Result{flags: &Flags{set: pflag.NewFlagSet("", pflag.ContinueOnError)}, digest: "d"}
		if err := r.resumeFrom("f.json", data, genes); err != nil {
			if list := diag.FromError(err); len(list) == 0 || list[0].Code == "" || diag.ExitStatus(err) != diag.ExitInput {
				t.Errorf("%v", err)
			}
			return
		}
		trials := r.from.points
		if m := r.from.memory; m != nil {
			trials = append(trials, m.Parents...)
			if m.Round < 0 || m.Tried < 0 || m.Idle < 0 {
				t.Errorf("%+v", m)
			}
		}
		for _, p := range trials {
			if len(p.Trial) != len(genes) || int(p.Trial[0]) >= genes[0] || int(p.Trial[1]) >= genes[1] {
				t.Errorf("%v is no trial", p.Trial)
			}
		}
	})
}

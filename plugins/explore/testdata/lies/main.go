// Command lies is a plugin whose mutator and cost term do one wrong thing, which the name of its file says.
package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"tensortapestry.org/tapc/plugins"
)

func main() {
	name, calls := filepath.Base(os.Args[0]), 0
	p := plugins.Plugin{Name: "lies", Version: "1.0.0", Doc: "Does one thing wrong.",
		Mutators: []plugins.Mutator{{Name: "change", Doc: "Change a gene.", On: "a gene", Mutate: func(_ context.Context, s *plugins.Space, r *rand.Rand, trial []int) bool {
			i := r.IntN(len(trial))
			trial[i] = r.IntN(len(s.Genes[i].Values))
			switch name {
			case "range":
				trial[i] = len(s.Genes[i].Values)
			case "panics":
				panic("no trial")
			}
			return true
		}}},
		Terms: []plugins.Term{{Name: "term", Doc: "A cost.", Objective: "time", Cost: func(_ context.Context, _ *plugins.Space, trial []int) (float64, error) {
			calls++
			switch {
			case name == "negative":
				return -1, nil
			case name == "nan":
				return math.NaN(), nil
			case name == "fails":
				return 0, errors.New("no rate is known")
			case name == "dies" && calls > 300:
				os.Exit(3)
			case name == "hangs":
				time.Sleep(time.Hour)
			}
			return float64(trial[0]) * 1e-9, nil
		}}}}
	if name == "objective" {
		p.Terms[0].Objective = "beauty"
	}
	plugins.Serve(p)
}

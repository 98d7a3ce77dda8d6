package tile

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// Chooser gives the configs that the kernels of one target can have. A back end is one.
type Chooser interface {
	// Target gives the kind of device, and the name that configs of the target have.
	Target() (schedule.DeviceType, string)
	// Candidates gives configs of a kernel, in an order that does not depend on anything else. That a kernel has none is a candidate too:
	// then its loops are carried out as their levels say.
	Candidates(a *nest.Analysis) []schedule.Config
	// Check says why a config cannot be carried out, nil if it can.
	Check(a *nest.Analysis, c *schedule.Config) error
	// Price estimates what a kernel takes with a config that passes Check, or with none.
	Price(a *nest.Analysis, c *schedule.Config) (cost.Estimate, error)
}

// Candidate is a config that was looked at: what it was thought to take, or why it was refused.
type Candidate struct {
	Config  *schedule.Config // nil for none
	What    string           // in words, if no config says it
	Form    nest.Form        // that the kernel is carried out as, of those without a config; nil for loops
	Cost    cost.Estimate
	Refused error
	Chosen  bool
}

// String gives the candidate in words.
func (c *Candidate) String() string {
	if c.What != "" {
		return c.What
	}
	return c.Config.String()
}

// Consider looks at all configs of a kernel. The one with the least cost is chosen, the first of equals.
func Consider(a *nest.Analysis, from Chooser) ([]Candidate, error) {
	none, err := from.Price(a, nil)
	if err != nil {
		return nil, err
	}
	out := []Candidate{{Cost: none}}
	best := 0
	for _, c := range from.Candidates(a) {
		x := Candidate{Config: &c, Refused: from.Check(a, &c)}
		if x.Refused == nil {
			if x.Cost, err = from.Price(a, &c); err != nil {
				return nil, fmt.Errorf("%s: %w", c.Target, err)
			}
			if x.Cost.Less(out[best].Cost) {
				best = len(out)
			}
		}
		out = append(out, x)
	}
	out[best].Chosen = true
	return out, nil
}

// choose records the best config of a kernel, in the place of the one that it had for the target.
func choose(a *nest.Analysis, from Chooser) error {
	all, err := Consider(a, from)
	if err != nil {
		return err
	}
	_, target := from.Target()
	k := a.Kernel
	k.Forget(target)
	for _, c := range all {
		if c.Chosen && c.Config != nil {
			k.Configs = append(k.Configs, *c.Config)
		}
	}
	return nil
}

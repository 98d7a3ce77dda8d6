package tile

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// Chooser gives the configs that the kernels of one target can have. A back end is one.
type Chooser interface {
	// Target gives the kind of device, and the name that configs of the target have.
	Target() (schedule.DeviceType, string)
	// Named gives the chooser of the same back end for the target whose configs have a name, nil if there is none.
	Named(target string) Chooser
	// Pairs says whether the target may have instructions that sum products of pairs of bfloat16.
	Pairs() bool
	// Candidates gives what a kernel can be carried out as, in an order that does not depend on anything else, without what it takes. Some
	// are refused, by Check or by rules that say where they do not pay. A candidate without a config is loops as they are.
	Candidates(a *nest.Analysis) []Candidate
	// Check says what workspaces a kernel needs by a config, of which what the config states is no part, or why it cannot be carried out.
	Check(a *nest.Analysis, c *schedule.Config) ([]schedule.Workspace, error)
	// Price estimates what a kernel takes as a candidate that passes Check.
	Price(a *nest.Analysis, c *Candidate) (cost.Estimate, error)
}

// Candidate is what a kernel can be carried out as: what it was thought to take, or why it was refused.
type Candidate struct {
	Config  *schedule.Config // nil for none
	Cost    cost.Estimate
	Refused error
	Chosen  bool
	cycles  float64 // of one core
	own     cost.Estimate
}

// asGood is how many times the least cost by a model others may have that are as good: of these the back end's own estimates, which know more of instructions, choose.
const asGood = 1.02

// modelled is what a model says of a kernel by a config, nil for none.
func modelled(a *nest.Analysis, from Chooser, config *schedule.Config, model cost.Model) (cost.Estimate, error) {
	kind, _ := from.Target()
	k := *a.Kernel
	if k.Configs = nil; config != nil {
		k.Configs = []schedule.Config{*config}
	}
	return model.Estimate(kind, &nest.Analysis{Kernel: &k, Buffers: a.Buffers, Forms: a.Forms})
}

// String gives the candidate in words.
func (c *Candidate) String() string { return c.Config.String() }

// Consider looks at all candidates of a kernel. The one with the least cost is chosen, the first of equals: by the back end's own estimates or, if there is one, by a model, and by
// those where a model says nearly the same.
func Consider(a *nest.Analysis, from Chooser, model cost.Model) ([]Candidate, error) {
	all, least := from.Candidates(a), math.Inf(1)
	for i := range all {
		c := &all[i]
		if c.Refused != nil {
			continue
		}
		var err error
		c.own, err = from.Price(a, c)
		if c.Cost = c.own; err == nil && model != nil {
			c.Cost, err = modelled(a, from, c.Config, model)
		}
		if err != nil {
			_, target := from.Target()
			return nil, fmt.Errorf("%s: %w", target, err)
		}
		least = min(least, c.Cost.Seconds)
	}
	best := -1
	for i := range all {
		if c := &all[i]; c.Refused == nil && (best < 0 || c.own.Less(all[best].own)) && (model == nil || c.Cost.Seconds <= asGood*least) {
			best = i
		}
	}
	if best < 0 {
		why := make([]error, len(all))
		for i, c := range all {
			why[i] = c.Refused
		}
		return nil, fmt.Errorf("all %d candidates are refused: %w", len(all), errors.Join(why...))
	}
	all[best].Chosen = true
	return all, nil
}

// Choose gives the best candidate of a kernel, by a model if there is one.
func Choose(a *nest.Analysis, from Chooser, model cost.Model) (*Candidate, error) {
	all, err := Consider(a, from, model)
	if err != nil {
		return nil, err
	}
	return &all[slices.IndexFunc(all, func(c Candidate) bool { return c.Chosen })], nil
}

// Others gives the configs by which a kernel could be carried out beside its own, which is nil of loops: the candidates that are not refused, its own with
// threads where it has none, or without, and loops that are not cut.
func Others(a *nest.Analysis, from Chooser, own *schedule.Config) (list []schedule.Config) {
	_, target := from.Target()
	for _, c := range from.Candidates(a) {
		if c.Refused == nil && c.String() != own.String() {
			list = append(list, schedule.Config{Target: target})
			if c.Config != nil {
				list[len(list)-1] = *c.Config
			}
		}
	}
	if own == nil || len(own.Stages) == 0 {
		return list
	}
	turned := *own
	turned.Stages = slices.Clone(own.Stages)
	for i := range turned.Stages {
		turned.Stages[i].Threads = !turned.Stages[i].Threads
	}
	loops := schedule.Config{Target: target, Stages: []schedule.Stage{{Algorithm: schedule.Loops, Threads: own.Stages[0].Threads}}}
	for _, c := range []schedule.Config{turned, loops} {
		if _, err := from.Check(a, &c); err == nil && c.String() != own.String() {
			list = append(list, c)
		}
	}
	return list
}

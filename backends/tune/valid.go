package tune

import (
	"context"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/check"
)

// configsOnly is the dialect with the constraint of configs and what that requires: a schedule with a tuned config is verified when it is read again.
var configsOnly = func() *check.Environment {
	env := *schedule.Environment()
	needed := []string{schedule.ConfigConstraint}
	var kept []check.Constraint
	for _, c := range slices.Backward(env.Constraints) { // what a constraint requires comes before it
		if slices.Contains(needed, c.ID) {
			kept, needed = append(kept, c), append(needed, c.Requires...)
		}
	}
	slices.Reverse(kept)
	env.Constraints = kept
	return &env
}()

// valid says whether a config is well-formed, and the back end can write the kernel by it. The workspaces that it needs then are written into it.
func (s *search) valid(c *schedule.Config) bool {
	workspaces, err := s.chooser.Check(s.kernel.Analysis(), c)
	c.Workspaces = workspaces
	return err == nil && configsOnly.Verify(context.Background(), s.kernel.With(c)).Err() == nil
}

package tune

import (
	"context"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/constraints"
)

// configsOnly is the dialect with the constraint of configs and what that requires: a schedule with a tuned config is verified when it is read again.
var configsOnly = constraints.Environment().Only(constraints.Configs)

// valid says whether a config is well-formed, and the back end can write the kernel by it. The workspaces that it needs then are written into it.
func (s *search) valid(c *schedule.Config) bool {
	workspaces, err := s.chooser.Check(s.kernel.Analysis(), c)
	c.Workspaces = workspaces
	return err == nil && configsOnly.Verify(context.Background(), s.kernel.With(c)).Err() == nil
}

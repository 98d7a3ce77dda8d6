//go:build !linux

package supervise

import "tensortapestry.org/tapc/plugins/confine"

// Main does nothing on this system: plugins run without a supervisor.
func Main() {}

// Start starts a plugin.
func Start(s *Spec) (*Child, error) { return startDirect(s) }

// Probe says how this system confines plugins: not at all.
func Probe(*Spec) (confine.State, error) { return confine.State{}, nil }

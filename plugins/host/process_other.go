//go:build !linux

package host

import "tensortapestry.org/tapc/plugins/confine"

// Supervise does nothing on this system: plugins run without a supervisor.
func Supervise() {}

func start(s *spec) (*child, error) { return startDirect(s) }

// Available says how this system confines plugins: not at all.
func Available() (confine.State, error) { return confine.State{}, nil }

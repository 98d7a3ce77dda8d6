//go:build !linux

package host

// Supervise does nothing on this system: plugins run without a supervisor.
func Supervise() {}

func start(s *spec) (*child, error) { return startDirect(s) }

// Available says how this system can confine plugins: not at all.
func Available() Confinement { return Confinement{} }

//go:build race

package supervise

// init keeps supervisors and launchers from waiting a second before they end, as programs with the race detector do unless they are told otherwise:
// whoever closes a plugin waits for its supervisor.
func init() { ownEnvironment = append(ownEnvironment, "GORACE=atexit_sleep_ms=0") }

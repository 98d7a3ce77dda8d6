//go:build !unix

package supervise

import (
	"os"
	"os/exec"
)

// group does nothing where there are no process groups.
func group(*exec.Cmd) {}

// killGroup kills the process alone.
func killGroup(cmd *exec.Cmd) { cmd.Process.Kill() }

func outcomeOf(p *os.ProcessState) Outcome {
	return Outcome{Exited: p.Exited(), Code: p.ExitCode(), CPU: p.UserTime() + p.SystemTime()}
}

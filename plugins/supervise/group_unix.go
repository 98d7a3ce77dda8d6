//go:build unix

package supervise

import (
	"os"
	"os/exec"
	"syscall"
)

// group puts a process into a group of its own.
func group(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a process and its group.
func killGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

func outcomeOf(p *os.ProcessState) Outcome {
	o := Outcome{Exited: p.Exited(), Code: p.ExitCode(), CPU: p.UserTime() + p.SystemTime()}
	if s, ok := p.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		o.Signal = int(s.Signal())
	}
	return o
}

//go:build !unix

package childproc

import "os/exec"

// Without process groups the program alone is killed, and its pipes are closed soon after.

func ownGroup(*exec.Cmd) {}

func terminate(cmd *exec.Cmd) error { return cmd.Process.Kill() }

func killGroup(*exec.Cmd) {}

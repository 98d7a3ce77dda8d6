//go:build !unix

package shell

import "os/exec"

func group(*exec.Cmd) {}

func signalOf(*exec.ExitError) int { return 0 }

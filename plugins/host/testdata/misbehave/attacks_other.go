//go:build !linux

package main

import (
	"context"
	"os"
	"os/exec"
	"syscall"

	"tensortapestry.org/tapc/plugins"
)

func assault(_ context.Context, p *plugins.Context) error { p.Unchanged(); return nil }

// offspring starts a process that leaves its family: its own session, no parent, and all the descriptors it can get.
func offspring() error {
	cmd := exec.Command(os.Args[0], "child")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}

func linkedSocket() {}

func filler(bool) func(context.Context, *plugins.Context) error { return assault }

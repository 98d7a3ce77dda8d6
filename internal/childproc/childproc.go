// Package childproc runs programs that start programs of their own, such as a compiler's driver, so that none of them outlives an interrupt:
// they are a process group, which is told to end and, shortly after, killed. A terminal's interrupt key reaches this program, which
// ends the group; programs that read from the terminal must not be run so. It imports nothing of tapc.
package childproc

import (
	"context"
	"os/exec"
	"time"
)

// grace is how long a group has to end, and its pipes to be closed.
const grace = 500 * time.Millisecond

// Command is exec.CommandContext for a program with its own process group.
func Command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	ownGroup(cmd)
	cmd.Cancel = func() error { return terminate(cmd) }
	cmd.WaitDelay = grace
	return cmd
}

// Run runs a command. When it returns after the end of the context, nothing of the command's group is alive.
func Run(ctx context.Context, cmd *exec.Cmd) error {
	err := cmd.Run()
	if ctx.Err() != nil {
		killGroup(cmd)
	}
	return err
}

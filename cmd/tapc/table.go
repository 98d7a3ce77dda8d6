package main

import (
	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/plugincommands"
)

// commands lists the commands in the order of the help text.
func commands(a *app.App) []*cobra.Command {
	return append([]*cobra.Command{buildCommand(a), runCommand(a), infoCommand(a), compareCommand(a), inspectCommand(a), rebuildCommand(a), reportCommand(a), machineCommand(a), costCommand(a), planCommand(a), calibrateCommand(a), verifyCommand(a), translateCommand(a), optCommand(a), unshardCommand(a), replayCommand(a),
		reduceCommand(a), tuneCommand(a), explainCommand(a), viewCommand(a), kernelsCommand(a), namespaceCommand(a), plugincommands.PluginCommand(a), cacheCommand(a), versionCommand(a), docsCommand(a)},
		testCommands(a)...)
}

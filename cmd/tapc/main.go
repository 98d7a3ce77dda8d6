// Command tapc compiles tensor graph files to executables.
//
// This package is the composition root: table.go lists the forms of graphs, the back ends and the commands, passes/standard the passes.
// Each command is a file of its own; what they share is in app.go (running a command, exit status), forms.go (the forms of a
// graph file), output.go (files that are whole or not there) and report.go (diagnostics). No other package may import it.
// Read next: table.go, then docs/cli.md.
package main

import (
	"os"

	"tensortapestry.org/tapc/cmd/tapc/content"
	"tensortapestry.org/tapc/plugins/supervise"
)

func main() {
	supervise.Main() // does not return in a process that watches a plugin
	a := newApp(os.Stdin, os.Stdout, os.Stderr)
	a.tuned = content.CollectWhileReading()
	os.Exit(a.main(os.Args[1:]))
}

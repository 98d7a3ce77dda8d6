package main

import (
	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/ir/loomjson"
)

// forms lists the forms of a graph file, in the order in which content is tried.
var forms = []form{
	{name: "loom", doc: "Loom JSON, the interchange form", suffixes: []string{".json"},
		starts: func(text []byte) bool { return firstByte(text) == '{' }, read: loomjson.Read, write: loomjson.Write},
}

// defaultForm is the form of output whose name does not tell another.
const defaultForm = "loom"

// commands lists the commands in the order of the help text.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{a.buildCommand(), a.runCommand(), a.verifyCommand(), a.translateCommand(), a.versionCommand()}
}

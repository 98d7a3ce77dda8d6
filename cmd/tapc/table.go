package main

import (
	"io"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/ir/text"
)

// forms lists the forms of a graph file, in the order in which content is tried.
var forms = []form{
	{name: "tap", doc: "text, the form for people", suffixes: []string{".tap"}, starts: isText, read: text.Read, write: text.Write},
	{name: "loom", doc: "Loom JSON, the interchange form", suffixes: []string{".json"},
		starts: func(data []byte) bool { return beginsWith(data, "{") }, read: loomjson.Read,
		write: func(w io.Writer, g *ir.Graph, _ text.Options) error { return loomjson.Write(w, g) }},
}

// defaultForm is the form of output whose name does not tell another.
const defaultForm = "tap"

// commands lists the commands in the order of the help text.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{a.buildCommand(), a.runCommand(), a.verifyCommand(), a.translateCommand(), a.versionCommand()}
}

package main

import (
	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cuda"
	"tensortapestry.org/tapc/cmd/tapc/codec"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/standard"
)

// forms lists the forms of a graph file, in the order in which content is tried.
var forms = []form{
	{name: "tap", doc: "text, the form for people", suffixes: []string{".tap"}, starts: codec.IsText, read: text.Read, write: codec.WriteText},
	{name: "amanda", doc: "Amanda graph in YAML", suffixes: []string{".amanda.yaml", ".yaml", ".yml"},
		starts: isAmanda, imports: importAmanda, write: writeAmanda(amanda.Write)},
	{name: "amanda-json", doc: "Amanda graph in JSON", suffixes: []string{".amanda.json"}, starts: isAmanda, imports: importAmanda,
		write: writeAmanda(amanda.WriteJSON)},
	{name: "loom", doc: "Loom JSON, the interchange form", suffixes: []string{".json"}, starts: codec.IsJSON, read: loomjson.Read, write: codec.WriteLoom},
	{name: "wire", doc: "protobuf, the form for plugins and caches", suffixes: []string{".tapb"}, binary: true, starts: codec.IsWire, read: codec.ReadWire,
		write: codec.WriteWire},
	{name: "onnx", doc: "ONNX model", suffixes: []string{".onnx"}, binary: true, starts: isONNX, imports: importONNX, into: "onnx/21"},
	{name: "dot", doc: "a drawing for Graphviz; only written", suffixes: []string{".dot", ".gv"}, write: codec.WriteDot},
	{name: "svg", doc: "a drawing that needs no other program; only written", suffixes: []string{".svg"}, write: codec.WriteSVG},
}

// defaultForm is the form of output whose name does not tell another.
const defaultForm = "tap"

// passes is the pass table. Plugins have rows of their own, see pluginSet.table.
func passes() *pipeline.Table { return standard.Table(kernels.Builtin(), ownBackends().Choosers()...) }

// ownBackends lists tapc's back ends. Plugins have rows of their own, see pluginSet.list.
func ownBackends() backends.List { return backends.List{cpu.Backend(), cuda.Backend()} }

// commands lists the commands in the order of the help text.
func (a *app) commands() []*cobra.Command {
	return append([]*cobra.Command{a.buildCommand(), a.runCommand(), infoCommand(a), compareCommand(a), inspectCommand(a), rebuildCommand(a), reportCommand(a), machineCommand(a), costCommand(a), planCommand(a), calibrateCommand(a), a.verifyCommand(), a.translateCommand(), a.optCommand(), unshardCommand(a), a.replayCommand(),
		a.reduceCommand(), tuneCommand(a), a.explainCommand(), viewCommand(a), a.kernelsCommand(), a.namespaceCommand(), a.pluginCommand(), a.cacheCommand(), a.versionCommand(), a.docsCommand()},
		testCommands(a)...)
}

package main

import (
	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/bind"
	"tensortapestry.org/tapc/passes/fuse"
	"tensortapestry.org/tapc/passes/layout"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/plan"
	"tensortapestry.org/tapc/passes/precompute"
	"tensortapestry.org/tapc/passes/shard"
	"tensortapestry.org/tapc/passes/simplify"
	"tensortapestry.org/tapc/passes/tile"
)

// forms lists the forms of a graph file, in the order in which content is tried.
var forms = []form{
	{name: "tap", doc: "text, the form for people", suffixes: []string{".tap"}, starts: isText, read: text.Read, write: writeText},
	{name: "amanda", doc: "Amanda graph in YAML", suffixes: []string{".amanda.yaml", ".yaml", ".yml"},
		starts: isAmanda, imports: importAmanda, write: writeAmanda},
	{name: "amanda-json", doc: "Amanda graph in JSON", suffixes: []string{".amanda.json"}, starts: isAmanda, imports: importAmanda,
		write: writeAmandaJSON},
	{name: "loom", doc: "Loom JSON, the interchange form", suffixes: []string{".json"}, starts: isJSON, read: loomjson.Read, write: writeLoom},
	{name: "wire", doc: "protobuf, the form for plugins and caches", suffixes: []string{".tapb"}, binary: true, starts: isWire, read: readWire,
		write: writeWire},
	{name: "onnx", doc: "ONNX model; only read", suffixes: []string{".onnx"}, binary: true, starts: isONNX, imports: importONNX},
	{name: "dot", doc: "a drawing for Graphviz; only written", suffixes: []string{".dot", ".gv"}, write: writeDot},
}

// defaultForm is the form of output whose name does not tell another.
const defaultForm = "tap"

// passes lists the passes in the order of a compilation. A pass's order constraints are in its row.
func passes() *pipeline.Table { return passesOver(kernels.Builtin()) }

// passesOver lists the passes for graphs that use the kernels of a library.
func passesOver(lib *kernels.Library) *pipeline.Table {
	return &pipeline.Table{Passes: append(simplify.Passes(lib),
		bind.Pass(),
		precompute.Pass(lib),
		shard.Pass(lib),
		apply.Pass(),
		lower.Pass(lib),
		fuse.Pass(),
		layout.Pass(),
		tile.Pass(),
		plan.Pass(),
		pipeline.Verify(),
	)}
}

// commands lists the commands in the order of the help text.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{a.buildCommand(), a.runCommand(), a.verifyCommand(), a.translateCommand(), a.optCommand(), a.replayCommand(),
		a.reduceCommand(), a.kernelsCommand(), a.namespaceCommand(), a.pluginCommand(), a.cacheCommand(), a.versionCommand(), a.docsCommand()}
}

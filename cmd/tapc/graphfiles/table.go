package graphfiles

import (
	"tensortapestry.org/tapc/cmd/tapc/codec"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/ir/text"
)

// Forms lists the forms of a graph file, in the order in which content is tried.
var Forms = []form{
	{Name: "tap", Doc: "text, the form for people", Suffixes: []string{".tap"}, starts: codec.IsText, Read: text.Read, Write: codec.WriteText},
	{Name: "amanda", Doc: "Amanda graph in YAML", Suffixes: []string{".amanda.yaml", ".yaml", ".yml"},
		starts: IsAmanda, Imports: importAmanda, Write: writeAmanda(amanda.Write)},
	{Name: "amanda-json", Doc: "Amanda graph in JSON", Suffixes: []string{".amanda.json"}, starts: IsAmanda, Imports: importAmanda,
		Write: writeAmanda(amanda.WriteJSON)},
	{Name: "loom", Doc: "Loom JSON, the interchange form", Suffixes: []string{".json"}, starts: codec.IsJSON, Read: loomjson.Read, Write: codec.WriteLoom},
	{Name: "wire", Doc: "protobuf, the form for plugins and caches", Suffixes: []string{".tapb"}, binary: true, starts: codec.IsWire, Read: codec.ReadWire,
		Write: codec.WriteWire},
	{Name: "onnx", Doc: "ONNX model", Suffixes: []string{".onnx"}, binary: true, starts: isONNX, Imports: importONNX, Into: "onnx/21"},
	{Name: "dot", Doc: "a drawing for Graphviz; only written", Suffixes: []string{".dot", ".gv"}, Write: codec.WriteDot},
	{Name: "svg", Doc: "a drawing that needs no other program; only written", Suffixes: []string{".svg"}, Write: codec.WriteSVG},
}

// defaultForm is the form of output whose name does not tell another.
const defaultForm = "tap"

// Package codec has what tells the forms of a graph by their beginnings, and what reads and writes them, as the table of forms takes it.
//
// It must not know files. Read next: table.go in cmd/tapc.
package codec

import (
	"bytes"
	"io"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/dot"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/ir/wire"
	"tensortapestry.org/tapc/view/figure"
	"tensortapestry.org/tapc/view/svg"
)

// Shown says what the forms for people show.
type Shown struct {
	Text text.Options
	Dot  dot.Options
}

// IsJSON says whether a text begins as an object does.
func IsJSON(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
}

// IsText says whether a text begins as text.Write begins it, behind white space and comments.
func IsText(data []byte) bool {
	for {
		data = bytes.TrimLeft(data, " \t\r\n")
		if !bytes.HasPrefix(data, []byte("//")) {
			return bytes.HasPrefix(data, []byte("tapc "))
		}
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			return false
		}
		data = data[end:]
	}
}

// IsWire says whether data begins as wire.Marshal begins it: with the field for the version.
func IsWire(data []byte) bool { return bytes.HasPrefix(data, []byte{0x08, wire.Version}) }

// ReadWire reads the protobuf form. Positions in the graph are those of the file that it was made from.
func ReadWire(data []byte, file string, reg *ir.Registry) (*ir.Graph, error) {
	g, err := wire.Unmarshal(data, reg, wire.Limits{})
	if err != nil {
		return nil, diag.Errorf("", ir.StageParse, diag.Location{File: file}, "%v", err)
	}
	return g, nil
}

// WriteWire writes the protobuf form.
func WriteWire(w io.Writer, g *ir.Graph, _ Shown) error {
	data, err := wire.Marshal(g)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// WriteText writes the form for people.
func WriteText(w io.Writer, g *ir.Graph, o Shown) error { return text.Write(w, g, o.Text) }

// WriteLoom writes Loom JSON.
func WriteLoom(w io.Writer, g *ir.Graph, _ Shown) error { return loomjson.Write(w, g) }

// WriteDot writes a drawing for Graphviz.
func WriteDot(w io.Writer, g *ir.Graph, o Shown) error { return dot.Write(w, g, o.Dot) }

// WriteSVG writes a drawing that needs no other program.
func WriteSVG(w io.Writer, g *ir.Graph, _ Shown) error { return svg.Write(w, figure.Of(g)) }

// WithHelp says what --with and --dot are for.
const WithHelp = `The text form leaves out what people seldom need; --with=WORD,… adds it:
  ids      the ids of the graph and its nodes
  places   where each node stands in the file that it was read from
  origins  which rewrite made a node, and from which places
  order    nodes in the graph's own order, not in reading order
A drawing (dot) shows everything; --dot=WORD,… leaves out or changes:
  no-ids, no-tags, no-shards
  no-operations  operations that have shards
  curves         edges are curves, as always with more than 200 nodes

Data files that a graph names are in its folder or below. In a graph that is written
elsewhere they are named from there; on standard output, relative to where they were.`

// Help is the text of translate --help.
const Help = `Write a graph in another form.

Reading checks the form of the file, not the constraints of a dialect (see verify).
What a form writes, it also reads, but for drawings, and the graph is the same; text is
exact about ids and order only with --with=ids,order.

A foreign graph (ONNX, or Amanda in a framework's vocabulary) is mapped to tapc's
kernels, except into the Amanda forms: these keep its vocabulary. An ONNX model, or
with --into an Amanda graph in another vocabulary, is written if rules lead from
operators of that to each kernel of the graph; what they do not is listed.

` + WithHelp

// Package draft makes the graphs of the examples: tensors and operations by label, with the signatures that their kernels
// derive, as the bytes of a Loom JSON file.
//
// Ids are version 5 UUIDs of the graph's URL and the node's label, so the same source writes the same bytes. Callers:
// tools/examples, tools/digits.
package draft

import (
	"bytes"
	"crypto/sha1"
	"strconv"

	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/ir/zspace"
)

// Graph gathers the nodes of one file. The first error stays, and Bytes gives it.
type Graph struct {
	IR  *ir.Graph
	url string
	err error
}

// New begins the graph of a file in the examples folder.
func New(file string) *Graph {
	g := &Graph{IR: ir.New(), url: "http://tensortapestry.org/tapc/examples/" + file}
	g.IR.ID, g.IR.HasID = g.id(""), true
	return g
}

// namespaceURL is the name space for URLs of RFC 9562, appendix A.
const namespaceURL = "\x6b\xa7\xb8\x11\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8"

// id gives the version 5 UUID (RFC 9562, section 5.5) of a node.
func (g *Graph) id(label string) ir.UUID {
	h := sha1.Sum([]byte(namespaceURL + g.url + "#" + label))
	u := ir.UUID(h[:16])
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	return u
}

func (g *Graph) identify(n *ir.Node, label string) *ir.Node {
	n.SetUUID(g.id(label))
	return n
}

// Tensor adds a tensor over a box, written as "[-10:0, 0:5]", and selects all of it.
func (g *Graph) Tensor(label, dtype, box string) ir.Selection {
	r, err := zspace.ParseRange(box)
	g.keep(err)
	n := g.identify(g.IR.Add(&tensorops.Tensor{DType: dtype, Range: r}, label), label)
	return ir.Select(n.ID, r)
}

// Operation adds an operation. With sign, it carries the signature and the index that its kernel derives.
func (g *Graph) Operation(label, kernel string, params ir.Attrs, in map[string]ir.Selection, port string, out ir.Selection, sign bool) *ir.Node {
	op := &tensorops.Operation{Kernel: kernel, Params: params, Inputs: ir.NewPorts(in), Outputs: ir.NewPorts(map[string]ir.Selection{port: out})}
	n := g.identify(g.IR.Add(op, label), label)
	if sign {
		g.keep(cut.Sign(g.IR, kernels.Builtin(), n))
		n.DropTag(tensorops.DerivedKind) // it is the example's own
	}
	return n
}

// Shard cuts a signed operation into a grid of applications.
func (g *Graph) Shard(n *ir.Node, counts ...int64) {
	blocks, err := tensorops.IndexOf(n).Range.Grid(counts)
	g.keep(err)
	for i, b := range blocks {
		a, err := cut.Application(g.IR, n, b)
		g.keep(err)
		if err == nil {
			g.identify(a, n.Label+"/"+strconv.Itoa(i))
		}
	}
}

func (g *Graph) keep(err error) {
	if g.err == nil {
		g.err = err
	}
}

// Bytes writes the graph as canonical Loom JSON.
func (g *Graph) Bytes() ([]byte, error) {
	if g.err != nil {
		return nil, g.err
	}
	var b bytes.Buffer
	err := loomjson.Write(&b, g.IR)
	return b.Bytes(), err
}

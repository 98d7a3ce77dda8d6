package loomdoc

import (
	"encoding/json"
	"strconv"
)

// A Graph gathers the nodes of one document. Ids are the version 5 UUIDs of the
// graph's URL and the node's name, unless Pin says otherwise.
type Graph struct {
	url   string
	pins  map[string]string
	nodes []Node
}

// New begins a graph; url must differ from graph to graph.
func New(url string) *Graph { return &Graph{url: url, pins: map[string]string{}} }

// Pin fixes the id of the node of that name, or of the graph for the name "".
// Call it before the node is added.
func (g *Graph) Pin(name, id string) { g.pins[name] = id }

// Document returns the nodes added so far as a document.
func (g *Graph) Document() Document { return Document{ID: g.id(""), Nodes: g.nodes} }

func (g *Graph) id(name string) string {
	if id, ok := g.pins[name]; ok {
		return id
	}
	return UUID(g.url + "#" + name)
}

func (g *Graph) add(name, label string, body Body, tags *Tags) string {
	id := g.id(name)
	g.nodes = append(g.nodes, Node{ID: id, Type: base + body.typeName(), Label: label, Body: body, Tags: tags})
	return id
}

// A Tensor is a tensor node that was added to a graph.
type Tensor struct {
	ID    string
	Range Range
}

// all selects the whole tensor.
func (t Tensor) all() Selection { return Selection{TensorID: t.ID, Range: t.Range} }

// Tensor adds a tensor node. Labels of tensors and operations must be unique in
// the graph, because ids are made from them.
func (g *Graph) Tensor(label, dtype string, r Range) Tensor {
	return Tensor{ID: g.add(label, label, TensorBody{DType: dtype, Range: r}, nil), Range: r}
}

// Operands maps a port name to whole tensors.
type Operands map[string][]Tensor

func (o Operands) ports() Ports {
	p := Ports{}
	for name, list := range o {
		for _, t := range list {
			p[name] = append(p[name], t.all())
		}
	}
	return p
}

// An Op describes an operation over whole tensors. Index and Signature are both
// given or both nil.
type Op struct {
	Label, Kernel string
	Params        map[string]json.RawMessage
	In, Out       Operands
	Index         *Range
	Signature     *Signature
}

// Operation adds an operation node.
func (g *Graph) Operation(op Op) {
	var tags *Tags
	if op.Index != nil {
		tags = &Tags{Index: op.Index, Signature: op.Signature}
	}
	body := OperationBody{Kernel: op.Kernel, Params: op.Params, Inputs: op.In.ports(), Outputs: op.Out.ports()}
	g.add(op.Label, op.Label, body, tags)
}

// Shard adds one application of a signed operation for each block of its index;
// the ranges are the block's projections. The n-th application's name, for Pin,
// is the operation's label, "/" and n.
func (g *Graph) Shard(op Op, blocks []Range) {
	for n, block := range blocks {
		body := ApplicationBody{
			OperationID: g.id(op.Label),
			Inputs:      project(op.In, op.Signature.Inputs, block),
			Outputs:     project(op.Out, op.Signature.Outputs, block),
		}
		g.add(op.Label+"/"+strconv.Itoa(n), "", body, &Tags{Index: &block})
	}
}

// project selects from each tensor what the block needs of it.
func project(tensors Operands, maps map[string][]Projection, block Range) Ports {
	p := Ports{}
	for name, list := range tensors {
		for i, t := range list {
			p[name] = append(p[name], Selection{TensorID: t.ID, Range: maps[name][i].Apply(block)})
		}
	}
	return p
}

package gen

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

const schemas = "http://tensortapestry.org/schemas/loom/2024-01/node_types.jsd#/nodes/"

// Loom is the sink that writes Loom JSON, a line for each node. Ids are made from the seed and a count.
type Loom struct {
	w      *bufio.Writer
	o      Options
	nodes  int
	shards int
}

// NewLoom makes a sink that writes to w.
func NewLoom(w io.Writer) *Loom { return &Loom{w: bufio.NewWriterSize(w, 1<<16)} }

// The kinds of node, as one digit of their ids.
const (
	graphID = iota
	tensorID
	operationID
	applicationID
)

// id gives the id of node number n of a kind: a mix of kind, number and seed (the finalizer of splitmix64).
func (s *Loom) id(kind, n int) string {
	mix := func(x uint64) uint64 {
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		return x ^ x>>31
	}
	hi := mix(uint64(n)*4 + uint64(kind) + 0x9e3779b97f4a7c15*(s.o.Seed+1))
	lo := mix(hi + 1)
	return fmt.Sprintf("%08x-%04x-8%03x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xfff, lo>>48&0x3fff|0x8000, lo&0xffffffffffff)
}

// Begin writes the start of the document.
func (s *Loom) Begin(o Options) error {
	s.o = o
	_, err := fmt.Fprintf(s.w, "{\"id\": %q, \"nodes\": [", s.id(graphID, 0))
	return err
}

// node starts a node.
func (s *Loom) node(id, kind, label string) {
	sep := ",\n"
	if s.nodes == 0 {
		sep = "\n"
	}
	s.nodes++
	fmt.Fprintf(s.w, "%s{\"id\": %q, \"type\": %q, ", sep, id, schemas+kind)
	if label != "" {
		fmt.Fprintf(s.w, "\"label\": %q, ", label)
	}
}

// box writes the range of rows from and to.
func (s *Loom) box(from, to int64) string {
	return fmt.Sprintf(`{"start": [%d, 0], "end": [%d, %d]}`, from, to, s.o.Extent)
}

// Input writes a tensor.
func (s *Loom) Input(v Value, name string) error {
	s.node(s.id(tensorID, int(v)), "Tensor", name)
	_, err := fmt.Fprintf(s.w, `"body": {"dtype": "float32", "range": %s}}`, s.box(0, s.o.Extent))
	return err
}

// ports writes the ports of an operation, or of the shard over some rows.
func (s *Loom) ports(op Op, from, to int64) string {
	sel := func(vs ...Value) string {
		parts := make([]string, len(vs))
		for i, v := range vs {
			parts[i] = fmt.Sprintf(`{"tensorId": %q, "range": %s}`, s.id(tensorID, int(v)), s.box(from, to))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	in := ""
	switch op.Kernel {
	case "constant":
	case "exp":
		in = `"inputs": {"tensor": ` + sel(op.Args[0]) + `}, `
	case "sub":
		in = `"inputs": {"a": ` + sel(op.Args[0]) + `, "b": ` + sel(op.Args[1]) + `}, `
	default:
		in = `"inputs": {"tensors": ` + sel(op.Args...) + `}, `
	}
	return in + `"outputs": {"result": ` + sel(op.Result) + `}`
}

// Op writes a tensor, an operation and its shards.
func (s *Loom) Op(op Op, name string) error {
	if err := s.Input(op.Result, name); err != nil {
		return err
	}
	id := s.id(operationID, int(op.Result))
	s.node(id, "Operation", "")
	params := ""
	if op.Kernel == "constant" {
		params = `"params": {"value": 1.0}, `
	}
	_, err := fmt.Fprintf(s.w, `"body": {"kernel": "op:%s", %s%s}}`, op.Kernel, params, s.ports(op, 0, s.o.Extent))
	if s.o.Shape != Sharded {
		return err
	}
	rows := s.o.Extent / int64(s.o.Shards)
	for i := range int64(s.o.Shards) {
		s.shards++
		s.node(s.id(applicationID, s.shards), "Application", "")
		_, err = fmt.Fprintf(s.w, `"body": {"operationId": %q, %s}}`, id, s.ports(op, i*rows, (i+1)*rows))
	}
	return err
}

// EndChain does nothing.
func (s *Loom) EndChain(Value) error { return nil }

// End writes the end of the document.
func (s *Loom) End() error {
	fmt.Fprint(s.w, "\n]}\n")
	return s.w.Flush()
}

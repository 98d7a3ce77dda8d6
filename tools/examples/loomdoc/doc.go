// Package loomdoc builds Loom JSON documents by code and writes them in the form
// of the dialect documents: two-space indent, integer arrays on one line, nodes
// sorted by id, map keys sorted.
//
// It is the example generators' own writer: it imports only the standard library,
// not the compiler's packages, so that the example files are an independent
// witness for the compiler's reader. Read next: build.go, then tools/examples.
package loomdoc

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

const base = "http://tensortapestry.org/schemas/loom/2024-01/node_types.jsd#/nodes/"

// A Document is the root of a Loom JSON file.
type Document struct {
	ID    string `json:"id"`
	Nodes []Node `json:"nodes"`
}

// A Node is one entry of a document; Type is the full type URI.
type Node struct {
	ID    string `json:"id"`
	Type  string `json:"type"`
	Label string `json:"label,omitempty"`
	Body  Body   `json:"body"`
	Tags  *Tags  `json:"tags,omitempty"`
}

// Body is TensorBody, OperationBody or ApplicationBody.
type Body interface{ typeName() string }

// TensorBody is a logical value: a dtype and a box of coordinates.
type TensorBody struct {
	DType string `json:"dtype"`
	Range Range  `json:"range"`
}

// OperationBody names a kernel and what it reads and writes.
type OperationBody struct {
	Kernel  string                     `json:"kernel"`
	Params  map[string]json.RawMessage `json:"params,omitempty"`
	Inputs  Ports                      `json:"inputs,omitempty"`
	Outputs Ports                      `json:"outputs,omitempty"`
}

// ApplicationBody is one shard of an operation.
type ApplicationBody struct {
	OperationID string `json:"operationId"`
	Inputs      Ports  `json:"inputs,omitempty"`
	Outputs     Ports  `json:"outputs,omitempty"`
}

func (TensorBody) typeName() string      { return "Tensor" }
func (OperationBody) typeName() string   { return "Operation" }
func (ApplicationBody) typeName() string { return "Application" }

// Ports maps a port name to its ordered selections.
type Ports map[string][]Selection

// A Selection is a box of one tensor.
type Selection struct {
	TensorID string `json:"tensorId"`
	Range    Range  `json:"range"`
}

// Tags are the two polyhedral tags; nil members are left out.
type Tags struct {
	Index     *Range     `json:"http://tensortapestry.org/schemas/loom/2024-01/tag_types.jsd#/tags/IPFIndex,omitempty"`
	Signature *Signature `json:"http://tensortapestry.org/schemas/loom/2024-01/tag_types.jsd#/tags/IPFSignature,omitempty"`
}

// A Signature holds the projection of every port entry.
type Signature struct {
	Inputs  map[string][]Projection `json:"inputs"`
	Outputs map[string][]Projection `json:"outputs"`
}

// Marshal writes the document in canonical form with a final newline. The order
// of d.Nodes does not matter and is not changed.
func Marshal(d Document) ([]byte, error) {
	d.Nodes = slices.SortedFunc(slices.Values(d.Nodes), func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	var compact, out bytes.Buffer
	enc := json.NewEncoder(&compact)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		return nil, err
	}
	if err := json.Indent(&out, compact.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	return joinIntegers(out.Bytes()), nil
}

// An indented array of integers and nothing else. A JSON string holds no line
// break, so this never matches inside one.
var integerArray = regexp.MustCompile(`\[\n\s*-?\d+(,\n\s*-?\d+)*\n\s*\]`)

var lineBreak = regexp.MustCompile(`\n\s*`)

// joinIntegers puts every array of integers on one line: [1, 2].
func joinIntegers(indented []byte) []byte {
	return integerArray.ReplaceAllFunc(indented, func(a []byte) []byte {
		inner := lineBreak.ReplaceAll(a[1:len(a)-1], []byte(" "))
		return slices.Concat([]byte("["), bytes.TrimSpace(inner), []byte("]"))
	})
}

// namespaceURL is the name space for URLs of RFC 9562, section 6.6.
const namespaceURL = "\x6b\xa7\xb8\x11\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8"

// UUID returns the version 5 UUID (RFC 9562, section 5.5) of a URL, in lower
// case: the same URL always gives the same id.
func UUID(url string) string {
	h := sha1.Sum([]byte(namespaceURL + url))
	h[6] = h[6]&0x0f | 0x50
	h[8] = h[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

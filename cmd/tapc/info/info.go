// Package info says what a graph file wants and holds: inputs, outputs, open sizes, operators, parameters, and the command that builds
// it. Foreign graphs are looked at as they are, before sizes are known (foreign.go); graphs of tapc's own kernels as they are (own.go).
// Read next: print.go.
package info

import (
	"encoding/json"
	"strconv"
)

// Info is what is said of a file.
type Info struct {
	File       string      `json:"file"`
	Form       string      `json:"form"`               // what the file is
	Producer   string      `json:"producer,omitempty"` // what wrote it
	Versions   []Version   `json:"versions"`           // of the vocabularies that it uses
	Inputs     []Port      `json:"inputs"`
	Outputs    []Port      `json:"outputs"`
	Dimensions []Dimension `json:"dimensions"` // sizes of inputs that the file leaves open
	Operators  []Operator  `json:"operators"`
	Parameters Parameters  `json:"parameters"`
	Faults     []string    `json:"faults"`  // why it can not be compiled, beside operators
	Command    string      `json:"command"` // builds it
	Builds     bool        `json:"builds"`  // all operators are mapped, at the sizes in the command
}

// Version is the version of a vocabulary: an opset.
type Version struct {
	Domain  string `json:"domain"`
	Version int64  `json:"version"`
}

// Size is a number, the name of a dimension, or "?" for one without a name.
type Size string

// MarshalJSON writes a number as one.
func (s Size) MarshalJSON() ([]byte, error) {
	if _, err := strconv.ParseUint(string(s), 10, 63); err == nil {
		return []byte(s), nil
	}
	return json.Marshal(string(s))
}

// Port is an input or output.
type Port struct {
	Name  string `json:"name"`
	Type  string `json:"type"`  // "" if it is not known
	Shape []Size `json:"shape"` // nil if it is not known
	Note  string `json:"note,omitempty"`

	known []string // the flag that gives its value, of an input that must be known when compiling
}

// Dimension is an open size of inputs, with every way to give it.
type Dimension struct {
	Name   string   `json:"name,omitempty"`
	Places []string `json:"places"`
	Flags  []string `json:"flags"`
	Size   int64    `json:"size"` // in the command
}

// Operator is a kind of operation: how many there are, and why some of them can not be compiled.
type Operator struct {
	Name    string   `json:"name"` // with its version
	Count   int      `json:"count"`
	Mapped  bool     `json:"mapped"`
	Reasons []Reason `json:"reasons,omitempty"`
}

// Reason is why some operations of a kind are not mapped.
type Reason struct {
	Cause string   `json:"cause"` // no-rule, guard, unsupported, graph, waits
	Text  string   `json:"text"`
	Nodes []string `json:"nodes,omitempty"` // the first few
}

// Parameters are the constants of a graph.
type Parameters struct {
	Tensors  int64 `json:"tensors"`
	Elements int64 `json:"elements"`
	Bytes    int64 `json:"bytes"`
}

func (p *Parameters) add(elements, bytes int64) {
	p.Tensors++
	p.Elements += max(elements, 0)
	p.Bytes += max(bytes, 0)
}

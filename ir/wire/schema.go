package wire

import (
	"bytes"
	"fmt"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Schema gives tapc.proto: the messages that every graph has, and one for each kind of a registry, made from the fields that
// the kind's bodies declare.
func Schema(reg *ir.Registry) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, schemaHead, Version)
	for _, k := range reg.Nodes {
		fmt.Fprintf(&b, "    %s %s = %d;\n", messageName(k), snake(k.Keyword), nodeBody+k.Num)
	}
	b.WriteString("  }\n\n  // Tags, each at most once.\n")
	for _, k := range reg.Tags {
		fmt.Fprintf(&b, "  %s %s = %d;\n", messageName(k), snake(k.Keyword), nodeTag+k.Num)
	}
	b.WriteString("}\n")
	b.WriteString(schemaCommon)
	for _, kinds := range [][]*ir.Kind{reg.Nodes, reg.Tags} {
		for _, k := range kinds {
			fmt.Fprintf(&b, "\n// %s\nmessage %s {\n", k.URI, messageName(k))
			k.New().Fields(&schemaWriter{b: &b, indent: "  "})
			b.WriteString("}\n")
		}
	}
	return b.Bytes()
}

const schemaHead = `// The protobuf form of tapc's graphs, version %d.
//
// Generated from the field declarations of tapc's dialects; do not edit. To renew: go generate ./ir/wire
// docs/wire-form.md says what is promised about it.

syntax = "proto3";

package tapc.ir.v1;

// Graph is a whole graph. Its bytes may be cut anywhere and joined again: a stream of chunks is one Graph.
message Graph {
  uint32 version = 1;           // needed; a reader refuses a higher one than it knows
  bytes id = 2;                 // 16 bytes; absent if the graph was given none
  string file = 3;              // where it was read from, for messages
  repeated bytes dangling = 4;  // ids, 16 bytes each, that are referred to and that no node has
  repeated Node nodes = 5;
}

// A reference is a sint32: 0 is nothing; n from 1 up is the node with number n-1; -n from -1 down is entry n-1 of
// Graph.dangling. Nodes are numbered in the order of Graph.nodes, from 0, leaving out the numbers of gaps.

message Node {
  uint32 gap = 1;     // numbers before this node that no node has
  bytes id = 2;       // 16 bytes; absent if the node was given none
  string label = 3;
  Pos pos = 4;        // where it stands in the graph's file
  Origin origin = 5;  // which rewrite made it

  oneof body {
`

const schemaCommon = `
// Pos counts from 1; 0 is unknown.
message Pos {
  uint32 line = 1;
  uint32 column = 2;
  uint32 document = 3;  // number of the node in the file
}

message Origin {
  string rule = 1;
  repeated Pos from = 2;
}

// Range is a box: start inclusive, end exclusive, both of one length, no start beyond its end.
message Range {
  repeated sint64 start = 1;
  repeated sint64 end = 2;
}

// Selection is a box of a tensor.
message Selection {
  sint32 tensor = 1;  // reference
  repeated sint64 start = 2;
  repeated sint64 end = 3;
}

// Port is a named input or output. The ports of a node have different names.
message Port {
  string name = 1;
  repeated Selection selections = 2;
}

// AffineMap is a matrix by rows, one row for each offset, all of one length, and the offsets.
message AffineMap {
  repeated sint64 coefficients = 1;
  repeated sint64 offset = 2;
}

// Projection is an affine map with the shape of the boxes it selects, one extent for each row.
message Projection {
  repeated sint64 coefficients = 1;
  repeated sint64 offset = 2;
  repeated sint64 shape = 3;
}

// PortProjections are the projections of a port, one for each of its selections.
message PortProjections {
  string name = 1;
  repeated Projection projections = 2;
}

// Attribute is a named parameter. Those of one list or map have different names.
message Attribute {
  string name = 1;
  Value value = 2;
}

// Value is a parameter's value; null is a Value without a member.
message Value {
  oneof kind {
    bool boolean = 1;
    sint64 integer = 2;
    double number = 3;
    string text = 4;
    ValueList list = 5;
    ValueMap map = 6;
  }
}

message ValueList {
  repeated Value items = 1;
}

message ValueMap {
  repeated Attribute items = 1;
}
`

func messageName(k *ir.Kind) string { return capital(k.Keyword) }

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// snake writes a name as protobuf names fields.
func snake(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// schemaWriter is the ir.Fields that writes the fields of a message. A list's items are a message inside it.
type schemaWriter struct {
	b      *bytes.Buffer
	indent string
}

func (w *schemaWriter) field(f ir.Field, typ, note string) {
	name := f.Name
	if name == "" {
		name = "value"
	}
	if note != "" {
		note = "  // " + note
	}
	fmt.Fprintf(w.b, "%s%s %s = %d;%s\n", w.indent, typ, snake(name), f.Num, note)
}

func (w *schemaWriter) Bool(f ir.Field, _ *bool)               { w.field(f, "bool", "") }
func (w *schemaWriter) Int(f ir.Field, _ *int64)               { w.field(f, "sint64", "") }
func (w *schemaWriter) Ints(f ir.Field, _ *[]int64)            { w.field(f, "repeated sint64", "") }
func (w *schemaWriter) String(f ir.Field, _ *string)           { w.field(f, "string", "") }
func (w *schemaWriter) Ref(f ir.Field, _ *ir.NodeID)           { w.field(f, "sint32", "reference") }
func (w *schemaWriter) Refs(f ir.Field, _ *[]ir.NodeID)        { w.field(f, "repeated sint32", "references") }
func (w *schemaWriter) Range(f ir.Field, _ *zspace.Range)      { w.field(f, "Range", "") }
func (w *schemaWriter) Affine(f ir.Field, _ *zspace.AffineMap) { w.field(f, "AffineMap", "") }
func (w *schemaWriter) Attrs(f ir.Field, _ *ir.Attrs)          { w.field(f, "repeated Attribute", "") }
func (w *schemaWriter) Ports(f ir.Field, _ *ir.Ports)          { w.field(f, "repeated Port", "") }
func (w *schemaWriter) PortMaps(f ir.Field, _ *ir.PortMaps) {
	w.field(f, "repeated PortProjections", "")
}
func (w *schemaWriter) Fail(ir.Field, string, string) {}

func (w *schemaWriter) List(f ir.Field, _ int, grow func(int), each func(int, ir.Fields)) {
	item := capital(strings.TrimSuffix(f.Name, "s"))
	fmt.Fprintf(w.b, "%smessage %s {\n", w.indent, item)
	grow(1)
	each(0, &schemaWriter{w.b, w.indent + "  "})
	fmt.Fprintf(w.b, "%s}\n", w.indent)
	w.field(f, "repeated "+item, "")
}

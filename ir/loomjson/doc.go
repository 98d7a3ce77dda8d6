// Package loomjson reads and writes graphs as Loom JSON, the interchange form: the schema of the Tapestry documents for
// tensors, operations, applications and notes, and the same conventions for the bodies of the schedule dialect.
//
// Reading is strict and reports every problem of a document with its place; writing is canonical, so that equal graphs give
// equal bytes. Both are driven by ir.Fields: a body names its fields once and this package knows no dialect. JSON as a data
// structure lives nowhere else in tapc. It must not import a dialect. Read next: read.go; docs/loom-json.md is the reference.
package loomjson

// Codes of the findings of this package. Those of the value stage are in package ir, and the codes of the constraints that a
// document can break before it is a graph (TR01, TR02, SC01, SC02, SC04) are those of package ir/check.
const (
	codeSyntax   = "LJ01" // parse: not JSON
	codeTrailing = "LJ02" // parse: text after the document
	codeRepeated = "LJ03" // parse: a key is there twice in one object
	codeDeep     = "LJ04" // parse: nested too deep
	codeEnvelope = "LJ05" // parse: a field of the document or of a node is unknown, missing or of the wrong type
	codeID       = "LJ06" // parse: a malformed id of the document or of a node
	codeUnknown  = "LJ10" // SchemaTypeConstraint: unknown field in a body or a tag
	codeMissing  = "LJ11" // SchemaTypeConstraint: a field of a body or a tag is missing
	codeType     = "LJ12" // SchemaTypeConstraint: a field of a body or a tag has the wrong type
	codeRef      = "LJ13" // SchemaTypeConstraint: a reference is not a UUID
	codeMore     = "LJ99" // remark: there are more problems than are listed

	codeNodeType    = "TR01" // TypeRestrictionConstraint
	codeTagType     = "TR02" // TypeRestrictionConstraint
	codeDuplicateID = "SC01" // SchemaTypeConstraint
	codeName        = "SC02" // SchemaTypeConstraint
	codeEmptyPort   = "SC04" // SchemaTypeConstraint

	schemaConstraint = "SchemaTypeConstraint"
	typeConstraint   = "TypeRestrictionConstraint"
)

// MaxFindings bounds how many problems of a document Read lists.
const MaxFindings = 100

// maxDepth bounds how deep arrays and objects may nest.
const maxDepth = 500

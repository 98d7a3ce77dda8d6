// Package loomjson reads and writes graphs as Loom JSON, the interchange form: the schema of the Tapestry documents for
// tensors, operations, applications and notes, and the same conventions for the bodies of the schedule dialect.
//
// Reading is strict and reports every problem of a document with its place; writing is canonical, so that equal graphs give
// equal bytes. Both are driven by ir.Fields: a body names its fields once and this package knows no dialect. JSON as a data
// structure lives nowhere else in tapc. It must not import a dialect. Read next: read.go; docs/loom-json.md is the reference.
package loomjson

// Codes of the findings of this package. Those of the value stage are in package ir, and the codes of the constraints that a
// document can break before it is a graph (TAP0101, TAP0102, TAP0111, TAP0112, TAP0114) are those of package ir/check.
const (
	codeSyntax   = "TAP2001" // parse: not JSON
	codeTrailing = "TAP2002" // parse: text after the document
	codeRepeated = "TAP2003" // parse: a key is there twice in one object
	codeDeep     = "TAP2004" // parse: nested too deep
	codeEnvelope = "TAP2005" // parse: a field of the document or of a node is unknown, missing or of the wrong type
	codeID       = "TAP2006" // parse: a malformed id of the document or of a node
	codeUnknown  = "TAP2010" // SchemaTypeConstraint: unknown field in a body or a tag
	codeMissing  = "TAP2011" // SchemaTypeConstraint: a field of a body or a tag is missing
	codeType     = "TAP2012" // SchemaTypeConstraint: a field of a body or a tag has the wrong type
	codeRef      = "TAP2013" // SchemaTypeConstraint: a reference is not a UUID
	codeMore     = "TAP2099" // remark: there are more problems than are listed

	codeNodeType    = "TAP0101" // TypeRestrictionConstraint
	codeTagType     = "TAP0102" // TypeRestrictionConstraint
	codeDuplicateID = "TAP0111" // SchemaTypeConstraint
	codeName        = "TAP0112" // SchemaTypeConstraint
	codeEmptyPort   = "TAP0114" // SchemaTypeConstraint

	schemaConstraint = "SchemaTypeConstraint"
	typeConstraint   = "TypeRestrictionConstraint"
)

// MaxFindings bounds how many problems of a document Read lists.
const MaxFindings = 100

// maxDepth bounds how deep arrays and objects may nest.
const maxDepth = 500

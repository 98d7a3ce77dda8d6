// Package text reads and writes graphs as .tap text, the form for people: one node a line, names instead of ids, ranges and
// maps as mathematics writes them, and what need not be said left out. Tests check it with FileCheck.
//
// Everything that Write prints, Read reads back to an equal graph (ids, positions and provenance only where the options ask
// for them). Both are driven by ir.Fields: a body names its fields once, with the style that text gives them, and this package
// knows no dialect. It must not import a dialect. Read next: read.go; docs/text-form.md is the reference.
package text

// Version is the version of the form that Write writes and Read reads.
const Version = 1

// Codes of the findings of this package. Those of the value stage are in package ir, and those of the constraints that a text
// can break before it is a graph (TAP0101, TAP0102, TAP0111, TAP0112, TAP0114) are those of package ir/check.
const (
	codeSyntax   = "TAP2101" // parse: something else than expected
	codeVersion  = "TAP2102" // parse: no header, or one of another version
	codeName     = "TAP2103" // parse: a name is given to two nodes
	codeUnknown  = "TAP2104" // parse: a name that no node has
	codeField    = "TAP2105" // parse: a field in braces is unknown, missing or there twice
	codeRange    = "TAP2106" // parse: a selection without a range, of what has no range of its own
	codeRepeated = "TAP2107" // parse: a name is there twice in one list of ports, parameters or maps, or a tag on one node
	codeDeep     = "TAP2108" // parse: nested too deep
	codeMore     = "TAP2199" // remark: there are more problems than are listed

	codeNodeType    = "TAP0101" // TypeRestrictionConstraint
	codeDuplicateID = "TAP0111" // SchemaTypeConstraint
	codeIdentifier  = "TAP0112" // SchemaTypeConstraint
	codeEmptyPort   = "TAP0114" // SchemaTypeConstraint

	schemaConstraint = "SchemaTypeConstraint"
	typeConstraint   = "TypeRestrictionConstraint"
)

// MaxFindings bounds how many problems of a text Read lists.
const MaxFindings = 100

// maxDepth bounds how deep the values of parameters may nest.
const maxDepth = 500

// The words behind a body that are no tags.
const (
	wordFile   = "file"
	wordPlace  = "loc"
	wordOrigin = "by"
)

// Package mapping turns graphs in a foreign vocabulary into Operation Expressions by tables of rules.
//
// A foreign.Graph is what every foreign format is read into. A Table is a file of rules (docs/mapping.md describes the
// language): each says which kernels stand for a foreign operation, under which conditions, and why not otherwise. Map goes
// through the operations with producers first: types and shapes come from the kernels' own shape rules, and what depends on
// constants alone is computed on the way, so that shape arithmetic disappears. It has a driver of its own because a foreign
// value has no type before its producer is mapped; what is independent of that (fusion of what the rules emit) is left to
// passes/rewrite. It must not import a format. Read next: table.go, mapper.go, then frontends/mapping/expr.
package mapping

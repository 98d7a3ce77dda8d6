// Package mapping turns graphs in a foreign vocabulary into Operation Expressions by tables of rules, and back.
//
// A foreign.Graph is what every foreign format is read into. A table of rules (frontends/mapping/rules) says which kernels stand for a foreign
// operation, under which conditions, and why not otherwise. Map goes through the operations with producers first, those that a pattern
// of several matches (frontends/mapping/pattern) together; what rules say becomes operations with shapes by frontends/mapping/emit. It
// has a driver of its own because a foreign value has no type before its producer is mapped; what is independent of that (fusion of what the
// rules emit) is left to passes/rewrite. It must not import a format. Read next: mapper.go, then frontends/mapping/expr.
package mapping

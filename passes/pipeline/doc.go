// Package pipeline is the one pass table's form and the one runner of passes.
//
// A Pass is a value: what it needs and gives, its options, and a function over the graph. The runner does everything around
// it: it verifies the graph after every pass, prints and dumps it, takes times, counts fuel, checks values, and turns a panic
// into a file that repeats it. Passes contain none of that. The table itself is in passes/standard; this package must not import a
// pass, a front end or a back end. Read next: pass.go, then runner.go; docs/passes.md is the guide.
package pipeline

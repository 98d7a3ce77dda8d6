// Package cpu is the back end for CPUs: C11 from Scheduled Kernels, compiled by the system's C compiler into an executable
// that needs neither tapc nor Go.
//
// Emit is a pure function from the graph to text; Build runs the C compiler and links the run-time library
// (backends/cpu/runtime). Constants never pass through the C compiler: they are written to an object file, or with
// Options.Weights to a file beside the program. Read next: emit.go.
package cpu

// Command lit runs regression tests that are written as RUN lines in the files they test. It is LLVM's test runner in
// Go, with filecheck built in; see docs/lit.md. The work is done by package run.
package main

import (
	"os"

	"tensortapestry.org/tapc/tools/lit/run"
)

func main() { os.Exit(run.Main(os.Args[1:], os.Stdout, os.Stderr)) }
